// The heart of a convolution: some pixels of a row by some vectors of channels, kept in registers
// while they run over the taps of their windows.
#if defined(RLX_VECTOR_CONV_TILE) == defined(HWY_TARGET_TOGGLE)
#ifdef RLX_VECTOR_CONV_TILE
#undef RLX_VECTOR_CONV_TILE
#else
#define RLX_VECTOR_CONV_TILE
#endif

#include <utility>

#include "rlx/vector/conv.h"
#include "rlx/vector/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {

constexpr int kConvVectors = 3;    // of a panel, at most
constexpr int64_t kConvLine = 16;  // floats of a line of the cache
// Where a tap of a tile takes the time of more than its loads.
constexpr bool kConvAsksMore = kRegisters == 32;
// As many sums as leave registers for a row of the panel and a factor.
constexpr int conv_pixels(int vectors) {
  constexpr int sums = kRegisters == 32 ? 24 : 12;
  return vectors == 1 ? sums / 2 : sums / vectors;
}

// The panels of one group, as even as whole vectors can be.
struct ConvPanels {
  int64_t channels, vectors, count;
  explicit ConvPanels(const ConvSize& size)
      : channels(size.outputs / size.groups),
        vectors((channels + kLanes - 1) / kLanes),
        count((vectors + kConvVectors - 1) / kConvVectors) {}
  int64_t first_vector(int64_t panel) const { return panel * vectors / count; }
  int64_t vectors_of(int64_t panel) const { return first_vector(panel + 1) - first_vector(panel); }
  int64_t packed_size(int64_t inner) const { return vectors * kLanes * inner; }
};

// What a window meets lies anywhere: a sum is over x[offsets[k]] * weights[k]. One loop over a
// table is never left early, where one over each run of memory would be left once a row of the
// window.
struct ConvTile {
  const float* x = nullptr;
  int64_t x_pixel = 0;  // from pixel to pixel of the result
  const int64_t* offsets = nullptr;
  int64_t inner = 0;
  const float* weights = nullptr;  // [inner, vectors]
  float* y = nullptr;
  int64_t y_pixel = 0;
  const float* start = nullptr;
  int64_t start_pixel = 0;
  int64_t channels = 0;                                 // that there are
  float low = -std::numeric_limits<float>::infinity();  // that the sums are cut to
  float high = std::numeric_limits<float>::infinity();
  // So much of it is asked for with each tap: weights that are read next come from afar, and all at
  // once they would keep those waiting that are read now.
  const float* next = nullptr;
  int64_t next_step = kConvLine;
};

// A table of offsets at the beginning of a scratch, and the floats it takes.
inline int64_t* conv_offsets(float* scratch) {
  const auto address = reinterpret_cast<uintptr_t>(scratch);
  return reinterpret_cast<int64_t*>((address + 7) / 8 * 8);
}
constexpr int64_t conv_offsets_size(int64_t inner) { return 2 * inner + 1; }

template <int pixels, int vectors>
HWY_INLINE void ask_for(const float* from, int64_t pixel) {
#pragma GCC unroll 16
  for (int p = 0; p < pixels; ++p, from += pixel)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) __builtin_prefetch(from + v * kLanes);
}

template <int pixels, int vectors>
HWY_NOINLINE void run_conv_tile(const ConvTile& t) {
  F sums[pixels][vectors];
#pragma GCC unroll 16
  for (int p = 0; p < pixels; ++p)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) sums[p][v] = set(0.0f);
  // Few products are summed before the lines that the sums go to have come from a farther cache.
  constexpr int64_t kFew = 64;
  if (kConvAsksMore && t.inner <= kFew) ask_for<pixels, vectors>(t.y, t.y_pixel);
  const float *const first = t.x, *weights = t.weights;
  const int64_t x_pixel = t.x_pixel, *const end = t.offsets + t.inner;
  constexpr int kSecondCache = 2;
  const float* next = t.next ? t.next : weights;
  [[maybe_unused]] const float* second =
      t.next && t.next_step > kConvLine ? t.next + kConvLine : weights;
  const int64_t step = t.next ? t.next_step : 0;
#pragma GCC unroll 1
  for (const int64_t* offset = t.offsets; offset != end; ++offset, weights += vectors * kLanes) {
    const float* const x = first + *offset;
    __builtin_prefetch(next, 0, kSecondCache);
    next += step;
    if constexpr (kConvAsksMore) {
      __builtin_prefetch(second, 0, kSecondCache);
      second += step;
    }
    F row[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      row[v] = load(weights + v * kLanes);
      keep_in_register(row[v]);
    }
#pragma GCC unroll 16
    for (int p = 0; p < pixels; ++p) {
      const F factor = set(x[p * x_pixel]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[p][v] = mul_add(factor, row[v], sums[p][v]);
    }
  }
  const int64_t rest = t.channels - (vectors - 1) * kLanes;  // of the last vector
  const bool whole = rest >= kLanes;
  if (const float* start = t.start) {
    const int64_t start_pixel = t.start_pixel;
#pragma GCC unroll 16
    for (int p = 0; p < pixels; ++p, start += start_pixel)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v)
        sums[p][v] = sums[p][v] + (v + 1 < vectors || whole ? load(start + v * kLanes)
                                                            : load_part(start + v * kLanes, rest));
  }
  float* y = t.y;
  const int64_t y_pixel = t.y_pixel;
  const F low = set(t.low), high = set(t.high);
#pragma GCC unroll 16
  for (int p = 0; p < pixels; ++p, y += y_pixel)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      sums[p][v] = min(high, max(low, sums[p][v]));
      if (v + 1 < vectors || whole)
        store(sums[p][v], y + v * kLanes);
      else
        store_part(sums[p][v], y + v * kLanes, rest);
    }
}

using RunConvTile = void (*)(const ConvTile& tile);
template <int vectors, size_t... pixels>
RunConvTile conv_tile_of(int64_t count, std::index_sequence<pixels...>) {
  static constexpr RunConvTile all[] = {run_conv_tile<static_cast<int>(pixels) + 1, vectors>...};
  return all[count - 1];
}
template <int vectors>
HWY_INLINE RunConvTile conv_tile_of(int64_t pixels) {
  return conv_tile_of<vectors>(pixels, std::make_index_sequence<conv_pixels(vectors)>());
}
HWY_INLINE RunConvTile conv_tile(int64_t pixels, int64_t vectors) {
  return vectors == 1   ? conv_tile_of<1>(pixels)
         : vectors == 2 ? conv_tile_of<2>(pixels)
                        : conv_tile_of<3>(pixels);
}

// With each of so many taps, where they are to ask for `floats` together.
HWY_INLINE int64_t conv_next_step(int64_t floats, int64_t taps) {
  if (floats <= taps * kConvLine) return taps > 0 ? divide_up(floats, taps) : 0;
  return kConvAsksMore ? 2 * kConvLine : kConvLine;
}

// The fewest tiles that `count` pixels side by side take.
HWY_INLINE int64_t conv_tiles(int64_t count, int64_t vectors) {
  return divide_up(count, conv_pixels(static_cast<int>(vectors)));
}

// All of them, of about as many pixels each. They ask for `ahead` floats from tile.next on; what is
// left of those is returned.
HWY_INLINE int64_t run_conv_pixels(ConvTile tile, int64_t vectors, int64_t count, int64_t ahead) {
  const int64_t tiles = conv_tiles(count, vectors);
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t pixels = count / tiles + (i < count % tiles ? 1 : 0);
    if (ahead <= 0) tile.next = nullptr;
    conv_tile(pixels, vectors)(tile);
    const int64_t asked = tile.inner * tile.next_step;
    tile.next += tile.next ? asked : 0;
    ahead -= asked;
    tile.x += pixels * tile.x_pixel;
    tile.y += pixels * tile.y_pixel;
    tile.start += tile.start ? pixels * tile.start_pixel : 0;
  }
  return ahead;
}

}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
