// lstm, gru and rnn: the products with x of all steps at once, then step by step.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

struct RecurrentOptions {
  enum class Kind : uint8_t { lstm, gru, rnn };
  Kind kind = Kind::lstm;
  int64_t directions = 1;
  bool reverse = false, batch_first = false;  // reverse: the first direction is
  bool input_forget = false, linear_before_reset = false;
  float clip = 0;              // 0: none
  bool keeps_weights = false;  // w and r change with their marks only
  using Activation = vector::Elementwise::Function vector::Elementwise::*;
  std::vector<Activation> activations = {};  // as many for each direction
};
// Operands as ONNX has them: x, w, r, bias, lengths, initial h, initial c, peepholes.
std::unique_ptr<image::CallKernel> recurrent_kernel(CpuEnginePtr engine, RecurrentOptions options);

}  // namespace rlx::detail
