#include "rlx/vector/block_bytes.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/block_bytes.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/math.h"
#include "rlx/vector/spread_blocks.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

#if defined(RLX_HIGHWAY) && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)

constexpr int64_t kUnit = 32;  // elements of x that share a step
// Elements whose scales are made at a time, and the most groups that they are.
constexpr int64_t kStretch = 4096, kGroups = kStretch / 16 + 16;

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

// Rounded to steps of a power of two, so that few-bit numbers stay what they are.
bool take_unit(const float* x, int64_t unit, int64_t group, WholeRow& to) {
  constexpr int kBits = 22, kLeastExponent = -100;
  F highest = set(0.0F), difference = set(0.0F);
  for (int64_t i = 0; i < kUnit; i += kLanes) {
    const F part = load(x + i);
    highest = max(highest, abs(part));
    difference = difference + (part - part);  // NaN where one is, or is infinite
  }
  if (sum(difference) != 0) return false;
  const float most = largest(highest);
  const int exponent = most == 0 ? kBits : exponent_above(most);
  if (exponent < kLeastExponent) return false;
  const float step = power_of_two(exponent - kBits);
  const F scale = set(power_of_two(kBits - exponent));
  alignas(64) int32_t whole[kUnit];
  const I half = set_int(128), byte = set_int(255);
  for (int64_t i = 0; i < kUnit; i += kLanes) {
    const int64_t at = unit * kUnit + i;
    const I all = rounded(load(x + i) * scale).integer, low = and_(all + half, byte) - half;
    const I rest = shift_right<8>(all - low), middle = and_(rest + half, byte) - half;
    store_integers(all, whole + i);
    store_integers(low, to.digits[2] + at);
    store_integers(middle, to.digits[1] + at);
    store_integers(shift_right<8>(rest - middle), to.digits[0] + at);
  }
  for (int64_t g = 0; g < kUnit / group; ++g) {
    int32_t total = 0;
    for (int64_t i = 0; i < group; ++i) total += whole[g * group + i];
    to.steps[unit * (kUnit / group) + g] = step;
    to.sums[unit * (kUnit / group) + g] = static_cast<float>(total) * step;
  }
  return true;
}

bool take_row(const float* x, int64_t inner, const BlockBytesFormat& format, WholeRow& to) {
  for (int64_t unit = 0; unit < inner / kUnit; ++unit, x += kUnit) {
    float turned[kUnit];
    for (int64_t i = 0; format.in_turns && i < kUnit; ++i)
      turned[i % 2 * (kUnit / 2) + i / 2] = x[i];
    if (!take_unit(format.in_turns ? turned : x, unit, format.group, to)) return false;
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

HWY_INLINE I digits_at(const int8_t* at) {
  return load_integers(reinterpret_cast<const int32_t*>(at));
}

// The factors of the groups that a vector of bytes covers, as often as each has lanes. They are
// read as few as they are: a vector of them would wait for several stores.
template <int64_t group>
HWY_INLINE F factors_at(const float* at) {
  constexpr int64_t groups = 4 * kLanes / group;
#if HWY_TARGET == HWY_AVX3
  if constexpr (groups == 4) {
    const __m512i which = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    return F{_mm512_permutexvar_ps(which, _mm512_broadcast_f32x4(_mm_loadu_ps(at)))};
  } else {
    double both;
    std::memcpy(&both, at, sizeof both);
    const __m512i which = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    return F{_mm512_permutexvar_ps(which, _mm512_castpd_ps(_mm512_set1_pd(both)))};
  }
#else
  if constexpr (groups == 1) return set(*at);
  double both;
  std::memcpy(&both, at, sizeof both);
  return F{_mm256_permutevar8x32_ps(_mm256_castpd_ps(_mm256_set1_pd(both)),
                                    _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1))};
#endif
}

// The sums of products of four elements each, as whole numbers of steps.
template <class Four, int bits>
HWY_INLINE F whole_sums(I q, const WholeRow& a, int64_t at) {
  const I zero = set_int(0);
  I high = Four::more(zero, q, digits_at(a.digits[0] + at));
  if constexpr (bits <= 6) {  // the highest digit's sums have room for 16 bits more
    high = Four::more(shift_left<8>(high), q, digits_at(a.digits[1] + at));
    return to_float(Four::more(shift_left<8>(high), q, digits_at(a.digits[2] + at)));
  } else {
    const I middle = Four::more(zero, q, digits_at(a.digits[1] + at));
    const I low = Four::more(shift_left<8>(middle), q, digits_at(a.digits[2] + at));
    return mul_add(to_float(high), set(65536.0F), to_float(low));
  }
}

// The scales of a stretch of a row of b, and what they make of some rows of a.
template <class Block, int rows>
struct StretchScales {
  F lows[rows];  // what is subtracted of the sums
  alignas(64) float scale[kGroups], low[kGroups], factors[rows][kGroups];
  alignas(64) uint16_t halves[kGroups];

  HWY_INLINE void take(const BlockShape& shape, const uint8_t* blocks, int64_t count,
                       const WholeRow* a, int64_t first) {
    const int64_t elements = Block::kElements ? Block::kElements : shape.elements,
                  each = elements / Block::kGroup, groups = count * each;
    if constexpr (Block::kBeginsWithHalves) {
      halves_of<false>(blocks, shape.bytes, count, halves, scale);
      if (Block::kHasLow) halves_of<true>(blocks + 2, shape.bytes, count, halves, low);
    } else {
      for (int64_t b = 0; b < count; ++b)
        Block::scales(shape, blocks + b * shape.bytes, scale + b * each, low + b * each);
    }
    // A vector may reach beyond the last group, and multiplies what is there by 0.
    store(set(0.0F), scale + groups);
    if (Block::kHasLow) store(set(0.0F), low + groups);
    const F offset = set(static_cast<float>(Block::kOffset));
    for (int r = 0; r < rows; ++r) {
      const float *steps = a[r].steps + first / Block::kGroup,
                  *sums = a[r].sums + first / Block::kGroup;
      F total = set(0.0F);
      for (int64_t g = 0; g < groups; g += kLanes) {
        const F of_groups = load(scale + g);
        store(of_groups * load(steps + g), factors[r] + g);
        total = mul_add(Block::kHasLow ? load(low + g) : of_groups * offset, load(sums + g), total);
      }
      lows[r] = total;
    }
  }
};

// Some rows of a times one row of b.
template <class Block, class Four, int rows>
struct Dots {
  const BlockShape& shape;
  const WholeRow* a;
  F totals[rows];

  // 64 or 32 elements, from `at` of the row of a and from `of` of the stretch on.
  struct Sums {
    const StretchScales<Block, rows>& scales;
    F of[rows];  // those of the struct around would be stored each time
  };
  HWY_INLINE void add(Sums& sums, I q, int64_t at, int64_t of) const {
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r)
      sums.of[r] = mul_add(whole_sums<Four, Block::kBits>(q, a[r], at),
                           factors_at<Block::kGroup>(sums.scales.factors[r] + of / Block::kGroup),
                           sums.of[r]);
  }

  HWY_INLINE void add_stretch(const uint8_t* blocks, int64_t count, int64_t first,
                              const StretchScales<Block, rows>& scales) {
    Sums sums{scales, {}};
    for (int r = 0; r < rows; ++r) sums.of[r] = totals[r] - scales.lows[r];
    const int64_t each = (Block::kElements ? Block::kElements : shape.elements) / kUnit,
                  units = each * count;
    int64_t u = 0;
    if constexpr (Block::kElements == 256) {  // known places in a block are known shifts
      constexpr int64_t kAtOnce = 4 * kLanes / kUnit;
      for (; u < units; u += 8, blocks += shape.bytes)
#pragma GCC unroll 8
        for (int64_t i = 0; i < 8; i += kAtOnce)
          add(sums, units_of(blocks, i, blocks, i + 1), first + (u + i) * kUnit, (u + i) * kUnit);
    } else if (each == 1) {
      for (; u + kUnits <= units; u += kUnits, blocks += kUnits * shape.bytes)
        add(sums, units_of(blocks, 0, blocks + shape.bytes, 0), first + u * kUnit, u * kUnit);
      if (u < units) add(sums, one_unit(blocks, 0), first + u * kUnit, u * kUnit);
    } else {
      for (int64_t b = 0; b < count; ++b, blocks += shape.bytes) {
        int64_t i = 0;
        for (; i + kUnits <= each; i += kUnits, u += kUnits)
          add(sums, units_of(blocks, i, blocks, i + 1), first + u * kUnit, u * kUnit);
        if (i < each) add(sums, one_unit(blocks, i), first + u * kUnit, u * kUnit), ++u;
      }
    }
    for (int r = 0; r < rows; ++r) totals[r] = sums.of[r];
  }

  static constexpr int64_t kUnits = 4 * kLanes / kUnit;  // of a vector
  HWY_INLINE I units_of(const uint8_t* block, int64_t u, [[maybe_unused]] const uint8_t* next,
                        [[maybe_unused]] int64_t v) const {
    const __m256i one = Block::unit(shape, block, u);
#if HWY_TARGET == HWY_AVX3
    return I{_mm512_inserti64x4(_mm512_castsi256_si512(one), Block::unit(shape, next, v), 1)};
#else
    return I{one};
#endif
  }
  HWY_INLINE I one_unit(const uint8_t* block, int64_t u) const {
    const __m256i one = Block::unit(shape, block, u);
#if HWY_TARGET == HWY_AVX3
    return I{_mm512_zextsi256_si512(one)};
#else
    return I{one};
#endif
  }
};

template <class Block, class Four, int rows>
void multiply_rows(const BlockBytesProduct& p, int64_t first_row, Range columns) {
  const BlockShape& shape = p.b.shape;
  const int64_t elements = Block::kElements ? Block::kElements : shape.elements,
                blocks = p.b.inner / elements, stretch = kStretch / elements;
  const WholeRow* a = p.a + first_row;
  Dots<Block, Four, rows> dots{shape, a, {}};
  StretchScales<Block, rows> scales;
  for (int64_t j = columns.begin; j < columns.end; ++j) {
    const uint8_t* from = p.b.data + j * p.b.row_bytes;
    for (F& total : dots.totals) total = set(0.0F);
    for (int64_t block = 0; block < blocks; block += stretch) {
      const int64_t count = std::min(stretch, blocks - block);
      scales.take(shape, from + block * shape.bytes, count, a, block * elements);
      dots.add_stretch(from + block * shape.bytes, count, block * elements, scales);
    }
    for (int r = 0; r < rows; ++r) p.c[(first_row + r) * p.c_row + j] = sum(dots.totals[r]);
  }
}

template <class Block, class Four>
void multiply(const BlockBytesProduct& p, Range columns) {
  int64_t row = 0;
  for (; row + 4 <= p.rows; row += 4) multiply_rows<Block, Four, 4>(p, row, columns);
  for (; row < p.rows; ++row) multiply_rows<Block, Four, 1>(p, row, columns);
}

struct NamedBytes {
  std::string_view name;
  BlockBytesFormat format;
  int bits;
};
template <class Block, class Four>
constexpr NamedBytes bytes_of(std::string_view name) {
  return {name, {multiply<Block, Four>, Block::kGroup, Block::kInTurns}, Block::kBits};
}

template <class Four, int most_bits>
BlockBytesFormat format(std::string_view name, const BlockShape& shape) {
  static constexpr NamedBytes kAll[] = {
      bytes_of<BytesQ4_0, Four>("q4_0"),
      bytes_of<BytesQ4_1, Four>("q4_1"),
      bytes_of<BytesQ5_0, Four>("q5_0"),
      bytes_of<BytesQ5_1, Four>("q5_1"),
      bytes_of<BytesQ8_0, Four>("q8_0"),
      bytes_of<BytesQ8K, Four>("q8_k"),
      bytes_of<BytesIq4Nl, Four>("iq4_nl"),
      bytes_of<BytesIq4Xs, Four>("iq4_xs"),
      bytes_of<BytesMxFp4, Four>("mxfp4"),
      bytes_of<BytesQ4K<false>, Four>("q4_k"),
      bytes_of<BytesQ4K<true>, Four>("q5_k"),
      bytes_of<BytesQ6K, Four>("q6_k"),
      bytes_of<BytesInteger<4, false>, Four>("int4_block"),
      bytes_of<BytesInteger<4, true>, Four>("int4_block_asym"),
      bytes_of<BytesInteger<8, false>, Four>("int8_block"),
      bytes_of<BytesInteger<8, true>, Four>("int8_block_asym"),
  };
  if (shape.elements % kUnit != 0 || shape.elements > kStretch) return {};
  for (const NamedBytes& each : kAll)
    if (each.name == name && each.bits <= most_bits) return each.format;
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
constexpr int64_t kPadding = 64;  // elements that a vector may read behind the last
int64_t padded(int64_t inner) { return (inner + 2 * kPadding) / kPadding * kPadding; }
constexpr int64_t kLine = 16;  // words of a line of the cache, which no vector of digits crosses
int64_t groups_of(int64_t inner) { return padded(inner) / 16 + 32; }  // and vectors of groups
}  // namespace

int64_t WholeRow::words(int64_t inner) { return 3 * padded(inner) / 4 + kLine; }
int64_t WholeRow::floats(int64_t inner) { return 2 * groups_of(inner); }

WholeRow::WholeRow(int32_t* words_of, float* floats_of, int64_t inner)
    : steps(floats_of), sums(floats_of + groups_of(inner)) {
  std::fill(words_of, words_of + words(inner), 0);
  std::fill(floats_of, floats_of + floats(inner), 0.0F);
  const auto place = reinterpret_cast<uintptr_t>(words_of) / sizeof(int32_t) % kLine;
  int32_t* aligned = words_of + (kLine - static_cast<int64_t>(place)) % kLine;
  for (int i = 0; i < 3; ++i)
    digits[i] = reinterpret_cast<int8_t*>(aligned + i * padded(inner) / 4);
}

BlockBytesFunctions block_bytes(Isa isa, [[maybe_unused]] bool by_fours) {
#if defined(RLX_HIGHWAY) && HWY_ARCH_X86 && defined(__GNUC__)
  if (by_fours && isa == Isa::avx512) return N_AVX3::make_by_fours();
#endif
  return RLX_OF_ISA(isa, make);
}

}  // namespace rlx::vector
#endif
