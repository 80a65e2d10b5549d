// The picture under a convolution of bytes as the left operand of a product of bytes: its rows are
// what windows meet, and lie in the picture itself.
#pragma once

#include <vector>

#include "rlx/vector/byte_gemm.h"
#include "rlx/vector/windows.h"

namespace rlx::vector {

// Pixels become words side by side, with the padding that windows reach. Channels that fill a
// word, and what is outside, are the zero point.
struct BytePicture {
  const uint8_t* data = nullptr;
  int64_t channel = 1, pixel = 0, row = 0;  // steps in bytes
  bool is_signed = false;
  uint8_t zero = 0;  // a byte as those of the picture
  int64_t channels = 1;
  Windows windows = {};

  int64_t taps() const { return windows.y.window * windows.x.window; }
  int64_t places() const { return windows.y.out * windows.x.out; }
  // Rows and pixels that windows reach.
  static int64_t reached(const Windows::Axis& axis) {
    return (axis.out - 1) * axis.stride + (axis.window - 1) * axis.dilation + 1;
  }
  int64_t rows() const { return reached(windows.y); }
  int64_t pixels() const { return reached(windows.x); }
  int64_t deep(int64_t in_word) const { return (channels + in_word - 1) / in_word; }
  int64_t words(int64_t in_word) const { return rows() * pixels() * deep(in_word); }
  // Products in a sum, those with what fills a word among them.
  int64_t inner(int64_t in_word) const { return taps() * deep(in_word) * in_word; }
};

// Some rows of [rows, pixels, words of a pixel]: four bytes without a sign in a word, those of a
// signed picture with 128 added, or two numbers of 16 bits. Different rows may be made at the same
// time.
void take_pixels(const BytePicture& picture, int64_t in_word, Range rows, uint32_t* words);

// Where windows lie in it. Taps side by side are one piece.
struct WindowPieces {
  std::vector<int64_t> starts, offsets;
  int64_t words = 0;
  Windows windows = {};  // these are of
  int64_t deep = 0;

  // Does nothing where the picture has the extents of the one before.
  void find(const BytePicture& picture, int64_t in_word);
  BytePieces pieces() const {
    return {starts.data(), offsets.data(), static_cast<int64_t>(offsets.size()), words};
  }
};

// The sums of what some windows meet, for weights whose zero point is not 0.
void sum_windows(const WindowPieces& windows, int64_t in_word, const uint32_t* words, Range rows,
                 int32_t* sums);

// Some panels of the weights [outputs, channels, taps] as the right operand, with the sums of their
// columns.
void pack_taps(const BytePicture& picture, const ByteGemm& gemm, const void* weights,
               bool is_signed, int64_t outputs, Range panels, uint32_t* packed, int32_t* sums);

}  // namespace rlx::vector
