// Products of bytes whose sums a tile goes on with, while they are in the cache.
#pragma once

#include "rlx/backend/cpu/scratch.h"
#include "rlx/backend/cpu/tile_program.h"
#include "rlx/vector/byte_gemm.h"

namespace rlx::detail {

// Where the product's first row and column are among those of the tile.
struct TilePlace {
  int64_t row = 0, column = 0;
};
void multiply_in_tiles(const CpuEngine& engine, const vector::ByteProduct& product,
                       const TileProgram& tile, const TilePlace& at, Scratch& scratch);

}  // namespace rlx::detail
