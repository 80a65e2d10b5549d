// Winograd's F(4 x 4, 3 x 3): 16 pixels of the result from 36 of the picture by 36 products instead
// of 144; and F(2 x 2, 3 x 3): 4 pixels from 16 by 16 products instead of 36.
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

constexpr double kRoot = 1.41421356237309504880;  // of 2
constexpr int64_t kApart = 16;  // floats between the products: their lines are of different sets

// One vector of channels in f64: rounding is left to the end. Loops over lanes become vectors.
struct Doubles {
  double lane[kLanes];
};

// What tiles of 4 pixels and of 2 do to one axis: three taps become `in` (those of `from` and `to`
// lie so many apart), as do the pixels of the picture, and products become pixels of the result.

// At the points 0, ±sqrt(1/2), ±sqrt(2) and infinity, whose factors are near 1.
struct Four {
  static constexpr int out = 4, in = 6;

  static HWY_INLINE void transform_weights(const Doubles* from, int from_step, Doubles* to,
                                           int to_step) {
    for (int64_t j = 0; j < kLanes; ++j) {
      const double x = from[0].lane[j], y = from[from_step].lane[j],
                   z = from[2 * from_step].lane[j];
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
  static HWY_INLINE void transform_in(const F (&x)[in], F (&y)[in]) {
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
  static HWY_INLINE void transform_out(const F (&x)[in], F (&y)[out]) {
    constexpr auto root = static_cast<float>(kRoot);
    const F a = x[1] + x[2], b = x[1] - x[2], c = x[3] + x[4], d = x[3] - x[4];
    y[0] = x[0] + (a + c);
    y[1] = mul_add(set(root / 2), b, set(root) * d);
    y[2] = mul_add(set(0.5f), a, set(2.0f) * c);
    y[3] = mul_add(set(root / 4), b, mul_add(set(root * 2), d, x[5]));
  }
};

// At the points 0, ±1 and infinity.
struct Two {
  static constexpr int out = 2, in = 4;

  static HWY_INLINE void transform_weights(const Doubles* from, int from_step, Doubles* to,
                                           int to_step) {
    for (int64_t j = 0; j < kLanes; ++j) {
      const double x = from[0].lane[j], y = from[from_step].lane[j],
                   z = from[2 * from_step].lane[j];
      to[0].lane[j] = x;
      to[to_step].lane[j] = (x + z + y) / 2;
      to[2 * to_step].lane[j] = (x + z - y) / 2;
      to[3 * to_step].lane[j] = z;
    }
  }
  static HWY_INLINE void transform_in(const F (&x)[in], F (&y)[in]) {
    y[0] = x[0] - x[2];
    y[1] = x[2] + x[1];
    y[2] = x[2] - x[1];
    y[3] = x[3] - x[1];
  }
  static HWY_INLINE void transform_out(const F (&x)[in], F (&y)[out]) {
    y[0] = x[0] + (x[1] + x[2]);
    y[1] = (x[1] - x[2]) + x[3];
  }
};
template <class Tiles>
constexpr int kProducts = Tiles::in* Tiles::in;

bool accepts(const Conv& conv) {
  const ConvSize& size = conv.size;
  const auto fits = [](const Windows::Axis& a) {
    return a.window == 3 && a.stride == 1 && a.dilation == 1;
  };
  return fits(size.windows.y) && fits(size.windows.x) && size.groups == 1 && conv.x_channel == 1 &&
         size.inputs > 0 && size.inputs <= 4096;
}

int64_t panels(const ConvSize& size) { return ConvPanels(size).count; }
template <class Tiles>
int64_t packed_size(const ConvSize& size) {
  return kProducts<Tiles> * ConvPanels(size).packed_size(size.inputs);
}

// Weights.

// [products, inputs, panel] of each panel.
template <class Tiles>
HWY_NOINLINE void pack_lanes(const float* weights, int64_t inputs, int64_t there, float* to,
                             int64_t width) {
  Doubles taps[9] = {}, half[Tiles::in * 3], all[kProducts<Tiles>];
  for (int64_t c = 0; c < inputs; ++c) {
    for (int64_t j = 0; j < there; ++j) {
      const float* from = weights + (j * inputs + c) * 9;
      for (int i = 0; i < 9; ++i) taps[i].lane[j] = static_cast<double>(from[i]);
    }
    for (int k = 0; k < 3; ++k) Tiles::transform_weights(taps + k, 3, half + k, 3);
    for (int i = 0; i < Tiles::in; ++i)
      Tiles::transform_weights(half + i * 3, 1, all + i * Tiles::in, 1);
    for (int i = 0; i < kProducts<Tiles>; ++i) {
      float* at = to + (i * inputs + c) * width;
      for (int64_t j = 0; j < kLanes; ++j) at[j] = static_cast<float>(all[i].lane[j]);
    }
  }
}
template <class Tiles>
void pack(const ConvSize& size, const float* weights, Range range, float* packed) {
  const ConvPanels all(size);
  const int64_t inputs = size.inputs;
  for (int64_t panel = range.begin; panel < range.end; ++panel) {
    const int64_t first = all.first_vector(panel) * kLanes, width = all.vectors_of(panel) * kLanes;
    for (int64_t j = 0; j < width; j += kLanes)
      pack_lanes<Tiles>(weights + (first + j) * inputs * 9, inputs,
                        std::min(kLanes, all.channels - first - j),
                        packed + first * inputs * kProducts<Tiles> + j, width);
  }
}

// The picture.

// One vector of channels of one tile. `from` are its pixels, `to` has the products `step` apart.
template <class Tiles, bool whole>
HWY_INLINE void tile_in(const float* const* from, int64_t channel, int64_t channels, float* to,
                        int64_t step) {
  F half[Tiles::in][Tiles::in], x[Tiles::in], y[Tiles::in];
#pragma GCC unroll 1
  for (int j = 0; j < Tiles::in; ++j) {
#pragma GCC unroll 8
    for (int i = 0; i < Tiles::in; ++i) {
      const float* pixel = from[i * Tiles::in + j] + channel;
      x[i] = whole ? load(pixel) : load_part(pixel, channels);
    }
    Tiles::transform_in(x, y);
#pragma GCC unroll 8
    for (int i = 0; i < Tiles::in; ++i) half[i][j] = y[i];
  }
#pragma GCC unroll 1
  for (int i = 0; i < Tiles::in; ++i) {
    Tiles::transform_in(half[i], y);
#pragma GCC unroll 8
    for (int j = 0; j < Tiles::in; ++j, to += step) {
      if (whole)
        store(y[j], to);
      else
        store_part(y[j], to, channels);
    }
  }
}
template <class Tiles>
HWY_NOINLINE void tile_in(const float* const* from, int64_t channels, float* to, int64_t step) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) tile_in<Tiles, true>(from, c, kLanes, to + c, step);
  if (c < channels) tile_in<Tiles, false>(from, c, channels - c, to + c, step);
}

// The result.

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
template <class Tiles, bool whole>
HWY_INLINE void tile_out(const TileOut& t, int64_t channel, int64_t channels) {
  F half[Tiles::out][Tiles::in], x[Tiles::in], y[Tiles::out];
#pragma GCC unroll 1
  for (int j = 0; j < Tiles::in; ++j) {
#pragma GCC unroll 8
    for (int i = 0; i < Tiles::in; ++i)
      x[i] = load(t.from + (i * Tiles::in + j) * t.step + channel);
    Tiles::transform_out(x, y);
#pragma GCC unroll 4
    for (int i = 0; i < Tiles::out; ++i) half[i][j] = y[i];
  }
#pragma GCC unroll 1
  for (int i = 0; i < t.rows; ++i) {
    Tiles::transform_out(half[i], y);
#pragma GCC unroll 4
    for (int j = 0; j < Tiles::out; ++j) {
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
template <class Tiles>
HWY_NOINLINE void tile_out(const TileOut& t, int64_t channels) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) tile_out<Tiles, true>(t, c, kLanes);
  if (c < channels) tile_out<Tiles, false>(t, c, channels - c);
}

// Blocks of tiles.

// Where a block's tiles lie in its scratch: matrices of the picture, one for each product, those of
// some panels' results, and a pixel of padding.
template <class Tiles>
struct Scratch {
  int64_t panels;  // whose results are held at once, so that the picture is read less often
  int64_t in_step, out_step;
  Scratch(const ConvSize& size, int64_t tiles)
      : panels(std::max<int64_t>(1, kHeld / (kProducts<Tiles> * tiles * kWidth))),
        in_step(tiles * size.inputs + kApart),
        out_step(tiles * std::min(panels, ConvPanels(size).count) * kWidth + kApart) {}
  int64_t products() const { return kProducts<Tiles> * in_step; }
  int64_t padding() const { return products() + kProducts<Tiles> * out_step; }

 private:
  static constexpr int64_t kWidth = kConvVectors * kLanes, kHeld = 64 * 1024;  // floats
};

template <class Tiles>
ConvBlocks blocks(const Conv& conv, int threads) {
  constexpr int64_t kPicture = 160 * 1024;  // floats, of a block
  constexpr int64_t kTiles = 48;
  const ConvSize& size = conv.size;
  const Windows::Axis &y = size.windows.y, &x = size.windows.x;
  ConvBlocks b;
  b.panels = panels(size);
  if (size.pixels() <= 0 || b.panels == 0) return b;
  const int64_t most = std::clamp<int64_t>(kPicture / (kProducts<Tiles> * size.inputs), 8, kTiles);
  const int64_t tile_rows = divide_up(y.out, Tiles::out), tiles = divide_up(x.out, Tiles::out);
  const int64_t across = part_of(tiles, divide_up(tiles, most), 1);
  // As many rows as leave all threads about the same work.
  int64_t rows = 1, least = INT64_MAX;
  for (int64_t each = 1; each <= std::max<int64_t>(1, most / across) && each <= tile_rows; ++each) {
    const int64_t count = size.batch * divide_up(tile_rows, each) * divide_up(tiles, across);
    const int64_t longest = divide_up(count, threads) * each;
    if (longest <= least) least = longest, rows = each;
  }
  b.rows = std::min(rows * Tiles::out, y.out);
  b.pixels = std::min(across * Tiles::out, x.out);
  b.row_blocks = size.batch * divide_up(tile_rows, rows);
  b.pixel_blocks = divide_up(tiles, across);
  const int64_t pixel_blocks = b.row_blocks * b.pixel_blocks;
  if (pixel_blocks < threads) b.panels = part_of(b.panels, divide_up(threads, pixel_blocks), 1);
  b.panel_blocks = divide_up(panels(size), b.panels);
  b.scratch_size =
      conv_offsets_size(size.inputs) + Scratch<Tiles>(size, rows * across).padding() + size.inputs;
  return b;
}

// The tiles of some rows and pixels of the result.
template <class Tiles>
struct Block {
  int64_t n;
  Range rows, pixels;
  int64_t across() const { return divide_up(pixels.count(), Tiles::out); }
  int64_t tiles() const { return divide_up(rows.count(), Tiles::out) * across(); }
};

template <class Tiles>
void read_tiles(const Conv& conv, const Block<Tiles>& block, const Scratch<Tiles>& layout,
                float* scratch) {
  const Windows::Axis &ys = conv.size.windows.y, &xs = conv.size.windows.x;
  float* padding = scratch + layout.padding();
  std::fill(padding, padding + conv.size.inputs, 0.0f);
  const float* x = conv.x + block.n * conv.x_batch;
  for (int64_t tile = 0; tile < block.tiles(); ++tile) {
    const int64_t row = block.rows.begin + tile / block.across() * Tiles::out - ys.before,
                  pixel = block.pixels.begin + tile % block.across() * Tiles::out - xs.before;
    const float* from[kProducts<Tiles>];
    for (int64_t i = 0; i < Tiles::in; ++i)
      for (int64_t j = 0; j < Tiles::in; ++j) {
        const bool inside = row + i >= 0 && row + i < ys.in && pixel + j >= 0 && pixel + j < xs.in;
        from[i * Tiles::in + j] =
            inside ? x + (row + i) * conv.x_row + (pixel + j) * conv.x_pixel : padding;
      }
    tile_in<Tiles>(from, conv.size.inputs, scratch + tile * conv.size.inputs, layout.in_step);
  }
}

template <class Tiles>
void write_tiles(const Conv& conv, const Block<Tiles>& block, const Scratch<Tiles>& layout,
                 const float* products, int64_t width, Range channels) {
  const Windows::Axis &ys = conv.size.windows.y, &xs = conv.size.windows.x;
  TileOut out{.step = layout.out_step,
              .y_pixel = conv.y_pixel,
              .y_row = xs.out * conv.y_pixel,
              .start_pixel = conv.start_pixel,
              .start_row = xs.out * conv.start_pixel,
              .low = conv.low,
              .high = conv.high};
  for (int64_t tile = 0; tile < block.tiles(); ++tile) {
    const int64_t row = block.rows.begin + tile / block.across() * Tiles::out,
                  pixel = block.pixels.begin + tile % block.across() * Tiles::out;
    const int64_t first = (block.n * ys.out + row) * xs.out + pixel;
    out.from = products + tile * width;
    out.y = conv.y + first * conv.y_pixel + channels.begin;
    if (conv.start) out.start = conv.start + first * conv.start_pixel + channels.begin;
    out.rows = std::min<int64_t>(Tiles::out, block.rows.end - row);
    out.pixels = std::min<int64_t>(Tiles::out, block.pixels.end - pixel);
    tile_out<Tiles>(out, channels.count());
  }
  if (!conv.finish) return;
  const int64_t begin = (block.n * ys.out + block.rows.begin) * xs.out,
                end = (block.n * ys.out + block.rows.end) * xs.out;
  if (block.pixels.count() == xs.out) return conv.finish(conv.context, {begin, end}, channels);
  for (int64_t row = begin; row < end; row += xs.out)
    conv.finish(conv.context, {row + block.pixels.begin, row + block.pixels.end}, channels);
}

template <class Tiles>
void run(const Conv& conv, const ConvBlocks& b, int64_t index, float* all_scratch) {
  const ConvPanels all(conv.size);
  const int64_t height = conv.size.windows.y.out, width = conv.size.windows.x.out;
  const int64_t row_blocks = b.row_blocks / conv.size.batch, inputs = conv.size.inputs;
  const int64_t at_pixel = index % b.pixel_blocks * b.pixels,
                at_row = index / b.pixel_blocks % row_blocks * b.rows,
                at_panel = index / b.pixel_blocks / b.row_blocks * b.panels;
  const Block<Tiles> block{index / b.pixel_blocks / row_blocks % conv.size.batch,
                           {at_row, std::min(at_row + b.rows, height)},
                           {at_pixel, std::min(at_pixel + b.pixels, width)}};
  const Scratch<Tiles> layout(conv.size,
                              divide_up(b.rows, Tiles::out) * divide_up(b.pixels, Tiles::out));
  int64_t* offsets = conv_offsets(all_scratch);
  for (int64_t c = 0; c < inputs; ++c) offsets[c] = c;
  float* scratch = reinterpret_cast<float*>(offsets + inputs);
  read_tiles(conv, block, layout, scratch);
  float* products = scratch + layout.products();
  const auto channel = [&](int64_t panel) { return all.first_vector(panel) * kLanes; };
  const int64_t end = std::min(at_panel + b.panels, all.count);
  for (int64_t held = at_panel; held < end; held += layout.panels) {
    const Range panels{held, std::min(held + layout.panels, end)};
    const int64_t first = channel(panels.begin), held_width = channel(panels.end) - first;
    const auto weights = [&](int64_t i, int64_t panel) {
      const int64_t panel_width = all.vectors_of(panel) * kLanes;
      return conv.weights + (channel(panel) * kProducts<Tiles> + i * panel_width) * inputs;
    };
    for (int64_t i = 0; i < kProducts<Tiles>; ++i)
      for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
        const int64_t vectors = all.vectors_of(panel);
        const float* next = panel + 1 < panels.end     ? weights(i, panel + 1)
                            : i + 1 < kProducts<Tiles> ? weights(i + 1, panels.begin)
                                                       : weights(0, panels.end);
        const int64_t ahead = inputs * vectors * kLanes;
        run_conv_pixels(
            {.x = scratch + i * layout.in_step,
             .x_pixel = inputs,
             .offsets = offsets,
             .inner = inputs,
             .weights = weights(i, panel),
             .y = products + i * layout.out_step + channel(panel) - first,
             .y_pixel = held_width,
             .channels = vectors * kLanes,
             .next = next,
             .next_step = conv_next_step(ahead, inputs * conv_tiles(block.tiles(), vectors))},
            vectors, block.tiles(), ahead);
      }
    write_tiles(conv, block, layout, products, held_width,
                {first, std::min(first + held_width, all.channels)});
  }
}

template <class Tiles>
ConvFunctions made() {
  return {.accepts = accepts,
          .panels = panels,
          .packed_size = packed_size<Tiles>,
          .pack = pack<Tiles>,
          .blocks = blocks<Tiles>,
          .run = run<Tiles>};
}
ConvFunctions make() { return made<Four>(); }
ConvFunctions make_small() { return made<Two>(); }

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
ConvFunctions winograd(Isa isa) { return RLX_OF_ISA(isa, make); }
ConvFunctions winograd_small(Isa isa) { return RLX_OF_ISA(isa, make_small); }
}  // namespace rlx::vector
#endif
