#include "rlx/backend/cpu/byte_tiles.h"

#include <algorithm>

namespace rlx::detail {
namespace {

// Some rows of a product by some of its columns, which begin with a panel.
vector::ByteProduct part_of(const vector::ByteProduct& product, int64_t words, vector::Range rows,
                            vector::Range columns) {
  vector::ByteProduct part = product;
  part.rows = rows.count();
  part.columns = columns.count();
  if (part.pieces.starts)
    part.pieces.starts += rows.begin;
  else
    part.a += rows.begin * words;
  part.a_sums += rows.begin;
  part.a_zero += rows.begin * product.a_zero_step;
  part.b += columns.begin * words;
  part.b_sums += columns.begin;
  if (part.b_zero) part.b_zero += columns.begin;
  part.more_b = columns.end < product.columns;
  return part;
}

}  // namespace

void multiply_in_tiles(const CpuEngine& engine, const vector::ByteProduct& product,
                       const TileProgram& tile, const TilePlace& at, Scratch& scratch) {
  const vector::ByteGemm& gemm = engine.byte_gemm;
  const int64_t words = gemm.words(product.inner), panel = gemm.panel_columns * words * 4;
  // As many panels as stay in the second cache, of as many rows as the sums of stay in the first.
  constexpr int64_t kPanelBytes = 640 << 10, kSums = 4096;
  const int64_t together = std::max<int64_t>(1, kPanelBytes / std::max<int64_t>(panel, 1)),
                width = std::min(together, gemm.panels(product.columns)) * gemm.panel_columns;
  const int64_t height = std::max<int64_t>(1, kSums / width / gemm.tile_rows) * gemm.tile_rows;
  scratch.resize(height * width);
  vector::Blocks blocks = gemm.blocks(product, engine.team.threads());
  // Whole rows where there are enough of them: the tile then runs along memory.
  if (const int64_t tiles = product.rows / gemm.tile_rows; tiles >= 4 * blocks.count()) {
    blocks.rows = tiles / blocks.count() * gemm.tile_rows;
    blocks.row_blocks = (product.rows + blocks.rows - 1) / blocks.rows;
    blocks.panels = gemm.panels(product.columns);
    blocks.panel_blocks = 1;
  }
  vector::each_block(
      blocks, product.rows, gemm.panels(product.columns), engine.team,
      [&](vector::Range rows, vector::Range panels) {
        const Scratch::Part part(scratch);
        auto* sums = reinterpret_cast<int32_t*>(part.data());
        for (int64_t at_panel = panels.begin; at_panel < panels.end; at_panel += together)
          for (int64_t row = rows.begin; row < rows.end; row += height) {
            const int64_t first = at_panel * gemm.panel_columns,
                          end = std::min(panels.end, at_panel + together) * gemm.panel_columns;
            vector::ByteProduct block =
                part_of(product, words, {row, std::min(row + height, rows.end)},
                        {first, std::min(end, product.columns)});
            block.c = sums;
            block.c_row = block.columns;
            gemm.run(block, {0, block.rows}, {0, gemm.panels(block.columns)});
            tile.run({at.row + row, at.row + row + block.rows},
                     {at.column + first, at.column + first + block.columns}, {sums, block.columns});
          }
      });
}

}  // namespace rlx::detail
