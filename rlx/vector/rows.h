// Functions of whole rows: softmax and norms. Rows of f16 and bf16 are f32 in registers.
#pragma once

#include "rlx/vector/elements.h"
#include "rlx/vector/isa.h"
#include "rlx/vector/range.h"

namespace rlx::vector {

// y = softmax(x) of each row, or its logarithm. y may be x.
struct Softmax {
  Element element = Element::f32;
  const void* x = nullptr;
  void* y = nullptr;
  int64_t length = 0;
  int64_t x_row = 0, y_row = 0;  // from row to row, in elements
  bool logarithm = false;
};

// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta of each row, or without the mean.
struct Norm {
  Element element = Element::f32;
  const void* x = nullptr;
  const void* residual = nullptr;  // added first, where there is one,
  void* sum = nullptr;             // and the sum kept, where that is wanted
  void* y = nullptr;
  const void *gamma = nullptr, *beta = nullptr;  // of one row; null is 1 and 0
  int64_t length = 0;
  int64_t x_row = 0, residual_row = 0, sum_row = 0, y_row = 0;
  double epsilon = 0;
  bool is_centred = true;  // else the mean is taken for 0: rms norm
};

struct Rows {
  void (*softmax)(const Softmax& softmax, Range rows);
  // Of columns instead: x and y are [length, ..] with steps x_row and y_row, one result per column.
  void (*softmax_columns)(const Softmax& softmax, Range columns);
  void (*norm)(const Norm& norm, Range rows);
};
Rows rows(Isa isa);

}  // namespace rlx::vector
