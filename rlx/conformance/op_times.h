// What the kernels of a row take on a device, next to a plain copy of as many bytes.
#pragma once

#include <string>
#include <vector>

#include "rlx/conformance/op_cases.h"
#include "rlx/runtime/device.h"

namespace rlx {

struct OpTime {
  std::string op, row;
  int64_t bytes = 0;  // of operands and results
  double microseconds = 0, copy_microseconds = 0;

  double ratio() const { return microseconds / copy_microseconds; }
};

// Of each op the largest row of at least `least_bytes`, slowest against the copy first. Times are
// the device's own, the best of a few runs; a device without timestamps has none.
std::vector<OpTime> op_times(const std::vector<OpCase>& rows, const OpSet& ops,
                             const Device& device, int64_t least_bytes);

}  // namespace rlx
