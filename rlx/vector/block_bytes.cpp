#include "rlx/vector/block_bytes.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/block_bytes.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/math.h"
#include "rlx/vector/spread_integers.h"
#include "rlx/vector/spread_super_blocks.h"
#include "rlx/vector/ternary_rests.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

#if defined(RLX_HIGHWAY) && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)

constexpr int64_t kAhead = 1024;  // bytes that are asked for before they are read

// ---- Rows of x ----

HWY_INLINE float power_of_two(int exponent) {
  const auto bits = static_cast<uint32_t>(exponent + 127) << 23;
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}
// x < 2 to the power of it.
HWY_INLINE int exponent_above(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<int>(bits >> 23) - 126;
}

// Rounded to steps of a power of two, so that few-bit numbers stay what they are. `room` is 1 or a
// little more: the whole numbers stay below 2 to the power of `bits` by that factor.
bool take_unit(const float* x, int64_t count, int bits, float room, int32_t* whole, float& step) {
  constexpr int kLeastExponent = -100;
  F highest = set(0.0F), difference = set(0.0F);
  for (int64_t i = 0; i < count; i += kLanes) {
    const F part = load(x + i);
    highest = max(highest, abs(part));
    difference = difference + (part - part);  // NaN where one is, or is infinite
  }
  if (sum(difference) != 0) return false;
  const float most = largest(highest);
  const int exponent = most == 0 ? bits : exponent_above(most * room);
  if (exponent < kLeastExponent) return false;
  step = power_of_two(exponent - bits);
  const F scale = set(power_of_two(bits - exponent));
  for (int64_t i = 0; i < count; i += kLanes)
    store_integers(rounded(load(x + i) * scale).integer, whole + i);
  return true;
}

bool take_row(const float* x, int64_t inner, const BlockBytesFormat& format, WholeRow& to) {
  // Three digits have numbers below 2^23 but for 2^15; 3 times one less another is below 4 times.
  const int bits = format.less ? 21 : 22;
  const float room = format.less ? 1.01F : 1.0F;
  const int64_t unit = std::max(kUnit, format.group);
  if (inner % unit != 0) return false;
  const int64_t groups = unit / format.group;  // of a unit
  alignas(64) int32_t whole[kNoElement + 1], ordered[kLanes];
  whole[kNoElement] = 0;
  for (int64_t first = 0; first < inner; first += format.tile) {
    const int64_t count = std::min(format.tile, inner - first);
    if (count < format.tile) std::fill(whole, whole + format.tile, 0);
    for (int64_t i = 0; i < count; i += unit) {
      float step;
      if (!take_unit(x + first + i, unit, bits, room, whole + i, step)) return false;
      for (int64_t g = 0; g < groups; ++g) {
        int32_t total = 0;
        for (int64_t j = 0; j < format.group; ++j) total += whole[i + g * format.group + j];
        const int64_t at = (first + i) / format.group + g;
        to.steps[at] = step;
        to.sums[at] = static_cast<float>(total) * step;
      }
    }
    const I half = set_int(128), byte = set_int(255);
    const int64_t to_byte = first / format.tile * format.bytes;
    for (int64_t i = 0; i < format.bytes; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane) ordered[lane] = whole[format.order[i + lane]];
      if (format.less)
        for (int64_t lane = 0; lane < kLanes; ++lane)
          ordered[lane] = 3 * ordered[lane] - whole[format.less[i + lane]];
      const I all = load_integers(ordered), low = and_(all + half, byte) - half;
      const I rest = shift_right<8>(all - low), middle = and_(rest + half, byte) - half;
      store_integers(low, to.digits[2] + to_byte + i);
      store_integers(middle, to.digits[1] + to_byte + i);
      store_integers(shift_right<8>(rest - middle), to.digits[0] + to_byte + i);
    }
  }
  return true;
}

// ---- Products ----

// sums + the products of four bytes each, those of a without a sign.
struct ByPairs {
  static HWY_INLINE I more(I sums, I a, I b) {
#if HWY_TARGET == HWY_AVX3
    return sums + I{_mm512_madd_epi16(_mm512_maddubs_epi16(a.raw, b.raw), _mm512_set1_epi16(1))};
#else
    return sums + I{_mm256_madd_epi16(_mm256_maddubs_epi16(a.raw, b.raw), _mm256_set1_epi16(1))};
#endif
  }
};
#if HWY_TARGET == HWY_AVX3 && defined(__GNUC__)
#define RLX_BLOCKS_BY_FOURS
struct ByFours {
  static HWY_INLINE I more(I sums, I a, I b) {
    // The instruction has a flag of its own, which this set is not compiled with.
    asm("vpdpbusd %2, %1, %0" : "+v"(sums.raw) : "v"(a.raw), "v"(b.raw));
    return sums;
  }
};
#endif

// The groups that lanes of a chain belong to. They are within 8, or all of 16 with 512 bits.
template <class Block, int64_t chain>
struct GroupsOfChain {
  alignas(64) int32_t lanes[kLanes];
  int64_t first = 0;
  constexpr GroupsOfChain() : lanes() {
    const auto group = [](int64_t lane) {
      return Block::place(chain * Block::kChain, 4 * lane) / Block::kGroup;
    };
    if (kLanes == 8) first = group(0) / 8 * 8;
    for (int64_t i = 0; i < kLanes; ++i) lanes[i] = static_cast<int32_t>(group(i) - first);
  }
};
#if HWY_TARGET == HWY_AVX3
HWY_INLINE F pick(I which, FloatsOf<4> x, int64_t) {
  return F{_mm512_permutexvar_ps(which.raw, _mm512_castps128_ps512(x.raw))};
}
HWY_INLINE F pick(I which, FloatsOf<8> x, int64_t) {
  return F{_mm512_permutexvar_ps(which.raw, _mm512_castps256_ps512(x.raw))};
}
HWY_INLINE F pick(I which, FloatsOf<16> x, int64_t) {
  return F{_mm512_permutexvar_ps(which.raw, x.raw)};
}
#else
HWY_INLINE F pick(I which, FloatsOf<4> x, int64_t) {
  return F{_mm256_permutevar8x32_ps(_mm256_castps128_ps256(x.raw), which.raw)};
}
HWY_INLINE F pick(I which, FloatsOf<8> x, int64_t) {
  return F{_mm256_permutevar8x32_ps(x.raw, which.raw)};
}
HWY_INLINE F pick(I which, FloatsOf<16> x, int64_t first) {
  return pick(which, first ? x.high : x.low, 0);
}
#endif

// Where a tile is: its blocks are one after the other, or, where blocks have as many units as their
// shape tells, the units are anywhere.
template <class Block>
struct Pieces {
  static constexpr int64_t kPlaces = Block::kElements ? 1 : Block::kPieces;
  const uint8_t *at[kPlaces], *heads[kPlaces];

  HWY_INLINE const uint8_t* const* with_scales() const { return Block::kElements ? at : heads; }
  HWY_INLINE Pieces moved(int64_t bytes) const {
    Pieces to;
#pragma GCC unroll 8
    for (int64_t i = 0; i < kPlaces; ++i) {
      to.at[i] = at[i] + bytes;
      if (!Block::kElements) to.heads[i] = heads[i] + bytes;
    }
    return to;
  }
};
// Goes through a row by tiles. Behind the last unit of a row comes that again.
template <class Block>
struct Cursor {
  static constexpr int64_t kPiece = Block::kTile / Block::kPieces;
  const uint8_t* block;
  int64_t left;  // pieces
  // Of blocks that have as many units as their shape tells.
  int64_t bytes, each, header, unit_bytes, unit = 0;

  Cursor(const BlockRows& rows, int64_t row)
      : block(rows.data + row * rows.row_bytes),
        left(rows.inner / kPiece),
        bytes(rows.shape.bytes),
        each(rows.shape.elements / kUnit),
        header(rows.shape.has_zero ? 8 : 4),
        unit_bytes(kUnit * rows.shape.bits / 8) {}

  template <bool whole>
  HWY_INLINE Pieces<Block> next() {
    Pieces<Block> to;
    if constexpr (Block::kElements != 0) {
      to.at[0] = block;
      block += Block::kPieces * Block::kBytes;
    } else if (each % Block::kPieces == 0) {
#pragma GCC unroll 8
      for (int64_t i = 0; i < Block::kPieces; ++i) {
        to.heads[i] = block;
        to.at[i] = block + header + (unit + i) * unit_bytes;
      }
      unit += Block::kPieces;
      if (unit == each) unit = 0, block += bytes;
    } else {
#pragma GCC unroll 8
      for (int64_t i = 0; i < Block::kPieces; ++i) {
        to.heads[i] = block;
        to.at[i] = block + header + unit * unit_bytes;
        if (!whole && i + 1 >= left) continue;
        if (++unit == each) unit = 0, block += bytes;
      }
    }
    left -= Block::kPieces;
    return to;
  }
};

// Some rows of a times some of b.
template <class Block, class Four, int rows, int columns>
struct Dots {
  static constexpr int64_t kVectors = Block::kTile / kWidth, kChains = kVectors / Block::kChain,
                           kGroups = Block::kTile / Block::kGroup;
  const WholeRow* a;
  F sums[rows][columns];
  FloatsOf<kGroups> lows[rows][columns] = {};  // what is subtracted of the sums

  explicit Dots(const WholeRow* rows_of_a) : a(rows_of_a) {
    for (auto& of_row : sums)
      for (F& sum : of_row) sum = set(0.0F);
  }

  // Whether a chain's sums of the highest digits have room for 16 bits more.
  static constexpr bool kOneSum =
      4 * Block::kChain * ((1 << Block::kBits) - 1) * (64 * 65536 + 128 * 256 + 128) < int64_t{1}
                                                                                           << 31;

  // The products of a chain's elements as whole numbers of steps, added up by fours.
  template <int64_t chain = 0>
  HWY_INLINE void add_chains(const I (&q)[columns][kVectors], int64_t at,
                             const FloatsOf<kGroups> (&factors)[rows][columns]) {
    if constexpr (chain < kChains) {
      static constexpr GroupsOfChain<Block, chain> kGroupsOf;
      constexpr int64_t kFirst = chain * Block::kChain;
      const I which = load_integers(kGroupsOf.lanes);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) {
        I total[columns], high[columns];
#pragma GCC unroll 3
        for (int digit = 0; digit < 3; ++digit) {
#pragma GCC unroll 4
          for (int c = 0; c < columns; ++c) {
            if (!kOneSum && digit == 1) high[c] = total[c];
            total[c] =
                digit == 0 || (!kOneSum && digit == 1) ? set_int(0) : shift_left<8>(total[c]);
          }
#pragma GCC unroll 4
          for (int64_t v = kFirst; v < kFirst + Block::kChain; ++v) {
            const I x =
                vector_at(reinterpret_cast<const uint8_t*>(a[r].digits[digit] + at + v * kWidth));
#pragma GCC unroll 4
            for (int c = 0; c < columns; ++c) total[c] = Four::more(total[c], q[c][v], x);
          }
        }
#pragma GCC unroll 4
        for (int c = 0; c < columns; ++c) {
          F sum = to_float(total[c]);
          if (!kOneSum) sum = mul_add(to_float(high[c]), set(65536.0F), sum);
          sums[r][c] = mul_add(sum, pick(which, factors[r][c], kGroupsOf.first), sums[r][c]);
        }
      }
      add_chains<chain + 1>(q, at, factors);
    }
  }

  // One tile of each row of b, from element `at` of the rows of a on.
  HWY_INLINE void add(const Pieces<Block> (&pieces)[columns], int64_t at) {
    I q[columns][kVectors];
    FloatsOf<kGroups> factors[rows][columns];
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) {
      const TileScales<Block> scales = Block::scales(pieces[c].with_scales());
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) {
        const int64_t group = at / Block::kGroup;
        factors[r][c] = scales.scale * FloatsOf<kGroups>::at(a[r].steps + group);
        const auto sum_of_x = FloatsOf<kGroups>::at(a[r].sums + group);
        lows[r][c] = (Block::kHasLow ? scales.low : scales.scale).times_plus(sum_of_x, lows[r][c]);
      }
      Block::tile(pieces[c].at, q[c]);
    }
    add_chains(q, at, factors);
  }

  HWY_INLINE float result(int r, int c) const {
    float low[kGroups], total = 0;
    lows[r][c].store(low);
    for (const float x : low) total += x;
    return sum(sums[r][c]) - (Block::kHasLow ? total : total * Block::kOffset);
  }
};

template <class Block, class Four, int rows, int columns>
void multiply_some(const BlockBytesProduct& p, int64_t first_row, int64_t column, int64_t apart) {
  constexpr int64_t kTileBytes =
      Block::kElements ? Block::kPieces * Block::kBytes : Block::kTile * Block::kBits / 8 + 32;
  Dots<Block, Four, rows, columns> dots{p.a + first_row};
  Cursor<Block> cursor(p.b, column);
  Pieces<Block> pieces[columns];
  int64_t at = 0;
  for (; cursor.left >= Block::kPieces; at += Block::kTile) {
    pieces[0] = cursor.template next<true>();
    for (int c = 1; c < columns; ++c) pieces[c] = pieces[0].moved(c * apart * p.b.row_bytes);
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c)
#pragma GCC unroll 5
      for (int64_t i = 0; i < kTileBytes; i += 64)
        _mm_prefetch(reinterpret_cast<const char*>(pieces[c].at[0] + kAhead + i), _MM_HINT_T0);
    dots.add(pieces, at);
  }
  if (cursor.left > 0) {  // the rest is multiplied by digits and steps of 0
    const int64_t bytes = cursor.left * Block::kBytes;
    uint8_t rest[columns][kTileBytes] = {};
    pieces[0] = cursor.template next<false>();
    for (int c = 1; c < columns; ++c) pieces[c] = pieces[0].moved(c * apart * p.b.row_bytes);
    if constexpr (Block::kElements != 0)
      for (int c = 0; c < columns; ++c) {
        std::memcpy(rest[c], pieces[c].at[0], static_cast<size_t>(bytes));
        pieces[c].at[0] = rest[c];
      }
    dots.add(pieces, at);
  }
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c)
      p.c[(first_row + r) * p.c_row + column + c * apart] = dots.result(r, c);
}

template <class Block, class Four, int rows>
void multiply_rows(const BlockBytesProduct& p, int64_t first_row, Range columns) {
  // Four rows of b at once share what is read of a. They are far apart, so that each is a stream of
  // its own to the memory.
  constexpr int kTogether = rows == 1 ? 4 : 1;
  const int64_t apart = (columns.end - columns.begin) / kTogether;
  for (int64_t j = columns.begin; j < columns.begin + apart; ++j)
    multiply_some<Block, Four, rows, kTogether>(p, first_row, j, apart);
  for (int64_t j = columns.begin + kTogether * apart; j < columns.end; ++j)
    multiply_some<Block, Four, rows, 1>(p, first_row, j, 0);
}

template <class Block, class Four>
void multiply(const BlockBytesProduct& p, Range columns) {
  int64_t row = 0;
  for (; row + 4 <= p.rows; row += 4) multiply_rows<Block, Four, 4>(p, row, columns);
  for (; row < p.rows; ++row) multiply_rows<Block, Four, 1>(p, row, columns);
}

template <class Block>
struct OrderOf {
  uint16_t of[Block::kTile];
  constexpr OrderOf() : of() {
    for (int64_t i = 0; i < Block::kTile; ++i)
      of[i] = static_cast<uint16_t>(Block::place(i / kWidth, i % kWidth));
  }
};
template <class Block>
constexpr OrderOf<Block> kOrder;

struct NamedBytes {
  std::string_view name;
  int64_t elements;  // 0: any
  BlockBytesFormat format;
  int bits;
};
template <class Block, class Four>
constexpr NamedBytes bytes_of(std::string_view name, int64_t elements = 0) {
  return {name,
          elements,
          {multiply<Block, Four>, Block::kGroup, Block::kTile, Block::kTile, kOrder<Block>.of},
          Block::kBits};
}

template <class Four, int most_bits>
BlockBytesFormat format(std::string_view name, const BlockShape& shape) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (most_bits >= RestsOfTq1::kBits)
    if (name == "tq1_0")
      return {multiply<RestsOfTq1, Four>, RestsOfTq1::kGroup, RestsOfTq1::kTile,
              RestsOrder::kBytes,         kRestsOrder.of,     kRestsOrder.less};
#endif
  static constexpr NamedBytes kAll[] = {
      bytes_of<BytesQ4<false>, Four>("q4_0"),
      bytes_of<BytesQ4<true>, Four>("q4_1"),
      bytes_of<BytesQ5<false>, Four>("q5_0"),
      bytes_of<BytesQ5<true>, Four>("q5_1"),
      bytes_of<BytesQ8_0, Four>("q8_0"),
      bytes_of<BytesQ8K, Four>("q8_k"),
      bytes_of<BytesIq4Nl, Four>("iq4_nl"),
      bytes_of<BytesIq4Xs, Four>("iq4_xs"),
      bytes_of<BytesMxFp4, Four>("mxfp4"),
      bytes_of<BytesNvFp4, Four>("nvfp4"),
      bytes_of<BytesQ2K, Four>("q2_k"),
      bytes_of<BytesQ3K, Four>("q3_k"),
      bytes_of<BytesQ4K<false>, Four>("q4_k"),
      bytes_of<BytesQ4K<true>, Four>("q5_k"),
      bytes_of<BytesQ6K, Four>("q6_k"),
      bytes_of<BytesTq1, Four>("tq1_0"),
      bytes_of<BytesTq2, Four>("tq2_0"),
      bytes_of<BytesInteger<2, false, true>, Four>("int2_block", 32),
      bytes_of<BytesInteger<2, false, false>, Four>("int2_block"),
      bytes_of<BytesInteger<2, true, true>, Four>("int2_block_asym", 32),
      bytes_of<BytesInteger<2, true, false>, Four>("int2_block_asym"),
      bytes_of<BytesInteger<3, false, true>, Four>("int3_block", 32),
      bytes_of<BytesInteger<3, false, false>, Four>("int3_block"),
      bytes_of<BytesInteger<3, true, true>, Four>("int3_block_asym", 32),
      bytes_of<BytesInteger<3, true, false>, Four>("int3_block_asym"),
      bytes_of<BytesInteger<4, false, true>, Four>("int4_block", 32),
      bytes_of<BytesInteger<4, false, false>, Four>("int4_block"),
      bytes_of<BytesInteger<4, true, true>, Four>("int4_block_asym", 32),
      bytes_of<BytesInteger<4, true, false>, Four>("int4_block_asym"),
      bytes_of<BytesInteger<8, false, true>, Four>("int8_block", 32),
      bytes_of<BytesInteger<8, false, false>, Four>("int8_block"),
      bytes_of<BytesInteger<8, true, true>, Four>("int8_block_asym", 32),
      bytes_of<BytesInteger<8, true, false>, Four>("int8_block_asym"),
  };
  for (const NamedBytes& each : kAll)
    if (each.name == name && each.bits <= most_bits && shape.elements % each.format.group == 0 &&
        (each.elements == 0 || each.elements == shape.elements))
      return each.format;
  return {};
}

BlockBytesFunctions make() { return {format<ByPairs, 7>, take_row}; }
#ifdef RLX_BLOCKS_BY_FOURS
BlockBytesFunctions make_by_fours() { return {format<ByFours, 8>, take_row}; }
#undef RLX_BLOCKS_BY_FOURS
#endif

#else

BlockBytesFormat no_format(std::string_view /*name*/, const BlockShape& /*shape*/) { return {}; }
BlockBytesFunctions make() { return {no_format, nullptr}; }

#endif

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {

namespace {
constexpr int64_t kPadding = 256;  // elements of the longest tile
int64_t padded(int64_t inner) { return (inner + 2 * kPadding) / kPadding * kPadding; }
// Bytes of a digit: the most that a format has of 256 elements is 384.
int64_t bytes_of_digit(int64_t inner) { return padded(inner) / 2 * 3; }
constexpr int64_t kLine = 16;  // words of a line of the cache, which no vector of digits crosses
int64_t groups_of(int64_t inner) { return padded(inner) / 16 + 32; }  // and vectors of groups
}  // namespace

int64_t WholeRow::words(int64_t inner) { return 3 * bytes_of_digit(inner) / 4 + kLine; }
int64_t WholeRow::floats(int64_t inner) { return 2 * groups_of(inner); }

WholeRow::WholeRow(int32_t* words_of, float* floats_of, int64_t inner)
    : steps(floats_of), sums(floats_of + groups_of(inner)) {
  std::fill(words_of, words_of + words(inner), 0);
  std::fill(floats_of, floats_of + floats(inner), 0.0F);
  const auto place = reinterpret_cast<uintptr_t>(words_of) / sizeof(int32_t) % kLine;
  int32_t* aligned = words_of + (kLine - static_cast<int64_t>(place)) % kLine;
  for (int i = 0; i < 3; ++i)
    digits[i] = reinterpret_cast<int8_t*>(aligned + i * bytes_of_digit(inner) / 4);
}

BlockBytesFunctions block_bytes(Isa isa, [[maybe_unused]] bool by_fours) {
#if defined(RLX_HIGHWAY) && HWY_ARCH_X86 && defined(__GNUC__)
  if (by_fours && isa == Isa::avx512) return N_AVX3::make_by_fours();
#endif
  return RLX_OF_ISA(isa, make);
}

}  // namespace rlx::vector
#endif
