// Quantisation that is only acted out, for training.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rlx/ir/value.h"

namespace rlx {

// x as `bits` bits would hold it, in steps of `scale`, which broadcasts. The gradient of x is that
// of the result: all of it (plain), none where x is out of range (clipped), or less of it the
// further x is from 0: times 1 - tanh^2(x / scale) (tanh), or what is left of a line that reaches 0
// with the range (hard_tanh).
Value fake_quantise(Value x, Value scale, int64_t bits = 8,
                    const std::string& estimator = "clipped");

struct FakeQuantiseOptions {
  // Where the scale comes from: the largest magnitude of x; what that was on average, which starts
  // at 0 for none; a given number; or a given one that is trained (LSQ).
  enum class Scale : uint8_t { batch, moving_average, fixed, learned };
  Scale by = Scale::batch;
  Value scale = {};                  // f32[], or [channels] with an axis; absent for batch
  std::optional<int64_t> axis = {};  // of x, each index of which has a scale of its own
  double momentum = 0.9;             // how much of an average stays
  int64_t bits = 8;
  std::string estimator = "clipped";
};
struct FakeQuantised {
  Value y, scale;  // the scale that was taken; of an average the next one, to be kept
};
FakeQuantised fake_quantise(Value x, const FakeQuantiseOptions& options);

}  // namespace rlx
