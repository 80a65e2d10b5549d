// Winograd's F(4 x 4, 3 x 3): 16 pixels of the result from 36 of the picture by 36 products instead
// of 144. At the points 0, ±sqrt(1/2), ±sqrt(2) and infinity, whose factors are near 1.
#include <algorithm>

#include "rlx/vector/conv.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/winograd.cpp"
#include "rlx/vector/each_isa.h"
// After it.
#include "rlx/vector/conv_tile.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

constexpr int kOut = 4, kIn = 6, kProducts = kIn * kIn;
constexpr double kRoot = 1.41421356237309504880;  // of 2
constexpr int64_t kApart = 16;  // floats between the 36 parts: their lines are of different sets

bool accepts(const Conv& conv) {
  const ConvSize& size = conv.size;
  const auto fits = [](const Windows::Axis& a) {
    return a.window == 3 && a.stride == 1 && a.dilation == 1;
  };
  return fits(size.windows.y) && fits(size.windows.x) && size.groups == 1 && conv.x_channel == 1 &&
         size.inputs > 0 && size.inputs <= 4096;
}

int64_t panels(const ConvSize& size) { return ConvPanels(size).count; }
int64_t packed_size(const ConvSize& size) {
  return kProducts * ConvPanels(size).packed_size(size.inputs);
}

// Weights.

// One vector of channels in f64: rounding is left to the end. Loops over lanes become vectors.
struct Doubles {
  double lane[kLanes];
};
// Three taps become six. `from` and `to` lie so many apart.
HWY_INLINE void transform_weights(const Doubles* from, int from_step, Doubles* to, int to_step) {
  for (int64_t j = 0; j < kLanes; ++j) {
    const double x = from[0].lane[j], y = from[from_step].lane[j], z = from[2 * from_step].lane[j];
    const double a = (-2.0 / 3) * x - (1.0 / 3) * z, b = (kRoot / 3) * y;
    const double c = (1.0 / 6) * x + (1.0 / 3) * z, d = (kRoot / 6) * y;
    to[0].lane[j] = x;
    to[to_step].lane[j] = a - b;
    to[2 * to_step].lane[j] = a + b;
    to[3 * to_step].lane[j] = c + d;
    to[4 * to_step].lane[j] = c - d;
    to[5 * to_step].lane[j] = z;
  }
}

// [36, inputs, panel] of each panel.
HWY_NOINLINE void pack_lanes(const float* weights, int64_t inputs, int64_t there, float* to,
                             int64_t width) {
  Doubles taps[9] = {}, half[kIn * 3], all[kProducts];
  for (int64_t c = 0; c < inputs; ++c) {
    for (int64_t j = 0; j < there; ++j) {
      const float* from = weights + (j * inputs + c) * 9;
      for (int i = 0; i < 9; ++i) taps[i].lane[j] = static_cast<double>(from[i]);
    }
    for (int k = 0; k < 3; ++k) transform_weights(taps + k, 3, half + k, 3);
    for (int i = 0; i < kIn; ++i) transform_weights(half + i * 3, 1, all + i * kIn, 1);
    for (int i = 0; i < kProducts; ++i) {
      float* at = to + (i * inputs + c) * width;
      for (int64_t j = 0; j < kLanes; ++j) at[j] = static_cast<float>(all[i].lane[j]);
    }
  }
}
void pack(const ConvSize& size, const float* weights, Range range, float* packed) {
  const ConvPanels all(size);
  const int64_t inputs = size.inputs;
  for (int64_t panel = range.begin; panel < range.end; ++panel) {
    const int64_t first = all.first_vector(panel) * kLanes, width = all.vectors_of(panel) * kLanes;
    for (int64_t j = 0; j < width; j += kLanes)
      pack_lanes(weights + (first + j) * inputs * 9, inputs,
                 std::min(kLanes, all.channels - first - j),
                 packed + first * inputs * kProducts + j, width);
  }
}

// The picture.

HWY_INLINE void transform_in(const F (&x)[kIn], F (&y)[kIn]) {
  constexpr auto root = static_cast<float>(kRoot), half_root = static_cast<float>(kRoot / 2);
  const F a = neg_mul_add(set(2.0f), x[2], x[4]), b = neg_mul_add(set(0.5f), x[2], x[4]);
  const F c = neg_mul_add(set(root), x[1], set(half_root) * x[3]),
          d = neg_mul_add(set(half_root), x[1], set(root) * x[3]);
  y[0] = neg_mul_add(set(2.5f), x[2], x[0] + x[4]);
  y[1] = a + c;
  y[2] = a - c;
  y[3] = b + d;
  y[4] = b - d;
  y[5] = neg_mul_add(set(2.5f), x[3], x[1] + x[5]);
}

// One vector of channels of one tile. `from` are its 36 pixels, `to` has the products `step` apart.
template <bool whole>
HWY_INLINE void tile_in(const float* const* from, int64_t channel, int64_t channels, float* to,
                        int64_t step) {
  F half[kIn][kIn], x[kIn], y[kIn];
#pragma GCC unroll 1
  for (int j = 0; j < kIn; ++j) {
#pragma GCC unroll 8
    for (int i = 0; i < kIn; ++i) {
      const float* pixel = from[i * kIn + j] + channel;
      x[i] = whole ? load(pixel) : load_part(pixel, channels);
    }
    transform_in(x, y);
#pragma GCC unroll 8
    for (int i = 0; i < kIn; ++i) half[i][j] = y[i];
  }
#pragma GCC unroll 1
  for (int i = 0; i < kIn; ++i) {
    transform_in(half[i], y);
#pragma GCC unroll 8
    for (int j = 0; j < kIn; ++j, to += step) {
      if (whole)
        store(y[j], to);
      else
        store_part(y[j], to, channels);
    }
  }
}
HWY_NOINLINE void tile_in(const float* const* from, int64_t channels, float* to, int64_t step) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) tile_in<true>(from, c, kLanes, to + c, step);
  if (c < channels) tile_in<false>(from, c, channels - c, to + c, step);
}

// The result.

HWY_INLINE void transform_out(const F (&x)[kIn], F (&y)[kOut]) {
  constexpr auto root = static_cast<float>(kRoot);
  const F a = x[1] + x[2], b = x[1] - x[2], c = x[3] + x[4], d = x[3] - x[4];
  y[0] = x[0] + (a + c);
  y[1] = mul_add(set(root / 2), b, set(root) * d);
  y[2] = mul_add(set(0.5f), a, set(2.0f) * c);
  y[3] = mul_add(set(root / 4), b, mul_add(set(root * 2), d, x[5]));
}

struct TileOut {
  const float* from = nullptr;  // the first product
  int64_t step = 0;             // from product to product
  float* y = nullptr;
  int64_t y_pixel = 0, y_row = 0;
  const float* start = nullptr;
  int64_t start_pixel = 0, start_row = 0;
  int64_t rows = 0, pixels = 0;  // of the tile that there are
  float low = 0, high = 0;
};
template <bool whole>
HWY_INLINE void tile_out(const TileOut& t, int64_t channel, int64_t channels) {
  F half[kOut][kIn], x[kIn], y[kOut];
#pragma GCC unroll 1
  for (int j = 0; j < kIn; ++j) {
#pragma GCC unroll 8
    for (int i = 0; i < kIn; ++i) x[i] = load(t.from + (i * kIn + j) * t.step + channel);
    transform_out(x, y);
#pragma GCC unroll 4
    for (int i = 0; i < kOut; ++i) half[i][j] = y[i];
  }
#pragma GCC unroll 1
  for (int i = 0; i < t.rows; ++i) {
    transform_out(half[i], y);
#pragma GCC unroll 4
    for (int j = 0; j < kOut; ++j) {
      if (j >= t.pixels) break;
      F sum = y[j];
      if (t.start) {
        const float* start = t.start + i * t.start_row + j * t.start_pixel + channel;
        sum = sum + (whole ? load(start) : load_part(start, channels));
      }
      sum = min(set(t.high), max(set(t.low), sum));
      float* to = t.y + i * t.y_row + j * t.y_pixel + channel;
      if (whole)
        store(sum, to);
      else
        store_part(sum, to, channels);
    }
  }
}
HWY_NOINLINE void tile_out(const TileOut& t, int64_t channels) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) tile_out<true>(t, c, kLanes);
  if (c < channels) tile_out<false>(t, c, channels - c);
}

// Blocks of tiles.

// Where a block's tiles lie in its scratch: 36 matrices of picture, 36 of a panel's products, and a
// pixel of padding.
struct Scratch {
  int64_t in_step, out_step;
  Scratch(const ConvSize& size, int64_t tiles)
      : in_step(tiles * size.inputs + kApart), out_step(tiles * kConvVectors * kLanes + kApart) {}
  int64_t products() const { return kProducts * in_step; }
  int64_t padding() const { return products() + kProducts * out_step; }
};

ConvBlocks blocks(const Conv& conv, int threads) {
  constexpr int64_t kPicture = 160 * 1024;  // floats, of a block
  constexpr int64_t kTiles = 48;
  const ConvSize& size = conv.size;
  const Windows::Axis &y = size.windows.y, &x = size.windows.x;
  ConvBlocks b;
  b.panels = panels(size);
  if (size.pixels() <= 0 || b.panels == 0) return b;
  const int64_t most = std::clamp<int64_t>(kPicture / (kProducts * size.inputs), 8, kTiles);
  const int64_t tile_rows = divide_up(y.out, kOut), tiles = divide_up(x.out, kOut);
  const int64_t across = part_of(tiles, divide_up(tiles, most), 1);
  // As many rows as leave all threads about the same work.
  int64_t rows = 1, least = INT64_MAX;
  for (int64_t each = 1; each <= std::max<int64_t>(1, most / across) && each <= tile_rows; ++each) {
    const int64_t count = size.batch * divide_up(tile_rows, each) * divide_up(tiles, across);
    const int64_t longest = divide_up(count, threads) * each;
    if (longest <= least) least = longest, rows = each;
  }
  b.rows = std::min(rows * kOut, y.out);
  b.pixels = std::min(across * kOut, x.out);
  b.row_blocks = size.batch * divide_up(tile_rows, rows);
  b.pixel_blocks = divide_up(tiles, across);
  const int64_t pixel_blocks = b.row_blocks * b.pixel_blocks;
  if (pixel_blocks < threads) b.panels = part_of(b.panels, divide_up(threads, pixel_blocks), 1);
  b.panel_blocks = divide_up(panels(size), b.panels);
  b.scratch_size =
      conv_offsets_size(size.inputs) + Scratch(size, rows * across).padding() + size.inputs;
  return b;
}

// The tiles of some rows and pixels of the result.
struct Block {
  int64_t n;
  Range rows, pixels;
  int64_t across() const { return divide_up(pixels.count(), kOut); }
  int64_t tiles() const { return divide_up(rows.count(), kOut) * across(); }
};

void read_tiles(const Conv& conv, const Block& block, const Scratch& layout, float* scratch) {
  const Windows::Axis &ys = conv.size.windows.y, &xs = conv.size.windows.x;
  float* padding = scratch + layout.padding();
  std::fill(padding, padding + conv.size.inputs, 0.0f);
  const float* x = conv.x + block.n * conv.x_batch;
  for (int64_t tile = 0; tile < block.tiles(); ++tile) {
    const int64_t row = block.rows.begin + tile / block.across() * kOut - ys.before,
                  pixel = block.pixels.begin + tile % block.across() * kOut - xs.before;
    const float* from[kProducts];
    for (int64_t i = 0; i < kIn; ++i)
      for (int64_t j = 0; j < kIn; ++j) {
        const bool inside = row + i >= 0 && row + i < ys.in && pixel + j >= 0 && pixel + j < xs.in;
        from[i * kIn + j] =
            inside ? x + (row + i) * conv.x_row + (pixel + j) * conv.x_pixel : padding;
      }
    tile_in(from, conv.size.inputs, scratch + tile * conv.size.inputs, layout.in_step);
  }
}

void write_tiles(const Conv& conv, const Block& block, const Scratch& layout, const float* products,
                 int64_t width, Range channels) {
  const Windows::Axis &ys = conv.size.windows.y, &xs = conv.size.windows.x;
  TileOut out{.step = layout.out_step,
              .y_pixel = conv.y_pixel,
              .y_row = xs.out * conv.y_pixel,
              .start_pixel = conv.start_pixel,
              .start_row = xs.out * conv.start_pixel,
              .low = conv.low,
              .high = conv.high};
  for (int64_t tile = 0; tile < block.tiles(); ++tile) {
    const int64_t row = block.rows.begin + tile / block.across() * kOut,
                  pixel = block.pixels.begin + tile % block.across() * kOut;
    const int64_t first = (block.n * ys.out + row) * xs.out + pixel;
    out.from = products + tile * width;
    out.y = conv.y + first * conv.y_pixel + channels.begin;
    if (conv.start) out.start = conv.start + first * conv.start_pixel + channels.begin;
    out.rows = std::min<int64_t>(kOut, block.rows.end - row);
    out.pixels = std::min<int64_t>(kOut, block.pixels.end - pixel);
    tile_out(out, channels.count());
  }
  if (!conv.finish) return;
  const int64_t begin = (block.n * ys.out + block.rows.begin) * xs.out,
                end = (block.n * ys.out + block.rows.end) * xs.out;
  if (block.pixels.count() == xs.out) return conv.finish(conv.context, {begin, end}, channels);
  for (int64_t row = begin; row < end; row += xs.out)
    conv.finish(conv.context, {row + block.pixels.begin, row + block.pixels.end}, channels);
}

void run(const Conv& conv, const ConvBlocks& b, int64_t index, float* all_scratch) {
  const ConvPanels all(conv.size);
  const int64_t height = conv.size.windows.y.out, width = conv.size.windows.x.out;
  const int64_t row_blocks = b.row_blocks / conv.size.batch, inputs = conv.size.inputs;
  const int64_t at_pixel = index % b.pixel_blocks * b.pixels,
                at_row = index / b.pixel_blocks % row_blocks * b.rows,
                at_panel = index / b.pixel_blocks / b.row_blocks * b.panels;
  const Block block{index / b.pixel_blocks / row_blocks % conv.size.batch,
                    {at_row, std::min(at_row + b.rows, height)},
                    {at_pixel, std::min(at_pixel + b.pixels, width)}};
  const Scratch layout(conv.size, divide_up(b.rows, kOut) * divide_up(b.pixels, kOut));
  int64_t* offsets = conv_offsets(all_scratch);
  for (int64_t c = 0; c < inputs; ++c) offsets[c] = c;
  float* scratch = reinterpret_cast<float*>(offsets + inputs);
  read_tiles(conv, block, layout, scratch);
  float* products = scratch + layout.products();
  for (int64_t panel = at_panel; panel < std::min(at_panel + b.panels, all.count); ++panel) {
    const int64_t first = all.first_vector(panel) * kLanes, vectors = all.vectors_of(panel);
    const int64_t size = inputs * vectors * kLanes;  // of the weights of a product
    const float* weights = conv.weights + first * inputs * kProducts;
    for (int64_t i = 0; i < kProducts; ++i, weights += size)
      run_conv_pixels({.x = scratch + i * layout.in_step,
                       .x_pixel = inputs,
                       .offsets = offsets,
                       .inner = inputs,
                       .weights = weights,
                       .y = products + i * layout.out_step,
                       .y_pixel = vectors * kLanes,
                       .channels = vectors * kLanes,
                       .next = weights + size},
                      vectors, block.tiles(), divide_up(size, kConvLine));
    write_tiles(conv, block, layout, products, vectors * kLanes,
                {first, std::min(first + vectors * kLanes, all.channels)});
  }
}

ConvFunctions make() {
  return {.accepts = accepts,
          .panels = panels,
          .packed_size = packed_size,
          .pack = pack,
          .blocks = blocks,
          .run = run};
}

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
ConvFunctions winograd(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
