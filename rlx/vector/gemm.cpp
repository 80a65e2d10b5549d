#include "rlx/vector/gemm.h"

#include <algorithm>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/gemm.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/gemm_tile.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

constexpr int64_t kFinish = 1 << 16;  // elements that are finished at a time, in the second cache
constexpr int64_t kRowBlock = 192;    // rows of a whose inner block stays in the second cache

void pack(const Matrix& b, int64_t inner, int64_t columns, Range panels, float* packed) {
  const int64_t width = (columns + kPanel - 1) / kPanel * kPanel;
  for (int64_t first = 0; first < inner; first += kInnerBlock) {
    const int64_t block = std::min(kInnerBlock, inner - first);
    for (int64_t p = panels.begin; p < panels.end; ++p)
      pack_panel(b.data + first * b.row + p * kPanel * b.column, b.row, b.column, block,
                 columns - p * kPanel, packed + first * width + p * kPanel * block);
  }
}

// c += sum of factor[i] * b's row i, for `count` columns.
template <int rows>
void add_rows(const float (&factors)[rows], const float* b, int64_t b_row, float* c,
              int64_t count) {
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    F sums = load(c + j);
#pragma GCC unroll 4
    for (int i = 0; i < rows; ++i) sums = mul_add(set(factors[i]), load(b + i * b_row + j), sums);
    store(sums, c + j);
  }
  for (; j < count; ++j)
    for (int i = 0; i < rows; ++i) c[j] += factors[i] * b[i * b_row + j];
}

// Few rows of a b that nobody packed: reading it is all the work, so that it is read in order.
void few_rows_along(const Product& p, Range rows, Range columns) {
  const int64_t step = p.a.column;
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const float *a = p.a.data + r * p.a.row, *b = p.b.data + columns.begin;
    float* c = p.c + r * p.c_row + columns.begin;
    const float* start = p.start ? p.start + r * p.start_row + columns.begin : nullptr;
    for (int64_t j = 0; j < columns.count(); ++j) c[j] = start ? start[j] : 0.0f;
    int64_t k = 0;
    for (; k + 4 <= p.inner; k += 4, a += 4 * step, b += 4 * p.b.row)
      add_rows<4>({a[0], a[step], a[2 * step], a[3 * step]}, b, p.b.row, c, columns.count());
    for (; k < p.inner; ++k, a += step, b += p.b.row)
      add_rows<1>({a[0]}, b, p.b.row, c, columns.count());
  }
}
constexpr int64_t kLongest = 4096;  // so many products are summed as f32, and more as f64
// Floats of b that are asked for before they are read: the processor does not look beyond a page.
constexpr int64_t kAhead = 1024;
void few_rows_across(const Product& p, Range rows, Range columns) {
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const float* a = p.a.data + r * p.a.row;
    for (int64_t j = columns.begin; j < columns.end; ++j) {
      const float* b = p.b.data + j * p.b.column;
      double total = p.start ? static_cast<double>(p.start[r * p.start_row + j]) : 0;
      for (int64_t begin = 0; begin < p.inner; begin += kLongest) {
        const int64_t end = std::min(begin + kLongest, p.inner);
        F sums[2] = {set(0.0f), set(0.0f)};
        int64_t k = begin;
        for (; k + 2 * kLanes <= end; k += 2 * kLanes)
#pragma GCC unroll 2
          for (int v = 0; v < 2; ++v) {
            __builtin_prefetch(b + k + v * kLanes + kAhead);
            sums[v] = mul_add(load(a + k + v * kLanes), load(b + k + v * kLanes), sums[v]);
          }
        for (; k + kLanes <= end; k += kLanes) sums[0] = mul_add(load(a + k), load(b + k), sums[0]);
        if (k < end)
          sums[0] = mul_add(load_part(a + k, end - k), load_part(b + k, end - k), sums[0]);
        total += static_cast<double>(sum(sums[0] + sums[1]));
      }
      p.c[r * p.c_row + j] = static_cast<float>(total);
    }
  }
}

// Some panels of a block, which are finished while c is in the second cache: it is read and written
// again for every inner block.
void run_panels(const Product& p, Range rows, Range panels) {
  alignas(64) float own[kInnerBlock * kPanel];
  const int64_t width = (p.columns + kPanel - 1) / kPanel * kPanel;
  const auto packed = [&](int64_t first, int64_t panel) {
    return p.packed_b + first * width + panel * kPanel * std::min(kInnerBlock, p.inner - first);
  };
  for (int64_t first = 0; first < p.inner; first += kInnerBlock) {
    const int64_t block = std::min(kInnerBlock, p.inner - first);
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
      const int64_t column = panel * kPanel, columns = std::min(kPanel, p.columns - column);
      const float *b = own, *next = nullptr;
      if (p.read_b) {
        p.read_b(p.read_context, {first, first + block}, {column, column + columns}, kPanel, own);
      } else if (!p.packed_b) {
        pack_panel(p.b.data + first * p.b.row + column * p.b.column, p.b.row, p.b.column, block,
                   columns, own);
      } else {
        b = packed(first, panel);
        if (panel + 1 < panels.end)
          next = packed(first, panel + 1);
        else if (first + block < p.inner)
          next = packed(first + block, panels.begin);
        else if (column + columns < p.columns)  // whoever has this block has the next, mostly
          next = packed(0, panel + 1);
      }
      float* c = p.c + rows.begin * p.c_row + column;
      const float* start = p.start ? p.start + rows.begin * p.start_row + column : nullptr;
      run_panel({.inner = block,
                 .a = p.a.data + rows.begin * p.a.row + first * p.a.column,
                 .a_row = p.a.row,
                 .a_column = p.a.column,
                 .b = b,
                 .c = c,
                 .c_row = p.c_row,
                 .start = first ? c : start,
                 .start_row = first ? p.c_row : p.start_row,
                 .columns = columns,
                 .next = reinterpret_cast<const char*>(next),
                 .next_lines = next ? block * kPanel * 4 / kLine : 0},
                rows.count());
    }
  }
  if (p.finish)
    p.finish(p.context, rows, {panels.begin * kPanel, std::min(panels.end * kPanel, p.columns)});
}
void run_block(const Product& p, Range rows, Range panels) {
  const int64_t most = std::max<int64_t>(1, kFinish / (rows.count() * kPanel)),
                groups = (panels.count() + most - 1) / most;
  for (int64_t i = 0; i < groups; ++i)
    run_panels(p, rows,
               {panels.begin + panels.count() * i / groups,
                panels.begin + panels.count() * (i + 1) / groups});
}

// The inner dimension in parts whose products are added as f64.
void run_long(const Product& p, Range rows, Range panels) {
  const Range columns{panels.begin * kPanel, std::min(panels.end * kPanel, p.columns)};
  const int64_t width = columns.count(), padded = (p.columns + kPanel - 1) / kPanel * kPanel;
  std::vector<double> totals(static_cast<size_t>(rows.count() * width));
  std::vector<float> part(totals.size());
  for (int64_t first = 0; first < p.inner; first += 8 * kInnerBlock) {
    Product each = p;
    each.inner = std::min(8 * kInnerBlock, p.inner - first);
    each.a.data += first * p.a.column;
    if (p.packed_b)
      each.packed_b += first * padded;
    else
      each.b.data += first * p.b.row;
    each.c = part.data() - rows.begin * width - columns.begin;
    each.c_row = width;
    each.start = nullptr;
    each.finish = nullptr;
    run_block(each, rows, panels);
    for (size_t i = 0; i < totals.size(); ++i) totals[i] += static_cast<double>(part[i]);
  }
  for (int64_t r = 0; r < rows.count(); ++r)
    for (int64_t j = 0; j < width; ++j) {
      const int64_t row = rows.begin + r, column = columns.begin + j;
      const double start = p.start ? static_cast<double>(p.start[row * p.start_row + column]) : 0;
      p.c[row * p.c_row + column] =
          static_cast<float>(start + totals[static_cast<size_t>(r * width + j)]);
    }
  if (p.finish) p.finish(p.context, rows, columns);
}

void run(const Product& p, Range rows, Range panels) {
  const Range columns{panels.begin * kPanel, std::min(panels.end * kPanel, p.columns)};
  if (rows.count() <= 0 || columns.count() <= 0) return;
  if (p.inner == 0) {  // the sums of nothing
    for (int64_t r = rows.begin; r < rows.end; ++r)
      for (int64_t j = columns.begin; j < columns.end; ++j)
        p.c[r * p.c_row + j] = p.start ? p.start[r * p.start_row + j] : 0;
    if (p.finish) p.finish(p.context, rows, columns);
    return;
  }
  const bool across = p.b.row == 1 && p.a.column == 1,
             along = p.b.column == 1 && p.inner <= kLongest;
  // By the rows of the whole, so that the result does not depend on how it is cut.
  if (!p.packed_b && !p.read_b && p.rows < kTileRows && (along || across)) {
    across ? few_rows_across(p, rows, columns) : few_rows_along(p, rows, columns);
    if (p.finish) p.finish(p.context, rows, columns);
    return;
  }
  // Blocks of rows of about the same height.
  const int64_t blocks = (rows.count() + kRowBlock - 1) / kRowBlock;
  const int64_t height =
      ((rows.count() + blocks - 1) / blocks + kTileRows - 1) / kTileRows * kTileRows;
  for (int64_t r = rows.begin; r < rows.end; r += height)
    (p.inner > kLongest && !p.read_b ? run_long : run_block)(p, {r, std::min(r + height, rows.end)},
                                                             panels);
}

Gemm make() { return {.panel_columns = kPanel, .tile_rows = kTileRows, .pack = pack, .run = run}; }

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {

Gemm gemm(Isa isa) { return RLX_OF_ISA(isa, make); }

Blocks blocks_of(const BlockForm& form, int threads) {
  Blocks blocks;
  const int64_t panels = (form.columns + form.panel_columns - 1) / form.panel_columns;
  blocks.rows = form.rows;
  blocks.panels = panels;
  constexpr int64_t kSmall = 1 << 15;  // multiply-adds that are not worth another thread
  const int64_t work = form.rows * form.columns * form.inner;
  const int64_t wanted = std::min<int64_t>(threads == 1 ? 1 : threads * 4, work / kSmall + 1);
  const int64_t tiles = (form.rows + form.tile_rows - 1) / form.tile_rows;
  // Rows first where b is packed and each thread has enough of them to be worth reading it: what
  // has a row next finds it in its thread's cache. Else panels, each packed or read by one thread.
  constexpr int64_t kEnoughTiles = 8;
  // Weights that come from memory are read by one thread each, unless it has rows for all of them.
  constexpr int64_t kLargeWeights = 1 << 20, kEnoughRows = 192;
  const bool reads_once =
      form.columns * form.inner > kLargeWeights && form.rows < threads * kEnoughRows;
  const bool by_rows =
      form.is_packed && wanted > 1 && tiles >= threads * kEnoughTiles && !reads_once;
  const int64_t parts = by_rows ? (wanted + threads - 1) / threads : wanted;
  blocks.panels = std::max<int64_t>(1, (panels + parts - 1) / parts);
  blocks.panel_blocks = panels == 0 ? 0 : (panels + blocks.panels - 1) / blocks.panels;
  const int64_t more =
      blocks.panel_blocks ? (wanted + blocks.panel_blocks - 1) / blocks.panel_blocks : 1;
  blocks.rows = std::max<int64_t>(1, (tiles + more - 1) / more) * form.tile_rows;
  blocks.row_blocks = (form.rows + blocks.rows - 1) / blocks.rows;
  return blocks;
}

}  // namespace rlx::vector
#endif
