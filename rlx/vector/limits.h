// What the machine can do at most, measured: what a benchmark's figures are shares of.
#pragma once

#include <cstdint>

#include "rlx/vector/isa.h"
#include "rlx/vector/team.h"

namespace rlx::vector {

struct LimitFunctions {
  float (*multiply_adds)(int64_t rounds) = nullptr;  // a chain of them in every register it takes
  int64_t flops_per_round = 0;
  float (*sum)(const float* x, int64_t count) = nullptr;  // reads, and adds as it must
};
LimitFunctions limit_functions(Isa isa);

struct Limits {
  double flops = 0;  // of f32 in a second, a multiply-add being two
  double bytes = 0;  // read from memory in a second, from more of it than caches hold
};
// The best of some rounds, which take about so long.
Limits measure_limits(Team& team, double seconds);

}  // namespace rlx::vector
