// The one table of this backend that names ops: a faster implementation than the reference, which
// may refuse what it was not made for.
#pragma once

#include <string_view>

#include "rlx/lower/step.h"

namespace rlx {

// True when it did the work; false hands the step to the reference.
using FastOp = bool (*)(const Node& node, const std::vector<const Tensor*>& inputs,
                        std::vector<Tensor>& results);

FastOp fast_op(std::string_view op);  // null where there is none

}  // namespace rlx
