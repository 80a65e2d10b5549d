// Rows for resize.

#include "rlx/conformance/op_cases.h"

namespace rlx {

std::vector<OpCase> resize_cases() { return {}; }

}  // namespace rlx
