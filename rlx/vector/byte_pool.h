// Windows that move over one plane [height, width] of bytes.
#pragma once

#include "rlx/vector/range.h"
#include "rlx/vector/windows.h"

namespace rlx::vector {

// The largest under each window, of some rows of the result; padding never counts, and the lowest
// is what a window of padding alone gives. `scratch` has as many bytes as a row of x.
void highest_bytes(const Windows& windows, bool is_signed, const uint8_t* x, uint8_t* y, Range rows,
                   uint8_t* scratch);

}  // namespace rlx::vector
