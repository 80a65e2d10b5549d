// What the tests of this folder share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "rlx/vector/elements.h"
#include "rlx/vector/isa.h"

namespace rlx::vector {

// Every set of instructions that this machine can run.
inline std::vector<Isa> isas() {
  std::vector<Isa> all;
  for (int i = 0; i <= static_cast<int>(best_isa()); ++i) all.push_back(static_cast<Isa>(i));
  return all;
}

inline std::vector<float> random_floats(int64_t count, float low = -1, float high = 1,
                                        unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> floats(static_cast<size_t>(count));
  for (float& x : floats) x = uniform(engine);
  return floats;
}

// The distance in steps of f32 at `want`.
inline double ulps(float got, double want) {
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) == std::isnan(got) ? 0 : INFINITY;
  const float nearest = static_cast<float>(want);
  if (got == nearest) return 0;
  if (std::isinf(nearest) || std::isinf(got)) return INFINITY;
  const float magnitude = std::max(std::abs(nearest), 1.17549435e-38f);
  return std::abs(static_cast<double>(got) - want) /
         (static_cast<double>(std::nextafter(magnitude, INFINITY)) -
          static_cast<double>(magnitude));
}

// Numbers kept as a dtype, by ways of conversion of its own.
class Elements {
 public:
  Elements(Element element, std::vector<float> numbers)
      : element_(element), floats_(std::move(numbers)) {
    if (element == Element::f32) return;
    for (float& x : floats_) {
      words_.push_back(element == Element::bf16 ? brain(x) : half(x));
      x = number(element, words_.back());
    }
  }
  size_t size() const { return floats_.size(); }
  void* data() { return is_f32() ? static_cast<void*>(floats_.data()) : words_.data(); }
  const void* data() const {
    return is_f32() ? static_cast<const void*>(floats_.data()) : words_.data();
  }
  double at(int64_t i) const {
    const auto index = static_cast<size_t>(i);
    return static_cast<double>(is_f32() ? floats_[index] : number(element_, words_[index]));
  }
  double epsilon() const {
    return element_ == Element::f32 ? 0 : element_ == Element::f16 ? 0x1p-11 : 0x1p-8;
  }

  static float number(Element element, uint16_t word) {
    if (element == Element::bf16) {
      const uint32_t bits = static_cast<uint32_t>(word) << 16;
      float x;
      std::memcpy(&x, &bits, 4);
      return x;
    }
    const int exponent = word >> 10 & 31, digits = word & 1023;
    const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(digits), -24)
                            : exponent == 31
                                ? (digits ? NAN : INFINITY)
                                : std::ldexp(static_cast<float>(1024 + digits), exponent - 25);
    return word & 0x8000 ? -magnitude : magnitude;
  }

 private:
  bool is_f32() const { return element_ == Element::f32; }
  static uint16_t brain(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    return static_cast<uint16_t>(bits >> 16);
  }
  static uint16_t half(float x) {  // of normal numbers, cut off
    int exponent;
    const float fraction = std::frexp(std::abs(x), &exponent);  // 0.5 .. 1
    if (std::abs(x) < 0x1p-14f) return 0;
    const auto digits = static_cast<uint16_t>((fraction * 2 - 1) * 1024);
    return static_cast<uint16_t>((x < 0 ? 0x8000 : 0) | (exponent + 14) << 10 | digits);
  }
  Element element_;
  std::vector<float> floats_;
  std::vector<uint16_t> words_;
};

}  // namespace rlx::vector
