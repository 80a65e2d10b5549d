#include "rlx/vector/byte_winograd.h"

#include <algorithm>
#include <cstring>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/byte_winograd.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

// Vectors of 16-bit numbers.
#if defined(RLX_HIGHWAY)
constexpr hn::ScalableTag<int16_t> kHalves;
using H = hn::Vec<hn::ScalableTag<int16_t>>;
constexpr int64_t kHalfLanes = HWY_LANES(int16_t);
HWY_INLINE H load_halves(const int16_t* from) { return hn::LoadU(kHalves, from); }
HWY_INLINE void store_halves(H x, int16_t* to) { hn::StoreU(x, kHalves, to); }
HWY_INLINE H set_half(int16_t x) { return hn::Set(kHalves, x); }
#else
using H = int16_t __attribute__((vector_size(16)));
constexpr int64_t kHalfLanes = 8;
HWY_INLINE H load_halves(const int16_t* from) {
  H x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
HWY_INLINE void store_halves(H x, int16_t* to) { std::memcpy(to, &x, sizeof x); }
HWY_INLINE H set_half(int16_t x) { return H{x, x, x, x, x, x, x, x}; }
#endif

// Four pixels of an axis, and what meets the weights.
HWY_INLINE void transform_in(const H (&x)[4], H (&y)[4]) {
  y[0] = x[0] - x[2];
  y[1] = x[2] + x[1];
  y[2] = x[2] - x[1];
  y[3] = x[3] - x[1];
}
HWY_INLINE void tile_in_vector(const int16_t* from, int64_t row, int64_t pixel, H four_zeros,
                               int16_t* to, int64_t step) {
  H half[4][4], x[4], y[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) x[i] = load_halves(from + i * row + j * pixel);
    transform_in(x, y);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) half[i][j] = y[i];
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    transform_in(half[i], y);
    // The others are differences, which have no zero point.
    if (i == 1) y[1] = y[1] - four_zeros;
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j, to += step) store_halves(y[j], to);
  }
}
// `count` numbers of each pixel, which are a vector at least: the last ones are made twice.
void tile_in(const int16_t* from, int64_t row, int64_t pixel, int16_t four_zeros, int64_t count,
             int16_t* to, int64_t step) {
  const H zeros = set_half(four_zeros);
  for (int64_t c = 0; c + kHalfLanes <= count; c += kHalfLanes)
    tile_in_vector(from + c, row, pixel, zeros, to + c, step);
  if (const int64_t c = count - kHalfLanes; count % kHalfLanes != 0)
    tile_in_vector(from + c, row, pixel, zeros, to + c, step);
}

HWY_INLINE I low_of(I a, I b, I c) { return a + (b + c); }
HWY_INLINE I high_of(I b, I c, I d) { return (b - c) + d; }
// `count` channels in whole vectors.
void tile_out(const int32_t* from, int64_t step, int64_t count, int32_t* to, int64_t row,
              int64_t pixel) {
  for (int64_t c = 0; c < count; c += kLanes, from += kLanes, to += kLanes) {
    I low[4], high[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const int32_t* at = from + j * step;
      const I b = load_integers(at + 4 * step), d = load_integers(at + 8 * step);
      low[j] = low_of(load_integers(at), b, d);
      high[j] = high_of(b, d, load_integers(at + 12 * step));
    }
    store_integers(shift_right<2>(low_of(low[0], low[1], low[2])), to);
    store_integers(shift_right<2>(high_of(low[1], low[2], low[3])), to + pixel);
    store_integers(shift_right<2>(low_of(high[0], high[1], high[2])), to + row);
    store_integers(shift_right<2>(high_of(high[1], high[2], high[3])), to + row + pixel);
  }
}

ByteWinogradTiles make() { return {tile_in, tile_out}; }

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
namespace {

constexpr int64_t kApart = 16;  // words between products: their lines are of different sets
constexpr int64_t kTogether = 8;
using Numbers = int16_t __attribute__((vector_size(2 * kTogether)));  // of as many channels

// Three taps of an axis and what products have of them, both `step` apart; twice their size.
void transform_weights(const Numbers* from, int64_t from_step, Numbers* to, int64_t to_step) {
  const Numbers x = from[0], y = from[from_step], z = from[2 * from_step];
  to[0] = x + x;
  to[to_step] = x + z + y;
  to[2 * to_step] = x + z - y;
  to[3 * to_step] = z + z;
}

}  // namespace

// Where things lie in a scratch: the tiles of the picture, products of a panel, the sums.
struct ByteWinogradCode::Scratch {
  int64_t in_step, products, out_step, no_sums, sums, pixel, row, end;
};
ByteWinogradCode::Scratch ByteWinogradCode::scratch_of(const ByteWinograd& conv, int64_t rows,
                                                       int64_t tiles, int64_t panels) const {
  const int64_t count = rows * tiles;
  Scratch s{};
  s.in_step = count * divide_up(conv.inputs, 2) + kApart;
  s.products = kProducts * s.in_step;
  s.out_step = count * gemm_.panel_columns + kApart;
  s.no_sums = s.products + kProducts * s.out_step;
  s.sums = s.no_sums + gemm_.panel_columns;
  s.pixel = panels * gemm_.panel_columns;
  s.row = 2 * tiles * s.pixel;
  s.end = s.sums + 2 * rows * s.row;
  return s;
}

ByteWinogradCode::ByteWinogradCode(Isa isa, const ByteGemm& gemm)
    : gemm_(gemm), tiles_(RLX_OF_ISA(isa, make)) {}

bool ByteWinogradCode::accepts(const Windows& windows, int64_t inputs, int64_t outputs) const {
  // 4 * 9 * 255 * 128 of each input stay below 2^31; and a vector of 32 numbers is the widest.
  constexpr int64_t kLeastInputs = 32, kMostInputs = 1024, kLeastOutputs = 16, kLeastOut = 4;
  const auto fits = [](const Windows::Axis& a) {
    return a.window == 3 && a.stride == 1 && a.dilation == 1 && a.out >= kLeastOut;
  };
  return gemm_.in_word == 2 && fits(windows.y) && fits(windows.x) && inputs >= kLeastInputs &&
         inputs <= kMostInputs && outputs >= kLeastOutputs;
}

void ByteWinogradCode::pack(const int8_t* weights, int64_t inputs, int64_t outputs, Range panels,
                            uint32_t* packed) const {
  constexpr int64_t kWords = kTogether / 2;
  const int64_t width = gemm_.panel_columns, words = divide_up(inputs, 2);
  std::vector<Numbers> taps(static_cast<size_t>(9 * width));
  std::vector<uint32_t> block(static_cast<size_t>(kProducts * kWords * width));
  for (int64_t panel = panels.begin; panel < panels.end; ++panel)
    for (int64_t first = 0; first < words; first += kWords) {
      // All columns before any is read again, or each vector would wait for what was just written.
      std::fill(taps.begin(), taps.end(), Numbers{});
      const int64_t here = std::min(width, outputs - panel * width),
                    channels = std::min(kTogether, inputs - 2 * first);
      auto* to = reinterpret_cast<int16_t*>(taps.data());
      for (int64_t j = 0; j < here; ++j, to += 9 * kTogether) {
        const int8_t* from = weights + ((panel * width + j) * inputs + 2 * first) * 9;
        for (int64_t c = 0; c < channels; ++c, from += 9)
#pragma GCC unroll 9
          for (int64_t tap = 0; tap < 9; ++tap) to[tap * kTogether + c] = from[tap];
      }
      for (int64_t j = 0; j < width; ++j) {
        Numbers half[12], all[kProducts];
        for (int64_t x = 0; x < 3; ++x) transform_weights(&taps[size_t(j * 9 + x)], 3, half + x, 3);
        for (int64_t y = 0; y < 4; ++y) transform_weights(half + y * 3, 1, all + y * 4, 1);
        uint32_t pairs[kProducts * kWords];
        std::memcpy(pairs, all, sizeof pairs);
        for (int64_t i = 0; i < kProducts * kWords; ++i) block[size_t(i * width + j)] = pairs[i];
      }
      const int64_t count = std::min(kWords, words - first);
      for (int64_t i = 0; i < kProducts; ++i)
        std::copy_n(&block[size_t(i * kWords * width)], count * width,
                    packed + ((panel * kProducts + i) * words + first) * width);
    }
}

BytePicture ByteWinogradCode::picture(BytePicture whole) {
  for (Windows::Axis* axis : {&whole.windows.y, &whole.windows.x})
    axis->out = divide_up(axis->out, 2) * 2;
  return whole;
}

ByteWinogradBlocks ByteWinogradCode::blocks(const ByteWinograd& conv, int threads) const {
  constexpr int64_t kPicture = 4096, kLeast = 16, kMost = 48;  // words of a product; tiles
  constexpr int64_t kSums = 40 * 1024;                         // words
  const int64_t rows = divide_up(conv.rows, 2), tiles = divide_up(conv.pixels, 2),
                panels = gemm_.panels(conv.outputs),
                most = std::clamp(kPicture / divide_up(conv.inputs, 2), kLeast, kMost);
  ByteWinogradBlocks b;
  b.tile_blocks = divide_up(tiles, most);
  const int64_t across = divide_up(tiles, b.tile_blocks);
  b.row_blocks = divide_up(rows, std::max<int64_t>(1, most / across));
  if (threads > 1) b.row_blocks = std::min(rows, divide_up(b.row_blocks, threads) * threads);
  const int64_t down = divide_up(rows, b.row_blocks);
  b.panel_blocks = divide_up(4 * down * across * panels * gemm_.panel_columns, kSums);
  // A tile is made in a small part of the time that its products take: it may be made again.
  if (const int64_t parts = b.row_blocks * b.tile_blocks; threads > 1 && parts < 4 * threads)
    b.panel_blocks = std::max(b.panel_blocks, divide_up(4 * threads, parts));
  b.panel_blocks = std::clamp<int64_t>(b.panel_blocks, 1, panels);
  b.scratch_size = scratch_of(conv, down, across, divide_up(panels, b.panel_blocks)).end;
  return b;
}

ByteWinogradPart ByteWinogradCode::run(const ByteWinograd& conv, const ByteWinogradBlocks& b,
                                       int64_t block, uint32_t* scratch) const {
  const int64_t words = divide_up(conv.inputs, 2), width = gemm_.panel_columns;
  const int64_t all_tiles = divide_up(conv.pixels, 2), places = b.row_blocks * b.tile_blocks,
                place = block % places;
  const Range rows = part_at(place / b.tile_blocks, b.row_blocks, divide_up(conv.rows, 2)),
              tiles = part_at(place % b.tile_blocks, b.tile_blocks, all_tiles),
              panels = part_at(block / places, b.panel_blocks, gemm_.panels(conv.outputs));
  const int64_t across = tiles.count(), count = rows.count() * across;
  const Scratch s = scratch_of(conv, rows.count(), across, panels.count());

  const int64_t pixel = 2 * words, row = (2 * all_tiles + 2) * pixel;
  const auto* picture = reinterpret_cast<const int16_t*>(conv.picture);
  auto* made = reinterpret_cast<int16_t*>(scratch);
  const auto four_zeros = static_cast<int16_t>(4 * conv.zero);
  for (int64_t y = rows.begin; y < rows.end; ++y)
    for (int64_t x = tiles.begin; x < tiles.end; ++x, made += pixel)
      tiles_.in(picture + 2 * y * row + 2 * x * pixel, row, pixel, four_zeros, pixel, made,
                2 * s.in_step);

  auto* const products = reinterpret_cast<int32_t*>(scratch + s.products);
  auto* const no_sums = reinterpret_cast<int32_t*>(scratch + s.no_sums);
  auto* const sums = reinterpret_cast<int32_t*>(scratch + s.sums);
  std::fill(no_sums, no_sums + width, 0);
  ByteProduct product{.rows = count,
                      .columns = width,
                      .inner = pixel,
                      .b_sums = no_sums,
                      .more_b = true,
                      .c_row = width};
  for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
    for (int64_t i = 0; i < kProducts; ++i) {
      product.a = scratch + i * s.in_step;
      product.b = conv.weights + (panel * kProducts + i) * words * width;
      product.c = products + i * s.out_step;
      gemm_.run(product, {0, count}, {0, 1});
    }
    int32_t* to = sums + (panel - panels.begin) * width;
    for (int64_t y = 0; y < rows.count(); ++y, to += 2 * s.row)
      for (int64_t x = 0; x < across; ++x)
        tiles_.out(products + (y * across + x) * width, s.out_step, width, to + 2 * x * s.pixel,
                   s.row, s.pixel);
  }
  return {{2 * rows.begin, std::min(2 * rows.end, conv.rows)},
          {2 * tiles.begin, std::min(2 * tiles.end, conv.pixels)},
          {panels.begin * width, std::min(panels.end * width, conv.outputs)},
          sums,
          s.row,
          s.pixel};
}

}  // namespace rlx::vector
#endif
