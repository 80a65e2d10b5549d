// Random numbers that are the same everywhere: splitmix64, seeded by a number or a name.
#pragma once

#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace rlx {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  explicit Random(std::string_view name) : state_(0xcbf29ce484222325u) {  // FNV-1a of the name
    for (const char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  // In [low, high], both included.
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(double probability) { return uniform() < probability; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }
  template <class List>
  const auto& pick(const List& list) {
    return list[static_cast<size_t>(between(0, static_cast<int64_t>(std::size(list)) - 1))];
  }

 private:
  uint64_t state_;
};

}  // namespace rlx
