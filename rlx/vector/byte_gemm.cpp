#include "rlx/vector/byte_gemm.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/byte_gemm.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

// A vector of b serves all rows of a tile and a word of a all its vectors: so narrow panels have
// more rows, as many as there are registers for their sums.
constexpr int kTileVectors = kRegisters == 32 ? 4 : 2;
constexpr int rows_of(int vectors) {
  return kRegisters < 32 ? 6 : vectors == 4 ? 6 : vectors == 3 ? 8 : 12;
}
constexpr int kTileRows = rows_of(kTileVectors);
constexpr int64_t kPanel = kTileVectors * kLanes;

#if defined(RLX_HIGHWAY) && HWY_TARGET == HWY_AVX2
// GCC would compute the products of all rows first, and put sums aside for them.
HWY_INLINE void add_now(I& sums, I more) {
#ifdef __GNUC__
  asm volatile("vpaddd %1, %0, %0" : "+x"(sums.raw) : "x"(more.raw));
#else
  sums = sums + more;
#endif
}
#endif

// Two numbers of 16 bits in a word.
struct Pairs {
  using Left = int16_t;
  using Right = int16_t;
  static constexpr int64_t in_word = 2;
  static HWY_INLINE I more(I sums, I a, I b) {
#if defined(RLX_HIGHWAY) && HWY_TARGET == HWY_AVX3
    return sums + I{_mm512_madd_epi16(a.raw, b.raw)};
#elif defined(RLX_HIGHWAY) && HWY_TARGET == HWY_AVX2
    const I products{_mm256_madd_epi16(a.raw, b.raw)};
    add_now(sums, products);
    return sums;
#elif defined(RLX_HIGHWAY) && HWY_TARGET == HWY_SSE4
    return sums + I{_mm_madd_epi16(a.raw, b.raw)};
#else
    const I low = multiply(shift_right<16>(shift_left<16>(a)), shift_right<16>(shift_left<16>(b)));
    return sums + low + multiply(shift_right<16>(a), shift_right<16>(b));
#endif
  }
};

#if defined(RLX_HIGHWAY) && HWY_TARGET == HWY_AVX3 && defined(__GNUC__)
#define RLX_BYTES_BY_FOURS
// Four bytes in a word, those of a without a sign.
struct Fours {
  using Left = uint8_t;
  using Right = int8_t;
  static constexpr int64_t in_word = 4;
  static HWY_INLINE I more(I sums, I a, I b) {
    // The instruction has a flag of its own, which this set is not compiled with.
    asm("vpdpbusd %2, %1, %0" : "+v"(sums.raw) : "v"(a.raw), "v"(b.raw));
    return sums;
  }
};
#endif

// The sum of the bytes of some words, those without a sign less 128.
inline int32_t sum_of_bytes(const uint8_t* from, int64_t words, bool is_signed) {
  int32_t sum = 0;
  int64_t w = 0;
#ifdef RLX_BYTES_BY_FOURS
  if (is_signed) {
    I sums = set_int(0);
    for (; w + kLanes <= words; w += kLanes) {
      int32_t part[kLanes];
      std::memcpy(part, from + w * 4, sizeof part);
      sums = Fours::more(sums, set_int(0x01010101), load_integers(part));
    }
    int32_t lanes[kLanes];
    store_integers(sums, lanes);
    for (const int32_t lane : lanes) sum += lane;
  }
#endif
  const int flip = is_signed ? 0 : 128;
  for (int64_t k = w * 4; k < words * 4; ++k) sum += static_cast<int8_t>(from[k] ^ flip);
  return sum;
}

// Columns that lie in words as they are. A line of each at a time: what is read and what is written
// stay in the first cache.
inline void pack_words(const ByteMatrix& b, int64_t panel, int64_t columns, int64_t words,
                       uint32_t* to) {
  constexpr int64_t kTogether = 16;
  const uint32_t flip = b.is_signed ? 0 : 0x80808080u;
  for (int64_t first = 0; first < words; first += kTogether)
    for (int64_t j = 0; j < columns; ++j) {
      const auto* from = static_cast<const uint8_t*>(b.data) + (panel * kPanel + j) * b.column;
      for (int64_t w = first; w < std::min(first + kTogether, words); ++w) {
        uint32_t word;
        std::memcpy(&word, from + w * 4, sizeof word);
        to[w * kPanel + j] = word ^ flip;
      }
    }
}

// Rows that lie one behind the other, as many as are in a word: `kTogether` columns at a time, by
// loops of which compilers make vectors. How many columns were taken.
template <class Words, bool is_signed>
int64_t pack_rows(const uint8_t* from, int64_t row, int64_t columns, uint32_t* to, int32_t* sums) {
  constexpr int64_t kTogether = 16, bits = 32 / Words::in_word;
  constexpr int shift = Words::in_word == 4 && !is_signed ? -128 : 0;
  int64_t j = 0;
  for (; j + kTogether <= columns; j += kTogether) {
    uint32_t words[kTogether] = {};
    int32_t sum[kTogether];
    std::memcpy(sum, sums + j, sizeof sum);
#pragma GCC unroll 4
    for (int64_t i = 0; i < Words::in_word; ++i) {
      uint8_t bytes[kTogether];
      std::memcpy(bytes, from + i * row + j, sizeof bytes);
      for (int64_t k = 0; k < kTogether; ++k) {
        const int x = (is_signed ? static_cast<int8_t>(bytes[k]) : bytes[k]) + shift;
        words[k] |= (static_cast<uint32_t>(x) << (32 - bits)) >> (32 - bits - i * bits);
        sum[k] += x;
      }
    }
    std::memcpy(to + j, words, sizeof words);
    std::memcpy(sums + j, sum, sizeof sum);
  }
  return j;
}

template <class Words>
void pack(const ByteMatrix& b, int64_t inner, int64_t columns, Range panels, uint32_t* packed,
          int32_t* sums) {
  using T = typename Words::Right;
  const int64_t words = (inner + Words::in_word - 1) / Words::in_word;
  const int shift = Words::in_word == 4 && !b.is_signed ? -128 : 0;
  for (int64_t p = panels.begin; p < panels.end; ++p) {
    T* to = reinterpret_cast<T*>(packed + p * kPanel * words);
    int32_t* sum = sums + p * kPanel;
    std::fill(to, to + words * kPanel * Words::in_word, T{0});
    std::fill(sum, sum + kPanel, 0);
    const int64_t here = std::min(kPanel, columns - p * kPanel);
    if (sizeof(T) == 1 && b.row == 1 &&
        inner % Words::in_word == 0) {  // words lie there as they are
      pack_words(b, p, here, words, packed + p * kPanel * words);
      for (int64_t j = 0; j < here; ++j)
        sum[j] = sum_of_bytes(static_cast<const uint8_t*>(b.data) + (p * kPanel + j) * b.column,
                              words, b.is_signed);
      continue;
    }
    const auto number = [&](int64_t k, int64_t j) {
      const uint8_t byte =
          static_cast<const uint8_t*>(b.data)[k * b.row + (p * kPanel + j) * b.column];
      return (b.is_signed ? static_cast<int8_t>(byte) : byte) + shift;
    };
    constexpr int64_t in_word = Words::in_word;
    int64_t k = 0;
    for (; k + in_word <= inner; k += in_word) {
      int64_t first = 0;
      if (b.column == 1)
        first = (b.is_signed ? pack_rows<Words, true>
                             : pack_rows<Words, false>)(static_cast<const uint8_t*>(b.data) +
                                                            k * b.row + p * kPanel,
                                                        b.row, here,
                                                        packed + (p * words + k / in_word) * kPanel,
                                                        sum);
      for (int64_t j = first; j < here; ++j)
#pragma GCC unroll 4
        for (int64_t i = 0; i < in_word; ++i) {
          const int x = number(k + i, j);
          to[k * kPanel + j * in_word + i] = static_cast<T>(x);
          sum[j] += x;
        }
    }
    for (int64_t i = 0; k + i < inner; ++i)  // of the last word
      for (int64_t j = 0; j < here; ++j) {
        const int x = number(k + i, j);
        to[k * kPanel + j * in_word + i] = static_cast<T>(x);
        sum[j] += x;
      }
  }
}

// Those that make up whole vectors, and how many they are.
template <class Byte>
int64_t widen([[maybe_unused]] const Byte* from, [[maybe_unused]] int64_t count,
              [[maybe_unused]] int16_t* to) {
  int64_t i = 0;
#if defined(RLX_HIGHWAY) && HWY_TARGET != HWY_SCALAR
  constexpr hn::ScalableTag<int16_t> wide;
  constexpr hn::Rebind<Byte, decltype(wide)> narrow;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes)
    hn::StoreU(hn::PromoteTo(wide, hn::LoadU(narrow, from + i)), wide, to + i);
#endif
  return i;
}

template <class Words>
void take_rows(const ByteMatrix& a, int64_t inner, Range rows, uint32_t* to, int32_t* sums) {
  using T = typename Words::Left;
  const int64_t words = (inner + Words::in_word - 1) / Words::in_word;
  const int shift = Words::in_word == 4 && a.is_signed ? 128 : 0;
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    T* row = reinterpret_cast<T*>(to + r * words);
    const auto* bytes = static_cast<const uint8_t*>(a.data) + r * a.row;
    int64_t k = 0;
    if constexpr (sizeof(T) == 2) {
      if (a.column == 1)
        k = a.is_signed ? widen(reinterpret_cast<const int8_t*>(bytes), inner, row)
                        : widen(bytes, inner, row);
    } else if (a.column == 1 && !a.is_signed) {
      std::copy_n(bytes, inner, row);  // of which there may be none
      k = inner;
    }
    for (; k < inner; ++k) {
      const uint8_t byte = bytes[k * a.column];
      row[k] = static_cast<T>((a.is_signed ? static_cast<int8_t>(byte) : byte) + shift);
    }
    std::fill(row + inner, row + words * Words::in_word, T{0});
    if (!sums) continue;
    int32_t sum = 0;
    int64_t w = 0;
    if constexpr (sizeof(T) == 2) {
      I parts = set_int(0);
      for (; w + kLanes <= words; w += kLanes)
        parts = Words::more(parts, set_int(0x00010001),
                            load_integers(reinterpret_cast<const int32_t*>(to + r * words + w)));
      int32_t lanes[kLanes];
      store_integers(parts, lanes);
      for (const int32_t lane : lanes) sum += lane;
    }
    for (k = w * Words::in_word; k < inner; ++k) sum += row[k];
    sums[r] = sum;
  }
}

// What the zero points take off the sums of one row; wraps as the sums do.
struct RowZeros {
  I a_zero, rest;  // rest: the sum of the row, less a_zero for each product
  RowZeros(const ByteProduct& p, int64_t row) {
    const uint32_t zero = p.a_zero ? static_cast<uint32_t>(p.a_zero[row * p.a_zero_step]) : 0u;
    const uint32_t sum = p.b_zero ? static_cast<uint32_t>(p.a_sums[row]) : 0u;
    a_zero = set_int(static_cast<int32_t>(zero));
    rest = set_int(static_cast<int32_t>(sum - zero * static_cast<uint32_t>(p.inner)));
  }
};

// `next` is what will be read next of b, and comes from afar: a line is asked for with each word.
constexpr int64_t kLine = 16;  // words
constexpr int kSecondCache = 2;
template <class Words, int rows, int vectors>
HWY_NOINLINE void run_tile(const ByteProduct& p, int64_t row, int64_t panel, int64_t words,
                           const int32_t* next) {
  // So few sums would wait for each other: several of each, added at the end.
  constexpr int chains = rows == 1 ? 4 : 1;
  I sums[chains][rows][vectors];
  // Unrolled, as all loops over the sums: what is indexed by a variable would not be in registers.
#pragma GCC unroll 4
  for (int i = 0; i < chains; ++i)
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[i][r][v] = set_int(0);
  const auto* b = reinterpret_cast<const int32_t*>(p.b) + panel * kPanel * words;
  const bool in_pieces = p.pieces.starts != nullptr;
  const int64_t length = in_pieces ? p.pieces.words : words;
  for (int64_t piece = 0; piece < (in_pieces ? p.pieces.count : 1); ++piece) {
    const int32_t* a[rows];
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r)
      a[r] = reinterpret_cast<const int32_t*>(p.a) +
             (in_pieces ? p.pieces.starts[row + r] + p.pieces.offsets[piece] : (row + r) * words);
    int64_t k = 0;
    for (; k + chains <= length; k += chains)
#pragma GCC unroll 4
      for (int i = 0; i < chains; ++i, b += kPanel, next += kLine) {
        __builtin_prefetch(next, 0, kSecondCache);
        I right[vectors];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) right[v] = load_integers(b + v * kLanes);
#pragma GCC unroll 12
        for (int r = 0; r < rows; ++r) {
          const I left = set_int(a[r][k + i]);
#pragma GCC unroll 4
          for (int v = 0; v < vectors; ++v)
            sums[i][r][v] = Words::more(sums[i][r][v], left, right[v]);
        }
      }
    if constexpr (chains > 1)
      for (; k < length; ++k, b += kPanel)
        for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
          for (int v = 0; v < vectors; ++v)
            sums[0][r][v] =
                Words::more(sums[0][r][v], set_int(a[r][k]), load_integers(b + v * kLanes));
  }
  const int64_t column = panel * kPanel, columns = p.columns;
  const int32_t *b_sums = p.b_sums, *b_zero = p.b_zero;
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r) {
    const RowZeros zeros(p, row + r);
    int32_t* c = p.c + (row + r) * p.c_row + column;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const int64_t at = column + v * kLanes, left = columns - at;
      I x = sums[0][r][v];
#pragma GCC unroll 4
      for (int i = 1; i < chains; ++i) x = x + sums[i][r][v];
      x = x - multiply(zeros.a_zero, load_integers(b_sums + at));
      if (b_zero) x = x - multiply(load_integers(b_zero + at), zeros.rest);
      if (v + 1 < vectors || left >= kLanes) {
        store_integers(x, c + v * kLanes);
      } else {
        int32_t part[kLanes];
        store_integers(x, part);
        copy_elements(part, c + v * kLanes, left);
      }
    }
  }
}

template <class Words, int vectors>
void run_panel(const ByteProduct& p, Range rows, int64_t panel, int64_t words) {
  constexpr int most = rows_of(vectors);
  // The first tiles ask for the next panel, a part each; the others for what is there.
  const bool asks = p.more_b || (panel + 1) * kPanel < p.columns;
  const auto* const b = reinterpret_cast<const int32_t*>(p.b) + panel * kPanel * words;
  int64_t r = rows.begin, parts = asks ? kTileVectors : 0;
  const auto ask = [&] {
    return parts > 0 ? b + kPanel * words + (kTileVectors - parts--) * words * kLine : b;
  };
  for (; r + most <= rows.end; r += most) run_tile<Words, most, vectors>(p, r, panel, words, ask());
  for (; r + 4 <= rows.end; r += 4) run_tile<Words, 4, vectors>(p, r, panel, words, ask());
  for (; r + 2 <= rows.end; r += 2) run_tile<Words, 2, vectors>(p, r, panel, words, ask());
  if (r < rows.end) run_tile<Words, 1, vectors>(p, r, panel, words, ask());
}

template <class Words>
void run(const ByteProduct& p, Range rows, Range panels) {
  const int64_t words = (p.inner + Words::in_word - 1) / Words::in_word;
  for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
    const int64_t vectors = (std::min(kPanel, p.columns - panel * kPanel) + kLanes - 1) / kLanes;
    if (vectors == 1) run_panel<Words, 1>(p, rows, panel, words);
    if (vectors == 2) run_panel<Words, 2>(p, rows, panel, words);
    if (vectors == 3) run_panel<Words, 3>(p, rows, panel, words);
    if constexpr (kTileVectors == 4)
      if (vectors == 4) run_panel<Words, 4>(p, rows, panel, words);
  }
}

template <class Words>
ByteGemm made() {
  return {.panel_columns = kPanel,
          .tile_rows = kTileRows,
          .in_word = Words::in_word,
          .pack = pack<Words>,
          .take_rows = take_rows<Words>,
          .run = run<Words>};
}
ByteGemm make() { return made<Pairs>(); }
#ifdef RLX_BYTES_BY_FOURS
ByteGemm make_by_fours() { return made<Fours>(); }
#undef RLX_BYTES_BY_FOURS
#endif

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {

#if defined(RLX_HIGHWAY) && HWY_ARCH_X86 && defined(__GNUC__)
bool multiplies_bytes() {
  return best_isa() == Isa::avx512 && __builtin_cpu_supports("avx512vnni");
}
ByteGemm byte_gemm(Isa isa, bool by_fours) {
  if (by_fours && isa == Isa::avx512) return N_AVX3::make_by_fours();
  return RLX_OF_ISA(isa, make);
}
#else
bool multiplies_bytes() { return false; }
ByteGemm byte_gemm(Isa isa, bool /*by_fours*/) { return RLX_OF_ISA(isa, make); }
#endif

}  // namespace rlx::vector
#endif
