// Losses.
#pragma once

#include <optional>
#include <string>

#include "rlx/ir/value.h"

namespace rlx {

// `reduction` is none, mean or sum. Labels are classes along `axis` of the logits (integers of its
// shape without that axis), or probabilities of its shape. With integers, `weights` are one for
// each class, a row labelled `ignore_index` counts for nothing, and the mean is weighted.
struct ClassLossOptions {
  std::string reduction = "mean";
  int64_t axis = -1;
  std::optional<int64_t> ignore_index = {};
};
Value softmax_cross_entropy(Value logits, Value labels, Value weights = {},
                            const ClassLossOptions& options = {});
Value nll_loss(Value log_probabilities, Value labels, Value weights = {},
               const ClassLossOptions& options = {});
Value binary_cross_entropy_with_logits(Value logits, Value labels,
                                       const std::string& reduction = "mean");
Value mse(Value x, Value y, const std::string& reduction = "mean");
// Quadratic up to `delta`, linear beyond.
Value huber(Value x, Value y, double delta = 1.0, const std::string& reduction = "mean");

}  // namespace rlx
