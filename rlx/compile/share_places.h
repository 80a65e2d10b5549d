// Which values take the memory of another: results the place of an operand that ends with them, and
// the next values of states the place of the state. What remains of updates is done early.
#pragma once

#include "rlx/compile/flatten.h"

namespace rlx::detail {

// Sets Value::place in the image and, for dispatches, marks the operands that are then read through
// the result's binding. Copies that update states move to behind the last reader.
void share_places(FlatSteps& steps, image::Image& image);

}  // namespace rlx::detail
