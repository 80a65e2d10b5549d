#include "rlx/vector/conv.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/conv.cpp"
#include "rlx/vector/each_isa.h"
// After it.
#include "rlx/vector/conv_tile.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

// A sum is one of parts of so many products at most: the weights of a part stay in the second cache
// while all pixels of a block meet them, and a sum of short sums is more exact than a long one.
constexpr int64_t kPart = 768;

bool accepts(const Conv& /*conv*/) { return true; }
int64_t panels(const ConvSize& size) { return size.groups * ConvPanels(size).count; }
int64_t packed_size(const ConvSize& size) {
  return size.groups * ConvPanels(size).packed_size(size.inner());
}

void pack(const ConvSize& size, const float* weights, Range range, float* packed) {
  const ConvPanels all(size);
  const int64_t inner = size.inner(), taps = size.taps(), inputs = size.inputs / size.groups;
  for (int64_t i = range.begin; i < range.end; ++i) {
    const int64_t group = i / all.count, panel = i % all.count;
    const int64_t first = all.first_vector(panel) * kLanes, width = all.vectors_of(panel) * kLanes;
    float* to = packed + group * all.packed_size(inner) + first * inner;
    for (int64_t lanes = 0; lanes < width; lanes += kLanes) {
      const int64_t there = std::min(kLanes, all.channels - first - lanes);
      const float* from = weights + (group * all.channels + first + lanes) * inner;
      // Weight k of each channel is that of input k / taps.
      const auto place = [&](int64_t k) {
        return to + (k % taps * inputs + k / taps) * width + lanes;
      };
      int64_t k = 0;
      if constexpr (kLanes % 4 == 0)
        for (; k + 4 <= inner && there == kLanes; k += 4) {
          alignas(64) float rows[4 * kLanes];
          for (int64_t j = 0; j < kLanes; j += 4)
            transpose4(from + j * inner + k, inner, rows + j, kLanes);
          for (int64_t row = 0; row < 4; ++row) store(load(rows + row * kLanes), place(k + row));
        }
      for (; k < inner; ++k) {
        float* at = place(k);
        for (int64_t j = 0; j < there; ++j) at[j] = from[j * inner + k];
        for (int64_t j = there; j < kLanes; ++j) at[j] = 0;
      }
    }
  }
}

// The picture as it is walked through: one whose windows are single pixels side by side is one row.
struct Walk {
  Windows windows;
  int64_t batch;
  bool copies;  // into padded rows of packed pixels
  bool planes;  // of a few channels, which stay apart in those rows
  int64_t channels;
  int64_t x_batch, x_row, x_pixel;  // of what the tiles read

  explicit Walk(const Conv& c)
      : windows(c.size.windows),
        batch(c.size.batch),
        channels(c.size.inputs),
        x_batch(c.x_batch),
        x_row(c.x_row),
        x_pixel(c.x_pixel) {
    Windows::Axis &y = windows.y, &x = windows.x;
    const bool inside = is_inside(y) && is_inside(x);
    copies = !inside || (c.x_channel != 1 && channels > 1);
    planes = c.x_pixel == 1 && c.x_channel != 1 && channels > 1 && channels < 4;
    if (inside && !copies && is_single(y) && is_single(x) &&
        (y.in == 1 || x_row == x.in * x_pixel) &&
        (batch == 1 || x_batch == y.in * x.in * x_pixel)) {
      x.in = x.out = batch * y.in * x.in;
      y.in = y.out = batch = 1;
    }
    if (copies) x_pixel = planes ? 1 : channels;
  }
  int64_t rows() const { return batch * windows.y.out; }
  static int64_t reach(const Windows::Axis& axis) { return (axis.window - 1) * axis.dilation + 1; }
  // How much of the input some of the result need.
  static int64_t under(const Windows::Axis& axis, int64_t count) {
    return (count - 1) * axis.stride + reach(axis);
  }
  int64_t scratch_size(int64_t rows, int64_t pixels) const {
    return copies ? under(windows.y, rows) * under(windows.x, pixels) * channels : 0;
  }

 private:
  static bool is_inside(const Windows::Axis& axis) {
    return axis.before == 0 && under(axis, axis.out) <= axis.in;
  }
  static bool is_single(const Windows::Axis& axis) { return axis.window == 1 && axis.stride == 1; }
};

ConvBlocks blocks(const Conv& conv, int threads) {
  constexpr int64_t kPixels = 240;         // that meet a part of the weights before the next
  constexpr int64_t kScratch = 48 * 1024;  // floats
  constexpr int64_t kSmall = 1 << 15;      // multiply-adds that are not worth another thread
  constexpr int64_t kLeastPixels = 24;     // of a block
  const Walk walk(conv);
  const int64_t height = walk.windows.y.out, width = walk.windows.x.out;
  const int64_t all_panels = panels(conv.size);
  ConvBlocks b;
  if (walk.rows() <= 0 || width <= 0 || all_panels == 0) return b;
  const int64_t wide = height == 1 ? kPixels : kPixels / 3;
  b.pixels = width <= wide * 3 / 2 ? width : part_of(width, divide_up(width, wide), 24);
  while (b.pixels > 24 && walk.scratch_size(1, b.pixels) > kScratch)
    b.pixels = part_of(width, divide_up(width, b.pixels / 2), 24);
  b.rows = std::clamp<int64_t>(kPixels / b.pixels, 1, height);
  while (b.rows > 1 && walk.scratch_size(b.rows, b.pixels) > kScratch) --b.rows;
  b.rows = part_of(height, divide_up(height, b.rows), 1);
  b.panels = all_panels;
  b.by_rows = parts_by_rows(conv.size);

  // More threads want more blocks: fewer panels at a time first where a block copies its pixels.
  const int64_t work =
      conv.size.pixels() * conv.size.outputs * std::max<int64_t>(1, conv.size.inner());
  const int64_t wanted = std::min<int64_t>(threads == 1 ? 1 : threads * 4, work / kSmall + 1);
  b.row_blocks = divide_up(height, b.rows) * walk.batch;
  b.pixel_blocks = divide_up(width, b.pixels);
  b.panel_blocks = 1;
  const auto cut = [&](int64_t& blocks, int64_t most) {
    blocks = std::max(blocks, std::min(blocks * divide_up(wanted, b.count()), most));
  };
  if (b.by_rows && !walk.copies) {
    // As many for each thread, so that its blocks begin where those of other layers do.
    const int64_t most = divide_up(width, kLeastPixels),
                  each = std::max<int64_t>(1, most / threads);
    cut(b.pixel_blocks, b.row_blocks > 1 ? most : std::min(width, each * threads));
  }
  cut(b.panel_blocks, all_panels);
  cut(b.row_blocks, height * walk.batch);
  b.row_blocks = b.row_blocks / walk.batch * walk.batch;
  cut(b.pixel_blocks, divide_up(width, kLeastPixels));
  b.rows = divide_up(height * walk.batch, b.row_blocks);
  b.pixels = divide_up(width, b.pixel_blocks);
  b.panels = divide_up(all_panels, b.panel_blocks);
  b.scratch_size = conv_offsets_size(conv.size.inner()) + walk.scratch_size(b.rows, b.pixels);
  return b;
}

HWY_INLINE void fill_zeros(float* to, int64_t count) {
  for (; count >= kLanes; count -= kLanes, to += kLanes) store(set(0.0f), to);
  for (int64_t i = 0; i < count; ++i) to[i] = 0;
}
HWY_INLINE void copy(const float* from, float* to, int64_t count) {
  for (; count >= kLanes; count -= kLanes, from += kLanes, to += kLanes) store(load(from), to);
  if (count > 0) store_part(load_part(from, count), to, count);
}

// Pixels of adjacent channels.
void copy_pixels(const float* from, int64_t pixel, int64_t channel, int64_t channels, int64_t count,
                 float* to) {
  if (channel == 1 || channels == 1) {
    if (pixel == channels) return copy(from, to, count * channels);
    for (int64_t i = 0; i < count; ++i) copy(from + i * pixel, to + i * channels, channels);
    return;
  }
  int64_t c = 0;
  if (pixel == 1)  // planes
    for (; c + 4 <= channels; c += 4) {
      int64_t i = 0;
      for (; i + 4 <= count; i += 4)
        transpose4(from + c * channel + i, channel, to + i * channels + c, channels);
      for (; i < count; ++i)
        for (int64_t j = c; j < c + 4; ++j) to[i * channels + j] = from[j * channel + i];
    }
  for (; c < channels; ++c)
    for (int64_t i = 0; i < count; ++i) to[i * channels + c] = from[c * channel + i * pixel];
}

// What lies under some pixels of some rows of the result, padding included.
void copy_under(const Conv& conv, const Walk& walk, int64_t n, Range rows, Range pixels,
                float* to) {
  const Windows::Axis &y = walk.windows.y, &x = walk.windows.x;
  const int64_t first_row = rows.begin * y.stride - y.before,
                first = pixels.begin * x.stride - x.before, width = Walk::under(x, pixels.count());
  const int64_t begin = std::clamp<int64_t>(-first, 0, width),
                end = std::clamp<int64_t>(x.in - first, begin, width);
  const float* from = conv.x + n * conv.x_batch + (first + begin) * conv.x_pixel;
  for (int64_t i = 0; i < Walk::under(y, rows.count()); ++i, to += width * walk.channels) {
    const int64_t row = first_row + i;
    if (row < 0 || row >= y.in || begin == end) {
      fill_zeros(to, width * walk.channels);
      continue;
    }
    if (walk.planes) {
      for (int64_t c = 0; c < walk.channels; ++c) {
        float* plane = to + c * width;
        fill_zeros(plane, begin);
        copy(from + row * conv.x_row + c * conv.x_channel, plane + begin, end - begin);
        fill_zeros(plane + end, width - end);
      }
      continue;
    }
    fill_zeros(to, begin * walk.channels);
    copy_pixels(from + row * conv.x_row, conv.x_pixel, conv.x_channel, walk.channels, end - begin,
                to + begin * walk.channels);
    fill_zeros(to + end * walk.channels, (width - end) * walk.channels);
  }
}

// What lies under a block.
struct Under {
  const float* x;          // its first pixel's first tap
  int64_t row, channel;    // from row to row, and from channel to channel
  const int64_t* offsets;  // of all that a window meets of one group
};

void write_offsets(const ConvSize& size, const Walk& walk, int64_t row, int64_t channel,
                   int64_t* to) {
  const Windows::Axis &y = walk.windows.y, &x = walk.windows.x;
  for (int64_t i = 0; i < y.window; ++i)
    for (int64_t j = 0; j < x.window; ++j)
      for (int64_t c = 0; c < size.inputs / size.groups; ++c)
        *to++ = i * y.dilation * row + j * x.dilation * walk.x_pixel + c * channel;
}

void run_panel(const Conv& conv, const Walk& walk, const Under& under, int64_t n, Range rows,
               Range pixels, int64_t index) {
  const ConvPanels all(conv.size);
  const Windows::Axis &y = walk.windows.y, &x = walk.windows.x;
  const int64_t group = index / all.count, panel = index % all.count, inner = conv.size.inner();
  const int64_t inputs = conv.size.inputs / conv.size.groups;
  const int64_t vectors = all.vectors_of(panel), first = all.first_vector(panel) * kLanes;
  const int64_t channels = std::min(vectors * kLanes, all.channels - first),
                channel = group * all.channels + first;
  const float* weights = conv.weights + group * all.packed_size(inner) + first * inner;

  ConvTile tile{.x_pixel = x.stride * walk.x_pixel, .y_pixel = conv.y_pixel, .channels = channels};
  const int64_t parts = std::max<int64_t>(1, divide_up(inner, kPart));
  const int64_t part = std::max<int64_t>(1, part_of(inner, parts, 1));
  for (int64_t at = 0; at == 0 || at < inner; at += part) {
    tile.offsets = under.offsets + at;
    tile.inner = std::min(part, inner - at);
    const bool last = at + part >= inner;
    tile.low = last ? conv.low : -std::numeric_limits<float>::infinity();
    tile.high = last ? conv.high : std::numeric_limits<float>::infinity();
    tile.weights = weights + at * vectors * kLanes;
    // Behind them lie those of the next part, or of the next panel.
    const int64_t size = tile.inner * vectors * kLanes;
    const int64_t tiles = rows.count() * conv_tiles(pixels.count(), vectors);
    tile.next_step = conv_next_step(size, tile.inner * tiles);
    int64_t ahead = size;
    tile.x = under.x + group * inputs * under.channel;
    for (int64_t row = rows.begin; row < rows.end; ++row, tile.x += y.stride * under.row) {
      const int64_t pixel = (n * y.out + row) * x.out + pixels.begin;
      tile.y = conv.y + pixel * conv.y_pixel + channel;
      tile.start = tile.y;
      tile.start_pixel = conv.y_pixel;
      if (at == 0) {
        tile.start = conv.start ? conv.start + pixel * conv.start_pixel + channel : nullptr;
        tile.start_pixel = conv.start_pixel;
      }
      tile.next = tile.weights + size + (size - ahead);
      ahead = run_conv_pixels(tile, vectors, pixels.count(), ahead);
    }
  }
}

// Where the channels of some panels begin.
int64_t first_channel(const ConvSize& size, int64_t panel) {
  const ConvPanels all(size);
  return panel / all.count * all.channels + all.first_vector(panel % all.count) * kLanes;
}

// All panels of a block at once: its pixels then lie end to end.
void finish_block(const Conv& conv, const Walk& walk, int64_t n, Range rows, Range pixels,
                  Range block_panels) {
  if (!conv.finish) return;
  const Range channels{first_channel(conv.size, block_panels.begin),
                       block_panels.end == panels(conv.size)
                           ? conv.size.outputs
                           : first_channel(conv.size, block_panels.end)};
  const Windows::Axis &y = walk.windows.y, &x = walk.windows.x;
  const int64_t begin = (n * y.out + rows.begin) * x.out, end = (n * y.out + rows.end) * x.out;
  if (pixels.count() == x.out) return conv.finish(conv.context, {begin, end}, channels);
  for (int64_t row = begin; row < end; row += x.out)
    conv.finish(conv.context, {row + pixels.begin, row + pixels.end}, channels);
}

void run(const Conv& conv, const ConvBlocks& b, int64_t block, float* scratch) {
  const Walk walk(conv);
  const Windows::Axis &y = walk.windows.y, &x = walk.windows.x;
  const int64_t row_blocks = b.row_blocks / walk.batch;
  const ConvBlocks::Place at = b.place(block);
  const int64_t n = at.row / row_blocks;
  const Range rows = part_at(at.row % row_blocks, row_blocks, y.out),
              pixels = part_at(at.pixel, b.pixel_blocks, x.out);
  int64_t* offsets = conv_offsets(scratch);
  float* copy = reinterpret_cast<float*>(offsets + conv.size.inner());
  const int64_t width = Walk::under(x, pixels.count());
  Under under{copy, width * walk.channels, walk.planes ? width : 1, offsets};
  if (walk.copies) {
    copy_under(conv, walk, n, rows, pixels, copy);
  } else {
    under.x = conv.x + n * walk.x_batch + rows.begin * y.stride * walk.x_row +
              pixels.begin * x.stride * walk.x_pixel;
    under.row = walk.x_row;
  }
  write_offsets(conv.size, walk, under.row, under.channel, offsets);
  const Range some = part_at(at.panel, b.panel_blocks, panels(conv.size));
  for (int64_t i = some.begin; i < some.end; ++i) run_panel(conv, walk, under, n, rows, pixels, i);
  finish_block(conv, walk, n, rows, pixels, some);
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

#if defined(RLX_HIGHWAY) && HWY_ARCH_X86 && defined(__GNUC__)
namespace {

// A processor that computes a vector of 512 bits in two halves loses nothing with vectors of 256,
// which fit better where half of the last one would be empty. By what decides how weights are
// packed, and nothing else.
struct Halves {
  static bool suit(const ConvSize& size) {
    const int64_t rest = size.outputs / size.groups % 16;
    return rest > 0 && rest <= 8;
  }
  static const ConvFunctions& of(const ConvSize& size) {
    static const ConvFunctions narrow = N_AVX2::make(), wide = N_AVX3::make();
    return suit(size) ? narrow : wide;
  }
  static int64_t panels(const ConvSize& size) { return of(size).panels(size); }
  static int64_t packed_size(const ConvSize& size) { return of(size).packed_size(size); }
  static void pack(const ConvSize& size, const float* weights, Range range, float* packed) {
    of(size).pack(size, weights, range, packed);
  }
  static ConvBlocks blocks(const Conv& conv, int threads) {
    return of(conv.size).blocks(conv, threads);
  }
  static void run(const Conv& conv, const ConvBlocks& blocks, int64_t block, float* scratch) {
    of(conv.size).run(conv, blocks, block, scratch);
  }
};

}  // namespace

ConvFunctions conv(Isa isa) {
  if (computes_in_halves(isa))
    return {.accepts = N_AVX3::make().accepts,
            .panels = Halves::panels,
            .packed_size = Halves::packed_size,
            .pack = Halves::pack,
            .blocks = Halves::blocks,
            .run = Halves::run};
  return RLX_OF_ISA(isa, make);
}
#else
ConvFunctions conv(Isa isa) { return RLX_OF_ISA(isa, make); }
#endif

}  // namespace rlx::vector
#endif
