// The WGSL modules that the rows of op_cases lead to, for devices as they are on paper: what
// changes in a kernel can be seen without running it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "rlx/base/device_traits.h"
#include "rlx/conformance/op_cases.h"

namespace rlx {

// With f16 and large limits, and with neither.
std::vector<DeviceTraits> paper_devices();

struct OpKernels {
  std::string op, device;
  std::set<std::string> modules;
};
// By op and device, in the order of names; ops without a kernel are not there.
std::vector<OpKernels> kernels_of(const std::vector<OpCase>& rows, const OpSet& ops);

// 16 digits that tell a text from others.
std::string fingerprint(const std::string& text);
// "op device modules hash", a line each: the text of rlx/conformance/kernels.golden.
std::string fingerprints(const std::vector<OpKernels>& kernels);

}  // namespace rlx
