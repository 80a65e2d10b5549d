// Gaussians by the part of a picture that they reach.
#pragma once

#include "rlx/lower/site.h"

namespace rlx {

// For each bin, a square of pixels, the Gaussians that reach it, in their order.
struct SplatLists {
  Steps steps = {};
  std::vector<Operand> operands = {};  // what kernels with `include` read, with these
  std::vector<Constant> constants = {};
  std::vector<Param> params = {};
  std::string include = "splat_all";  // of ops/lib
};

// `bounds` is [N, 4]. There are none where a picture or a scene is small.
SplatLists list_splats(const LowerSite& site, const Operand& bounds, const Dim& width,
                       const Dim& height);
Variants splat_list_variants();

}  // namespace rlx
