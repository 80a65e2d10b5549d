// Rows of pictures: scaled by channel, mixed with their neighbours, stretched.
#pragma once

#include <cstdint>

#include "rlx/vector/isa.h"

namespace rlx::vector {

struct Planes {
  // y = (x - minus) * times + plus
  void (*scale)(const float* x, float minus, float times, float plus, float* y, int64_t count);
  // y[i] = sum over k of weights[k] * rows[k][i]
  void (*mix)(const float* const* rows, const float* weights, int64_t taps, float* y,
              int64_t count);
  // y[i] = sum over k of weights[k * count + i] * row[places[k * count + i]]
  void (*take)(const float* row, const int32_t* places, const float* weights, int64_t taps,
               float* y, int64_t count);
  // y[times * i + k] = x[i]; 2 and 4 times are the fast ones
  void (*repeat)(const float* x, int64_t times, float* y, int64_t count);
};
Planes planes(Isa isa);

}  // namespace rlx::vector
