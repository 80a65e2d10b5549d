// The picture under a convolution of bytes, as the right operand of a product of bytes: rows are
// what the taps of a window meet, columns the places of the result.
#pragma once

#include "rlx/vector/byte_gemm.h"
#include "rlx/vector/windows.h"

namespace rlx::vector {

// A word holds neighbouring channels of a pixel, so that a tap meets words side by side: the
// picture is made of words once, with its padding, and panels are copies of runs of them. Channels
// that fill a word, and what is outside, are the zero point.
struct ByteUnfold {
  const uint8_t* planes = nullptr;  // [channels, height, width], without gaps
  bool is_signed = false;
  uint8_t zero = 0;  // a byte as those of the planes
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
  int64_t words(const ByteGemm& gemm) const {  // of all that is reached
    return gemm.words(channels) * rows() * pixels();
  }
  // Products in a sum, those with what fills a word among them.
  int64_t inner(const ByteGemm& gemm) const { return taps() * gemm.words(channels) * gemm.in_word; }
};

// The picture as words [words of the channels, rows, pixels], and the sum of each pixel's numbers
// [rows, pixels]: some rows of all that is reached. Different rows may be made at the same time.
void take_picture(const ByteUnfold& unfold, const ByteGemm& gemm, Range rows, uint32_t* words,
                  int32_t* sums);

// Some panels of it in the layout of `gemm`, with the sums of their columns. Words of a column are
// counted through [taps, words of the channels].
void pack_unfolded(const ByteUnfold& unfold, const ByteGemm& gemm, const uint32_t* words,
                   const int32_t* pixel_sums, Range panels, uint32_t* packed, int32_t* sums);

// Weights [rows, channels, taps] as the left operand: words as above, and the sums of their rows.
void take_taps(const ByteUnfold& unfold, const ByteGemm& gemm, const void* weights, bool is_signed,
               Range rows, uint32_t* words, int32_t* sums);

}  // namespace rlx::vector
