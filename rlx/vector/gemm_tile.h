// The heart of a product: a tile of c kept in registers while it runs along the inner dimension.
#if defined(RLX_VECTOR_GEMM_TILE) == defined(HWY_TARGET_TOGGLE)
#ifdef RLX_VECTOR_GEMM_TILE
#undef RLX_VECTOR_GEMM_TILE
#else
#define RLX_VECTOR_GEMM_TILE
#endif

#include "rlx/vector/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {

constexpr int kTileRows = kRegisters == 32 ? 8 : 4, kTileVectors = 3;
constexpr int64_t kPanel = kTileVectors * kLanes;  // columns
// Of a panel of one vector: fewer sums would wait for each other.
constexpr int kNarrowRows = kRegisters == 32 ? kTileRows : 3 * kTileRows;
constexpr int64_t kInnerBlock = 384;
constexpr int64_t kLine = 64;  // bytes of a line of the cache

struct Tile {
  int64_t inner;
  const float* a;
  int64_t a_row, a_column;
  const float* b;  // [inner, kPanel]
  float* c;
  int64_t c_row;
  const float* start;  // or null
  int64_t start_row;
  int64_t columns;  // of c that there are
  // What will be read next, asked for little by little: many lines at once would fill the queue in
  // which b's own lines wait.
  const char* next = nullptr;
  int64_t next_lines = 0;
};

template <int rows, int vectors>
HWY_NOINLINE void run_tile(const Tile& t) {
  F sums[rows][vectors];
  const int64_t rest = t.columns - (vectors - 1) * kLanes;  // of the last vector
  const bool whole = rest >= kLanes;
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) sums[r][v] = set(0.0f);
  const float *a = t.a, *b = t.b;
  const int64_t a_row = t.a_row;
  int64_t k = 0;
  if constexpr (rows <= 2) {
    // So few sums would wait for each other: several of each, added at the end.
    constexpr int chains = rows == 1 ? 4 : 2;
    F more[chains][rows][vectors];
    for (auto& chain : more)
      for (auto& row : chain)
        for (F& x : row) x = set(0.0f);
#pragma GCC unroll 1
    for (; k + chains <= t.inner; k += chains, b += chains * kPanel)
#pragma GCC unroll 4
      for (int i = 0; i < chains; ++i, a += t.a_column)
#pragma GCC unroll 2
        for (int r = 0; r < rows; ++r) {
          const F factor = set(a[r * a_row]);
#pragma GCC unroll 4
          for (int v = 0; v < vectors; ++v)
            more[i][r][v] = mul_add(factor, load(b + i * kPanel + v * kLanes), more[i][r][v]);
        }
    for (const auto& chain : more)
      for (int r = 0; r < rows; ++r)
        for (int v = 0; v < vectors; ++v) sums[r][v] = sums[r][v] + chain[r][v];
  }
  constexpr int64_t kStretch = 8;
  const bool asks = t.next_lines > 0 && t.inner > 0;
  const int64_t stretch = asks ? kStretch : t.inner;
  const int64_t share = asks ? (t.next_lines * kStretch + t.inner - 1) / t.inner : 0;
  const char* next = t.next;
#pragma GCC unroll 1
  while (k < t.inner) {
    for (int64_t i = 0; i < share; ++i, next += kLine) __builtin_prefetch(next);
    const int64_t end = k + stretch < t.inner ? k + stretch : t.inner;
#pragma GCC unroll 1
    for (; k < end; ++k, a += t.a_column, b += kPanel) {
      F column[vectors];
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        column[v] = load(b + v * kLanes);
        keep_in_register(column[v]);
      }
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) {
        const F factor = set(a[r * a_row]);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) sums[r][v] = mul_add(factor, column[v], sums[r][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      // At the end, so that sums of a long inner dimension are sums of short ones.
      const bool all = v + 1 < vectors || whole;
      if (t.start) {
        const float* start = t.start + r * t.start_row + v * kLanes;
        sums[r][v] = sums[r][v] + (all ? load(start) : load_part(start, rest));
      }
      float* to = t.c + r * t.c_row + v * kLanes;
      if (all)
        store(sums[r][v], to);
      else
        store_part(sums[r][v], to, rest);
    }
}

template <int vectors>
HWY_INLINE void run_tile_of_rows(const Tile& tile, int64_t rows) {
  switch (rows) {
    case 1:
      return run_tile<1, vectors>(tile);
    case 2:
      return run_tile<2, vectors>(tile);
    case 3:
      return run_tile<3, vectors>(tile);
    case 4:
      return run_tile<4, vectors>(tile);
#if defined(RLX_HIGHWAY) && HWY_TARGET == HWY_AVX3
    case 5:
      return run_tile<5, vectors>(tile);
    case 6:
      return run_tile<6, vectors>(tile);
    case 7:
      return run_tile<7, vectors>(tile);
    case 8:
      return run_tile<8, vectors>(tile);
#endif
    default:
      return;
  }
}
HWY_INLINE void run_tile(const Tile& tile, int64_t rows) {
  if (tile.columns > 2 * kLanes) return run_tile_of_rows<3>(tile, rows);
  if (tile.columns > kLanes) return run_tile_of_rows<2>(tile, rows);
  run_tile_of_rows<1>(tile, rows);
}

// One panel of b, all rows of a. Tiles are whole but the last: a tile of fewer rows has more sums
// for each element, and where it lies must not depend on how the rows were cut.
HWY_INLINE void run_panel(Tile tile, int64_t rows) {
  if constexpr (kNarrowRows > kTileRows)
    if (tile.columns <= kLanes)
      for (; rows >= kNarrowRows; rows -= kNarrowRows) {
        run_tile<kNarrowRows, 1>(tile);
        tile.next_lines = 0;
        tile.a += kNarrowRows * tile.a_row;
        tile.c += kNarrowRows * tile.c_row;
        tile.start += tile.start ? kNarrowRows * tile.start_row : 0;
      }
  const int64_t tiles = (rows + kTileRows - 1) / kTileRows, all = tile.next_lines;
  const int64_t share = tiles == 0 ? 0 : (all + tiles - 1) / tiles;
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t count = i + 1 < tiles ? kTileRows : rows - i * kTileRows;
    const int64_t left = all - i * share;
    tile.next_lines = left < 0 ? 0 : left < share ? left : share;
    run_tile(tile, count);
    tile.a += count * tile.a_row;
    tile.c += count * tile.c_row;
    tile.start += tile.start ? count * tile.start_row : 0;
    tile.next += tile.next ? share * kLine : 0;
  }
}

// b's columns [first, first + kPanel) and `inner` rows from b.data on, into [inner, kPanel].
HWY_INLINE void pack_panel(const float* b, int64_t b_row, int64_t b_column, int64_t inner,
                           int64_t columns, float* to) {
  if (columns >= kPanel && b_column == 1) {
    for (int64_t k = 0; k < inner; ++k, b += b_row, to += kPanel)
#pragma GCC unroll 4
      for (int v = 0; v < kTileVectors; ++v) store(load(b + v * kLanes), to + v * kLanes);
    return;
  }
  if (columns > kPanel) columns = kPanel;
  if (b_column == 1) {
    for (int64_t k = 0; k < inner; ++k, b += b_row, to += kPanel)
#pragma GCC unroll 4
      for (int v = 0; v < kTileVectors; ++v) {
        const int64_t left = columns - v * kLanes;
        store(left >= kLanes ? load(b + v * kLanes)
              : left > 0     ? load_part(b + v * kLanes, left)
                             : set(0.0f),
              to + v * kLanes);
      }
    return;
  }
  if (b_row == 1) {  // it lies transposed
    int64_t k = 0;
    for (; k + 4 <= inner; k += 4) {
      int64_t c = 0;
      for (; c + 4 <= columns; c += 4)
        transpose4(b + c * b_column + k, b_column, to + k * kPanel + c, kPanel);
      for (int64_t i = k; i < k + 4; ++i) {
        for (int64_t j = c; j < columns; ++j) to[i * kPanel + j] = b[j * b_column + i];
        for (int64_t j = columns; j < kPanel; ++j) to[i * kPanel + j] = 0;
      }
    }
    b += k;
    to += k * kPanel;
    inner -= k;
  }
  for (int64_t k = 0; k < inner; ++k, b += b_row, to += kPanel) {
    for (int64_t c = 0; c < columns; ++c) to[c] = b[c * b_column];
    for (int64_t c = columns; c < kPanel; ++c) to[c] = 0;
  }
}

}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
