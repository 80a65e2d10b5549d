// Which steps depend on weights and constants alone: they run when a program is prepared.
#pragma once

#include "rlx/compile/flatten.h"

namespace rlx::detail {

// By step. A step that would enlarge what is kept, that may raise the error flag in a body that
// perhaps never runs, or whose sizes depend on a run is not among them. What constants alone make,
// and on the host weights in a wider format, may be larger, up to a limit for all of a program.
std::vector<bool> steps_that_run_once(const FlatSteps& steps, const image::Image& image,
                                      const std::vector<int64_t>& bytes);

}  // namespace rlx::detail
