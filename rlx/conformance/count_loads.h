// A dispatch that counts, while it runs, what its kernel loads of an operand.
#pragma once

#include <string>

#include "rlx/base/device_traits.h"
#include "rlx/compile/lower_graph.h"

namespace rlx {

// The output that has the counts, u32: how often an element was loaded, then a bit for each part
// of the operand that one was loaded of, part 0 in the lowest.
inline const char* const kLoads = "loads";
struct OperandParts {
  int64_t count = 0, elements = 1;  // how many, and as many elements of the kernel's in each
};
void count_loads(Lowered& lowered, Dispatch& dispatch, const std::string& name,
                 const DeviceTraits& traits, const OperandParts& parts = {});

}  // namespace rlx
