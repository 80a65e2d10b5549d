// Products of matrices of bytes, summed in i32. Both sides are laid out in words of 32 bits that
// hold neighbours of the inner dimension: four bytes where the processor multiplies and adds four
// at a time, else two numbers of 16 bits, which no sum of two products overflows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rlx/vector/gemm.h"
#include "rlx/vector/isa.h"
#include "rlx/vector/range.h"

namespace rlx::vector {

struct ByteMatrix {
  const void* data = nullptr;
  bool is_signed = false;
  int64_t row = 0, column = 1;
};

// Rows that lie in pieces, such as what a window meets of a picture: row i is the words from
// starts[i] + offsets[p] on, for each piece p.
struct BytePieces {
  const int64_t* starts = nullptr;  // null: rows of one piece, one behind the other
  const int64_t* offsets = nullptr;
  int64_t count = 1, words = 0;
};

// c[i][j] = sum over k of (a[i][k] - a_zero[i]) * (b[k][j] - b_zero[j]).
struct ByteProduct {
  int64_t rows = 0, columns = 0, inner = 0;
  const uint32_t* a = nullptr;  // made by take_rows, with the sums of its rows
  BytePieces pieces = {};       // where they are not one behind the other
  const int32_t* a_sums = nullptr;
  const uint32_t* b = nullptr;  // made by pack, with the sums of its columns
  const int32_t* b_sums = nullptr;
  bool more_b = false;  // behind its panels are those that will be read next
  // Of the numbers as they are laid out: see a_shift, b_shift. A null b_zero is 0.
  const int32_t* a_zero = nullptr;
  int64_t a_zero_step = 0;
  const int32_t* b_zero = nullptr;  // one for each column of whole panels
  int32_t* c = nullptr;
  int64_t c_row = 0;
};

struct ByteGemm {
  int64_t panel_columns, tile_rows, in_word;  // numbers in a word

  int64_t panels(int64_t columns) const { return (columns + panel_columns - 1) / panel_columns; }
  int64_t words(int64_t inner) const { return (inner + in_word - 1) / in_word; }
  int64_t packed_words(int64_t inner, int64_t columns) const {
    return words(inner) * panels(columns) * panel_columns;
  }
  // What is added to a number so that it fits its word, and so must be to its zero point.
  int32_t a_shift(bool is_signed) const { return in_word == 4 && is_signed ? 128 : 0; }
  int32_t b_shift(bool is_signed) const { return in_word == 4 && !is_signed ? -128 : 0; }

  Blocks blocks(const ByteProduct& product, int threads) const {
    return blocks_of(
        {product.rows, product.columns, words(product.inner), panel_columns, tile_rows, true},
        threads);
  }

  // `sums` has a number for each column of whole panels.
  void (*pack)(const ByteMatrix& b, int64_t inner, int64_t columns, Range panels, uint32_t* packed,
               int32_t* sums);
  // Rows of a; null sums are not made.
  void (*take_rows)(const ByteMatrix& a, int64_t inner, Range rows, uint32_t* to, int32_t* sums);
  // A block of c; different blocks may be computed at the same time.
  void (*run)(const ByteProduct& product, Range rows, Range panels);
};

// Has the processor products of four bytes at a time?
bool multiplies_bytes();
ByteGemm byte_gemm(Isa isa, bool by_fours = multiplies_bytes());

// The product, on a team or any other that has run(count, grain, body(begin, end)).
template <class Team>
void multiply(const ByteProduct& product, const ByteGemm& gemm, Team& team) {
  each_block(gemm.blocks(product, team.threads()), product.rows, gemm.panels(product.columns), team,
             [&](Range rows, Range panels) { gemm.run(product, rows, panels); });
}

}  // namespace rlx::vector
