// Recurrent nets as ONNX has them.
#pragma once

#include <string>

#include "rlx/ir/value.h"

namespace rlx {

// Recurrent nets as ONNX has them; any of the values may be absent.
struct RecurrentOptions {
  Value bias = {}, sequence_lens = {}, initial_h = {}, initial_c = {}, peepholes = {};
  std::string direction = "forward";  // forward, reverse, bidirectional
  int64_t layout = 0;                 // 1: batches come first
  double clip = 0;                    // 0: none
  Strings activations = {};           // ONNX's names, for each direction
  Floats activation_alpha = {}, activation_beta = {};
  bool input_forget = false;         // lstm
  bool linear_before_reset = false;  // gru
};
// x [S, B, I], w [directions, gates * H, I], r [directions, gates * H, H], bias [directions,
// 2 * gates * H]; gates i o f c of an lstm, z r h of a gru. The results are y [S, directions, B, H]
// and the last state [directions, B, H], of an lstm also its cell's.
Values lstm(Value x, Value w, Value r, const RecurrentOptions& options = {});
Values gru(Value x, Value w, Value r, const RecurrentOptions& options = {});
Values rnn(Value x, Value w, Value r, const RecurrentOptions& options = {});

}  // namespace rlx
