// What lstm, gru and rnn share: ONNX's operands, directions, layouts and activations.
#pragma once

#include "rlx/lower/site.h"

namespace rlx {

// One of an op's activations in one direction; alpha and beta have their ONNX defaults.
struct CellActivation {
  std::string name;  // as ONNX spells it, in lower case
  double alpha = 0, beta = 0;
};

double activated(const CellActivation& activation, double x);

// WGSL: fn activate_<i>(d: u32, x: f32) -> f32, for direction d, of the op's i-th activation; it
// bounds x by `clip` first, unless that is 0.
std::vector<std::string> activation_functions(const std::vector<CellActivation>& activations,
                                              size_t directions, double clip);

// The activations an op names, or its defaults, for every direction in turn.
std::vector<CellActivation> cell_activations(const std::string& op, const Strings& defaults,
                                             size_t directions, const Attrs& attrs);

// Operands by number; only an lstm has the last two.
constexpr size_t kRecurrentX = 0, kRecurrentW = 1, kRecurrentR = 2, kRecurrentBias = 3,
                 kRecurrentLengths = 4, kRecurrentInitialH = 5, kRecurrentInitialC = 6,
                 kRecurrentPeepholes = 7;

// Extents and options of a node.
struct RecurrentForm {
  bool lstm;
  int64_t gates, directions;
  bool batch_first, reverse;  // reverse: the first direction is
  Dim steps, batches, inputs, hidden;
  double clip;
  std::vector<CellActivation> activations;

  RecurrentForm(const OpDef& op, const Dims& x, const Dims& r, const Attrs& attrs);

  Dims state() const {
    return batch_first ? Dims{batches, directions, hidden} : Dims{directions, batches, hidden};
  }
  Dims y() const {
    return batch_first ? Dims{batches, steps, directions, hidden}
                       : Dims{steps, directions, batches, hidden};
  }
  Dim states() const { return Dim(directions) * batches * hidden; }
};

Steps lower_recurrent(const LowerSite& site);
Gradients recurrent_gradient(const GradientSite& site);

}  // namespace rlx
