// Compiles the including file once per instruction set: Highway includes HWY_TARGET_INCLUDE again
// for each. Without Highway the file is compiled once.
#if defined(RLX_HIGHWAY)
#ifndef HWY_DISABLED_TARGETS
// Vectors whose length is not known when we compile cannot be the elements of a tile.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#define HWY_IS_DEBUG_BUILD 0  // its asserts are a library, and we take its headers alone
#endif
#include <hwy/foreach_target.h>
#endif
