#include "rlx/vector/limits.h"

#include <algorithm>
#include <chrono>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/limits.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

// Two a cycle that each take four or five: as many at a time keep a core busy.
constexpr int kChains = 12;

float multiply_adds(int64_t rounds) {
  F chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = set(static_cast<float>(i));
  const F factor = set(0.5f);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) chains[i] = mul_add(chains[i], factor, factor);
  }
  float all = 0;
  for (int i = 0; i < kChains; ++i) all += vector::HWY_NAMESPACE::sum(chains[i]);
  return all;
}

float sum_of(const float* x, int64_t count) {
  constexpr int kSums = 8;
  F sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = set(0);
  const F one = set(1);
  for (int64_t at = 0; at + kSums * kLanes <= count; at += kSums * kLanes) {
#pragma GCC unroll 8
    for (int i = 0; i < kSums; ++i) sums[i] = mul_add(load(x + at + i * kLanes), one, sums[i]);
  }
  float all = 0;
  for (int i = 0; i < kSums; ++i) all += vector::HWY_NAMESPACE::sum(sums[i]);
  return all;
}

LimitFunctions make() { return {multiply_adds, kChains * kLanes * 2, sum_of}; }

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {

LimitFunctions limit_functions(Isa isa) { return RLX_OF_ISA(isa, make); }

namespace {

using Clock = std::chrono::steady_clock;

template <class Run>
double seconds_of(const Run& run) {
  const auto start = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The shortest time of `run` within so many seconds, of three runs or more.
template <class Run>
double best_of(double seconds, const Run& run) {
  double best = seconds_of(run), all = best;
  for (int runs = 1; runs < 3 || all < seconds; ++runs) {
    const double now = seconds_of(run);
    best = std::min(best, now);
    all += now;
  }
  return best;
}

}  // namespace

Limits measure_limits(Team& team, double seconds) {
  const LimitFunctions functions = limit_functions(best_isa());
  std::atomic<float> kept{0};  // or the compiler leaves all of it out
  constexpr int64_t kRounds = 200'000;
  const double computing = best_of(seconds / 2, [&] {
    team.region([&](int, int, Barrier&) { kept = functions.multiply_adds(kRounds); });
  });
  constexpr int64_t kCount = int64_t{1} << 25;  // 128 MiB
  const std::vector<float> memory(size_t{kCount}, 1.0f);
  const double reading = best_of(seconds / 2, [&] {
    team.region([&](int member, int members, Barrier&) {
      const int64_t each = kCount / members;
      kept = functions.sum(memory.data() + member * each, each);
    });
  });
  const auto work = static_cast<double>(functions.flops_per_round * kRounds * team.threads());
  return {work / computing, static_cast<double>(kCount * int64_t{sizeof(float)}) / reading};
}

}  // namespace rlx::vector
#endif
