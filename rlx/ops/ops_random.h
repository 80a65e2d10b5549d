// Random numbers by Philox 4x32-10, the same on every device.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

// `seed` is one integer or two, the key.
Value random_uniform(Value seed, const Dims& shape, double low = 0, double high = 1,
                     DType dtype = DType::f32);  // in [low, high)
Value random_normal(Value seed, const Dims& shape, double mean = 0, double deviation = 1,
                    DType dtype = DType::f32);
// Zeroes elements with probability `ratio` and scales the others so that the mean stays.
Value dropout(Value x, Value seed, double ratio);
Value dropout_mask(Value x, Value seed, double ratio);  // true: kept
struct SampleOptions {
  double temperature = 1;  // 0: the first of the largest
  int64_t top_k = 0;       // 0: all
  double top_p = 1;
  double min_p = 0;  // of the largest probability
};
// A class for each row of logits[.., V], as i64[..]: the uniform of row r is Philox with the key
// `seed` at the counter (r, step).
Value sample(Value logits, Value seed, Value step, const SampleOptions& options = {});

}  // namespace rlx
