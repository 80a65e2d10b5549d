// Windows that move over pictures whose channels lie side by side: vectors of channels, some pixels
// of a row in registers. How says what a tap does; the order of taps is that of the window for
// every pixel, however the picture is cut.
#if defined(RLX_VECTOR_WINDOW_WALK) == defined(HWY_TARGET_TOGGLE)
#ifdef RLX_VECTOR_WINDOW_WALK
#undef RLX_VECTOR_WINDOW_WALK
#else
#define RLX_VECTOR_WINDOW_WALK
#endif

#include <algorithm>
#include <utility>

#include "rlx/vector/conv.h"
#include "rlx/vector/load_elements.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {

constexpr int64_t kWalkPixels = 8;      // of a tile
constexpr int64_t kWalkChannels = 160;  // of a panel, at most

// The channels in parts as even as whole vectors can be.
struct ChannelPanels {
  int64_t channels, vectors, count;
  explicit ChannelPanels(int64_t all)
      : channels(all),
        vectors(divide_up(all, kLanes)),
        count(divide_up(vectors * kLanes, std::max(kLanes, kWalkChannels))) {}
  Range of(int64_t panel) const {
    return {panel * vectors / count * kLanes,
            std::min((panel + 1) * vectors / count * kLanes, channels)};
  }
};

// Strips of pixels so narrow that the rows under a window stay in the first cache.
inline ConvBlocks walk_blocks(const Conv& conv, int threads) {
  constexpr int64_t kStrip = 16, kSmall = 1 << 14;  // taps that are not worth another thread
  const Windows::Axis &y = conv.size.windows.y, &x = conv.size.windows.x;
  const int64_t panels = ChannelPanels(conv.size.outputs).count;
  ConvBlocks b;
  if (conv.size.pixels() <= 0 || panels == 0) return b;
  b.pixels = divide_up(x.out, divide_up(x.out, kStrip * 3 / 2));
  b.pixel_blocks = divide_up(x.out, b.pixels);
  b.panel_blocks = panels;
  const int64_t work = conv.size.pixels() * conv.size.outputs * conv.size.taps();
  const int64_t wanted = std::min<int64_t>(threads == 1 ? 1 : threads * 4, work / kSmall + 1);
  b.by_rows = parts_by_rows(conv.size);
  int64_t parts = divide_up(wanted, conv.size.batch * b.pixel_blocks * panels);
  if (b.by_rows && wanted > 1) parts = divide_up(parts, threads) * threads;
  parts = std::clamp<int64_t>(parts, 1, y.out);
  b.rows = divide_up(y.out, parts);
  b.row_blocks = parts * conv.size.batch;
  return b;
}

// Some pixels of one row, all channels of a panel.
struct WalkTile {
  const float* x = nullptr;        // under the first pixel's first tap
  int64_t x_pixel = 0, x_row = 0;  // from tap to tap
  int64_t stride = 0;              // floats, from pixel to pixel of the result
  int64_t taps = 0, rows = 0;      // of the window, that meet the picture
  int64_t left = 0, right = 0;     // pixels under the tile that are padding
  const float* weights = nullptr;  // of the first tap: [rows, row of taps, channels]
  int64_t weight_tap = 0, weight_row = 0;
  float* y = nullptr;
  int64_t y_pixel = 0;
  int64_t row = 0, at = 0;  // of the result, where the first pixel is
  int64_t first = 0;        // pixels before that row
  int64_t channel = 0, channels = 0;
  bool twice = false;  // a channel may be computed again

  HWY_INLINE void move(int64_t count, bool weighs) {
    x += count;
    y += count;
    weights += weighs ? count : 0;
    channel += count;
  }
};

template <bool whole>
HWY_INLINE F load_channels(const float* from, [[maybe_unused]] int64_t channels) {
  if constexpr (whole)
    return load(from);
  else
    return load_part(from, channels);
}

// One vector of them. Windows of `window` taps side by side load each float once for all pixels
// whose windows it is in, and may be half outside; those of any size are inside.
template <class How, int window, int stride, bool whole, int pixels>
HWY_INLINE void run_walk_vector(const How& how, const WalkTile& t) {
  F totals[pixels];
  totals[0] = how.template start<whole>(t, 0);
  if (how.starts_alike()) {
#pragma GCC unroll 8
    for (int p = 1; p < pixels; ++p) totals[p] = totals[0];
  } else {
#pragma GCC unroll 8
    for (int p = 1; p < pixels; ++p) totals[p] = how.template start<whole>(t, p);
  }
  const float *row = t.x, *row_weights = t.weights;
#pragma GCC unroll 1
  for (int64_t i = t.rows; i > 0; --i, row += t.x_row, row_weights += t.weight_row) {
    const float *x = row, *weights = row_weights;
    if constexpr (window > 0) {
      constexpr int under = (pixels - 1) * stride + window;
      F taps[window];
#pragma GCC unroll 8
      for (int k = 0; k < window; ++k)
        taps[k] = How::weighs ? load(weights + k * t.weight_tap) : set(0.0f);
#pragma GCC unroll 32
      for (int at = 0; at < under; ++at, x += t.x_pixel) {
        F value = set(How::padding);
        if ((at >= window || at >= t.left) && (at < under - window || at < under - t.right)) {
          value = load(x);
          // What the next row of the result meets for the first time.
          if (i == 1) {
            __builtin_prefetch(x + t.x_row);
            if (stride > 1) __builtin_prefetch(x + 2 * t.x_row);
          }
        }
        keep_in_register(value);
#pragma GCC unroll 8
        for (int p = 0; p < pixels; ++p) {
          const int k = at - p * stride;
          if (k >= 0 && k < window) totals[p] = how.tap(totals[p], value, taps[k]);
        }
      }
    } else {
#pragma GCC unroll 1
      for (int64_t k = t.taps; k > 0; --k, x += t.x_pixel, weights += t.weight_tap) {
        const F tap = How::weighs ? load(weights) : set(0.0f);
#pragma GCC unroll 8
        for (int p = 0; p < pixels; ++p)
          totals[p] = how.tap(totals[p], load_channels<whole>(x + p * t.stride, t.channels), tap);
      }
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < pixels; ++p) {
    const F total = how.end(totals[p], t, p);
    float* to = t.y + p * t.y_pixel;
    if constexpr (whole)
      store(total, to);
    else
      store_part(total, to, t.channels);
  }
}
template <class How, int window, int stride, int pixels>
HWY_NOINLINE void run_walk_tile(const How& given, WalkTile t) {
  const How how = given;  // which no store writes over: it stays in registers
  for (;;) {
#pragma GCC unroll 1
    for (; t.channels >= kLanes; t.channels -= kLanes) {
      run_walk_vector<How, window, stride, true, pixels>(how, t);
      t.move(kLanes, How::weighs);
    }
    if (t.channels == 0 || !t.twice) return;
    t.move(t.channels - kLanes, How::weighs);  // the last vector again, and what is beyond it
    t.channels = kLanes;
  }
}
// The channels that are no whole vector, pixel by pixel.
template <class How>
HWY_NOINLINE void run_walk_rest(const How& how, WalkTile t, int64_t pixels) {
  const int64_t whole = t.channels / kLanes * kLanes;
  t.move(whole, How::weighs);
  t.channels -= whole;
  for (; pixels > 0; --pixels, t.x += t.stride, t.y += t.y_pixel, ++t.at)
    run_walk_vector<How, 0, 0, false, 1>(how, t);
}

// The taps of an axis that meet the picture at a place of the result.
inline Range taps_inside(const Windows::Axis& axis, int64_t place) {
  const int64_t first = place * axis.stride - axis.before;
  const int64_t begin = first >= 0 ? 0 : divide_up(-first, axis.dilation);
  const int64_t end = first >= axis.in ? 0 : divide_up(axis.in - first, axis.dilation);
  return {std::min(begin, axis.window), std::clamp(end, std::min(begin, axis.window), axis.window)};
}
// The places of the result whose windows are all inside.
inline Range places_inside(const Windows::Axis& axis) {
  const int64_t reach = (axis.window - 1) * axis.dilation + 1, room = axis.in - reach + axis.before;
  const int64_t begin = std::min(axis.out, divide_up(axis.before, axis.stride));
  const int64_t end = room < 0 ? 0 : std::min(axis.out, room / axis.stride + 1);
  return {begin, std::max(begin, end)};
}

// Some pixels of one row of the result.
template <class How, int window, int stride>
class RowWalk {
 public:
  RowWalk(const How& how, const Conv& conv, int64_t n, int64_t row, Range channels)
      : how_(how), conv_(conv), xs_(conv.size.windows.x), rows_(taps_inside(y_axis(), row)) {
    const Windows::Axis& ys = y_axis();
    // Channels of the weights, with those that fill the last vector.
    const int64_t padded = How::weighs ? divide_up(conv.size.outputs, kLanes) * kLanes : 0;
    tile_ = {.x_pixel = xs_.dilation * conv.x_pixel,
             .x_row = ys.dilation * conv.x_row,
             .stride = xs_.stride * conv.x_pixel,
             .rows = rows_.count(),
             .weight_tap = padded,
             .weight_row = xs_.window * padded,
             .y_pixel = conv.y_pixel,
             .row = row,
             .first = (n * ys.out + row) * xs_.out,
             .channel = channels.begin,
             .channels = channels.count(),
             .twice = channels.count() >= kLanes && (!conv.start || conv.start_pixel == 0)};
    rest_ = tile_.channels % kLanes && !tile_.twice;
    x_ = conv.x + n * conv.x_batch + channels.begin;
    if (rows_.count() > 0)
      x_ += (row * ys.stride - ys.before + rows_.begin * ys.dilation) * conv.x_row;
  }
  void run(Range pixels) {
    if (window > 0) {
      overlapping(pixels, std::make_index_sequence<kWalkPixels>());
      if (!rest_) return;
    }
    const Range inside = places_inside(xs_);
    for (int64_t at = pixels.begin; at < pixels.end;) {
      int64_t count = 1;
      if (at >= inside.begin && at < inside.end)
        count = std::min({inside.end, pixels.end, at + kWalkPixels}) - at;
      place(at, taps_inside(xs_, at));
      if (window == 0) any(count);
      if (rest_) run_walk_rest(how_, tile_, count);
      at += count;
    }
  }

 private:
  const Windows::Axis& y_axis() const { return conv_.size.windows.y; }
  void place(int64_t at, Range taps) {
    tile_.x = x_;
    tile_.taps = taps.count();
    if (taps.count() > 0)
      tile_.x += (at * xs_.stride - xs_.before + taps.begin * xs_.dilation) * conv_.x_pixel;
    if (How::weighs)
      tile_.weights = conv_.weights + rows_.begin * tile_.weight_row +
                      taps.begin * tile_.weight_tap + tile_.channel;
    tile_.at = at;
    tile_.y = conv_.y + (tile_.first + at) * conv_.y_pixel + tile_.channel;
  }
  void any(int64_t count) {
    if (count == kWalkPixels) return run_walk_tile<How, 0, 0, kWalkPixels>(how_, tile_);
    WalkTile tile = tile_;
    for (; count > 0; --count, tile.x += tile.stride, tile.y += tile.y_pixel, ++tile.at)
      run_walk_tile<How, 0, 0, 1>(how_, tile);
  }
  template <size_t... counts>
  void overlapping(Range pixels, std::index_sequence<counts...>) {
    using Run = void (*)(const How&, WalkTile);
    static constexpr Run all[] = {
        run_walk_tile<How, window, stride, static_cast<int>(counts) + 1>...};
    const int64_t tiles = divide_up(pixels.count(), kWalkPixels);
    for (int64_t i = 0, at = pixels.begin; i < tiles; ++i) {
      const int64_t count = pixels.count() / tiles + (i < pixels.count() % tiles ? 1 : 0);
      place(at, {0, window});
      tile_.left = std::max<int64_t>(0, xs_.before - at * stride);
      tile_.right = std::max<int64_t>(0, (at + count - 1) * stride + window - xs_.before - xs_.in);
      all[count - 1](how_, tile_);
      at += count;
    }
  }

  const How& how_;
  const Conv& conv_;
  const Windows::Axis& xs_;
  const Range rows_;
  WalkTile tile_;
  bool rest_;  // channels that are no whole vector
  const float* x_;
};

template <class How, int window, int stride>
void walk(const How& how, const Conv& conv, Range pixels, int64_t n, int64_t row, Range channels) {
  RowWalk<How, window, stride>(how, conv, n, row, channels).run(pixels);
}

template <class How>
using Walk = void (*)(const How& how, const Conv& conv, Range pixels, int64_t n, int64_t row,
                      Range channels);
template <class How>
Walk<How> walk_of(const Windows::Axis& x) {
  const auto is = [&](int64_t window, int64_t stride) {
    return x.window == window && x.stride == stride && x.dilation == 1 && x.before < window &&
           (x.out - 1) * stride - x.before < x.in;
  };
  if (is(3, 1)) return walk<How, 3, 1>;
  if (is(3, 2)) return walk<How, 3, 2>;
  if (is(5, 1)) return walk<How, 5, 1>;
  if (is(5, 2)) return walk<How, 5, 2>;
  return walk<How, 0, 0>;
}

template <class How>
void run_walk(const How& how, const Conv& conv, const ConvBlocks& b, int64_t block) {
  const int64_t height = conv.size.windows.y.out, width = conv.size.windows.x.out;
  const int64_t row_blocks = b.row_blocks / conv.size.batch;
  const ConvBlocks::Place at = b.place(block);
  const int64_t n = at.row / row_blocks;
  const Range rows = part_at(at.row % row_blocks, row_blocks, height),
              pixels = part_at(at.pixel, b.pixel_blocks, width);
  const Range channels = ChannelPanels(conv.size.outputs).of(at.panel);
  const Walk<How> walk = walk_of<How>(conv.size.windows.x);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    walk(how, conv, pixels, n, row, channels);
    const int64_t first = (n * height + row) * width;
    if (conv.finish)
      conv.finish(conv.context, {first + pixels.begin, first + pixels.end}, channels);
  }
}

}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
