// Winograd's F(2 x 2, 3 x 3) of bytes: 4 pixels of a result by 16 products instead of 36, and
// exact. Weights are doubled along each axis, so that all numbers are integers of 16 bits and the
// sums are four times the result.
#pragma once

#include "rlx/vector/byte_gemm.h"
#include "rlx/vector/byte_windows.h"

namespace rlx::vector {

struct ByteWinograd {
  int64_t inputs = 0, outputs = 0;    // channels
  int64_t rows = 0, pixels = 0;       // of the result
  const uint32_t* picture = nullptr;  // see ByteWinogradCode::picture
  int32_t zero = 0;                   // its zero point
  const uint32_t* weights = nullptr;  // made by pack
};

// How it is cut: rows of tiles by tiles of a row by panels of channels.
struct ByteWinogradBlocks {
  int64_t row_blocks = 0, tile_blocks = 0, panel_blocks = 0;
  int64_t scratch_size = 0;  // words that each call of `run` needs for itself
  int64_t count() const { return row_blocks * tile_blocks * panel_blocks; }
};

// What a block gives, in its scratch: its first pixel's first channel is sums[0].
struct ByteWinogradPart {
  Range rows, pixels, channels;
  const int32_t* sums = nullptr;
  int64_t row = 0, pixel = 0;  // steps
};

// What is done to one tile.
struct ByteWinogradTiles {
  // 4 x 4 pixels of `count` numbers become 16 products' numbers, `step` apart.
  void (*in)(const int16_t* picture, int64_t row, int64_t pixel, int16_t four_zeros, int64_t count,
             int16_t* to, int64_t step);
  // Those products, `step` apart, become 2 x 2 pixels.
  void (*out)(const int32_t* products, int64_t step, int64_t count, int32_t* to, int64_t row,
              int64_t pixel);
};

class ByteWinogradCode {
 public:
  ByteWinogradCode(Isa isa, const ByteGemm& gemm);

  // Windows whose sums, times four, are integers of 32 bits, by a product of pairs: bytes that are
  // multiplied by fours gain nothing, nor do a few channels.
  bool accepts(const Windows& windows, int64_t inputs, int64_t outputs) const;
  // With pixels for whole tiles, to be taken as words of two numbers.
  static BytePicture picture(BytePicture whole);

  int64_t panels(int64_t outputs) const { return gemm_.panels(outputs); }
  int64_t packed_words(int64_t inputs, int64_t outputs) const {
    return kProducts * divide_up(inputs, 2) * gemm_.panels(outputs) * gemm_.panel_columns;
  }
  // Some panels of weights [outputs, inputs, 3, 3]; different panels may be packed at the same
  // time.
  void pack(const int8_t* weights, int64_t inputs, int64_t outputs, Range panels,
            uint32_t* packed) const;

  ByteWinogradBlocks blocks(const ByteWinograd& conv, int threads) const;
  // Different blocks may be computed at the same time.
  ByteWinogradPart run(const ByteWinograd& conv, const ByteWinogradBlocks& blocks, int64_t block,
                       uint32_t* scratch) const;

 private:
  static constexpr int64_t kProducts = 16;
  struct Scratch;
  Scratch scratch_of(const ByteWinograd& conv, int64_t rows, int64_t tiles, int64_t panels) const;

  ByteGemm gemm_;
  ByteWinogradTiles tiles_;
};

}  // namespace rlx::vector
