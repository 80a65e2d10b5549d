#include "rlx/vector/pool.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/pool.cpp"
#include "rlx/vector/each_isa.h"
// After it.
#include "rlx/vector/math.h"
#include "rlx/vector/window_walk.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

struct Highest {
  static constexpr bool weighs = false;
  static constexpr float padding = -kInfinity;
  template <bool whole>
  HWY_INLINE F start(const WalkTile& /*tile*/, int64_t /*pixel*/) const {
    return set(-kInfinity);
  }
  static bool starts_alike() { return true; }
  HWY_INLINE F tap(F total, F x, F /*weight*/) const {
    return select(equal(x, x), max(x, total), x);
  }
  HWY_INLINE F end(F total, const WalkTile& /*tile*/, int64_t /*pixel*/) const { return total; }
};

struct Average {
  static constexpr bool weighs = false;
  static constexpr float padding = 0;
  const float *rows, *pixels;
  template <bool whole>
  HWY_INLINE F start(const WalkTile& /*tile*/, int64_t /*pixel*/) const {
    return set(0.0f);
  }
  static bool starts_alike() { return true; }
  HWY_INLINE F tap(F total, F x, F /*weight*/) const { return total + x; }
  HWY_INLINE F end(F total, const WalkTile& t, int64_t pixel) const {
    return total / set(rows[t.row] * pixels[t.at + pixel]);
  }
};

void highest(const Conv& conv, const ConvBlocks& blocks, int64_t block) {
  run_walk(Highest(), conv, blocks, block);
}
void average(const Conv& conv, const float* rows, const float* pixels, const ConvBlocks& blocks,
             int64_t block) {
  run_walk(Average{rows, pixels}, conv, blocks, block);
}

PoolFunctions make() { return {.blocks = walk_blocks, .highest = highest, .average = average}; }

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
PoolFunctions pool(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
