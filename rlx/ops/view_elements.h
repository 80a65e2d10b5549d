// What a view does to elements that the host knows.
#pragma once

#include "rlx/ir/op_def.h"

namespace rlx {

// The elements of a host value that a layout without symbols names, in row-major order.
HostValue elements_of_view(const HostValue& x, const Layout& layout, const Shape& shape);

}  // namespace rlx
