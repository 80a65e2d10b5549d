// Takes out of an image what nothing in it needs: values that no step touches, and the instructions
// that only led to their sizes.
#pragma once

#include "rlx/image/image.h"

namespace rlx::detail {

void drop_unused(image::Image& image);

}  // namespace rlx::detail
