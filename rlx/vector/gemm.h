// Products of matrices of f32. The right one is packed into panels of columns, once where it is a
// weight, or piece by piece as it is read.
#pragma once

#include <cstdint>

#include "rlx/vector/isa.h"
#include "rlx/vector/range.h"

namespace rlx::vector {

// Element (i, j) lies at data[i * row + j * column].
struct Matrix {
  const float* data = nullptr;
  int64_t row = 0, column = 1;
};

struct Product {
  int64_t rows = 0, columns = 0, inner = 0;
  Matrix a = {};                    // [rows, inner]
  const float* packed_b = nullptr;  // [inner, columns], made by pack; else
  Matrix b = {};                    // as it lies, or
  // what writes a part of it: [inner, panel] into `to`, 0 in the columns that are not there.
  using Read = void (*)(const void* context, Range inner, Range columns, int64_t panel, float* to);
  Read read_b = nullptr;
  const void* read_context = nullptr;
  float* c = nullptr;  // [rows, columns]
  int64_t c_row = 0;
  // What the sums begin with: null is 0, a row step of 0 a bias, c itself adds to it.
  const float* start = nullptr;
  int64_t start_row = 0;
  // Called for blocks of c as they are finished and still in the cache.
  using Finish = void (*)(const void* context, Range rows, Range columns);
  Finish finish = nullptr;
  const void* context = nullptr;
};

struct Gemm {
  int64_t panel_columns;  // a panel is [inner, panel_columns]
  int64_t tile_rows;      // as many rows at a time: ranges of multiples of it waste nothing

  int64_t panels(int64_t columns) const { return (columns + panel_columns - 1) / panel_columns; }
  // In floats; 64-byte alignment is best.
  int64_t packed_size(int64_t inner, int64_t columns) const {
    return inner * panels(columns) * panel_columns;
  }

  // Packs some panels of b [inner, columns]; different panels may be packed at the same time.
  void (*pack)(const Matrix& b, int64_t inner, int64_t columns, Range panels, float* packed);
  // A block of c; different blocks may be computed at the same time.
  void (*run)(const Product& product, Range rows, Range panels);
};
Gemm gemm(Isa isa);

// How to split a product between `threads`: blocks of rows by panels, of about equal work.
struct Blocks {
  int64_t row_blocks = 1, panel_blocks = 1;
  int64_t rows = 1, panels = 1;  // of one block
  int64_t count() const { return row_blocks * panel_blocks; }
};
// What decides it, of products of any kind.
struct BlockForm {
  int64_t rows = 0, columns = 0, inner = 0;
  int64_t panel_columns = 1, tile_rows = 1;
  bool is_packed = false;  // the right operand, once for all
};
Blocks blocks_of(const BlockForm& form, int threads);
inline Blocks blocks_of(const Product& product, const Gemm& gemm, int threads) {
  return blocks_of({product.rows, product.columns, product.inner, gemm.panel_columns,
                    gemm.tile_rows, product.packed_b != nullptr},
                   threads);
}

// run(rows, panels) for all blocks, on a team or any other that has run(count, grain, body).
template <class Team, class Run>
void each_block(const Blocks& blocks, int64_t all_rows, int64_t all_panels, Team& team,
                const Run& run) {
  team.run(blocks.count(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / blocks.panel_blocks * blocks.rows,
                    panel = i % blocks.panel_blocks * blocks.panels;
      const auto least = [](int64_t a, int64_t b) { return a < b ? a : b; };
      run(Range{row, least(row + blocks.rows, all_rows)},
          Range{panel, least(panel + blocks.panels, all_panels)});
    }
  });
}
template <class Team>
void multiply(const Product& product, const Gemm& gemm, Team& team) {
  each_block(blocks_of(product, gemm, team.threads()), product.rows, gemm.panels(product.columns),
             team, [&](Range rows, Range panels) { gemm.run(product, rows, panels); });
}

}  // namespace rlx::vector
