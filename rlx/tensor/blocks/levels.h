// The levels of iq4_nl and iq4_xs, ascending.
#pragma once

#include <cstdint>

namespace rlx::blocks {

inline constexpr int8_t kNonLinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace rlx::blocks
