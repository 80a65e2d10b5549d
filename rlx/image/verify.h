// What must hold of an image before anything may index with it.
#pragma once

#include "rlx/image/image.h"

namespace rlx::image {

// Every index of the image lies where it points to, cells are computed before they are used, and
// tensors have the types that their values say. An Error of kind invalid_model names what is wrong.
// It does not prove that a run stays within its memory: an image is trusted as a program is.
void verify(const Image& image);

}  // namespace rlx::image
