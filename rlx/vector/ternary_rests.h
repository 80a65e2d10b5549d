// Products with tq1_0 without its digits. A byte is a fraction of 256, and digit n is what is above
// the point of 3 times r, the rest of byte * 3^n: 256 * digit[n] = 3 * r[n] - r[n + 1]. So the sum
// of x[n] * digit[n] is a sum of r[n] * (3 * x[n] - x[n - 1]), divided by 256 without a rest, and a
// rest is made of the one before by two additions. Included once per instruction set.
#if defined(RLX_VECTOR_TERNARY_RESTS) == defined(HWY_TARGET_TOGGLE)
#ifdef RLX_VECTOR_TERNARY_RESTS
#undef RLX_VECTOR_TERNARY_RESTS
#else
#define RLX_VECTOR_TERNARY_RESTS
#endif

#include "rlx/vector/spread_blocks.h"

#if defined(RLX_HIGHWAY) && HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

struct RestsOfTq1 : BlockOf<256, 54, 8, 1, false, 256> {
  static constexpr int64_t kRests = 6;  // of a byte
  // The first 32 bytes of a block and the last 32, of which 10 are among the first; two are d.
  static HWY_INLINE I bytes(const uint8_t* block) {
    const auto half = [](const uint8_t* from) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    };
    return I{_mm512_inserti64x4(_mm512_castsi256_si512(half(block)), half(block + 22), 1)};
  }
  // The element that digit n of a byte of these is.
  static constexpr uint16_t element(int64_t n, int64_t lane) {
    const bool is_there = lane < 32 || (lane >= 42 && lane < 62);
    const int64_t byte = lane < 32 ? lane : lane - 10;
    if (!is_there || n < 0 || n >= (byte < 48 ? 5 : 4)) return kNoElement;
    if (byte >= 48) return static_cast<uint16_t>(240 + 4 * n + byte - 48);
    return static_cast<uint16_t>(byte < 32 ? 32 * n + byte : 160 + 16 * n + byte - 32);
  }
};
struct RestsOrder {
  static constexpr int64_t kBytes = RestsOfTq1::kRests * kWidth;
  uint16_t of[kBytes], less[kBytes];
  constexpr RestsOrder() : of(), less() {
    for (int64_t i = 0; i < kBytes; ++i) {
      of[i] = RestsOfTq1::element(i / kWidth, i % kWidth);
      less[i] = RestsOfTq1::element(i / kWidth - 1, i % kWidth);
    }
  }
};
constexpr RestsOrder kRestsOrder;

template <class Block, class Four, int rows, int columns>
struct Dots;

// Up to four products at once: four rows of b, or of a.
template <class Four, int rows, int columns>
struct Dots<RestsOfTq1, Four, rows, columns> {
  static_assert(rows * columns <= 4);
  const WholeRow* a;
  __m512 sums = _mm512_setzero_ps();  // each 4 lanes have one of each product
  __m128 lows = _mm_setzero_ps();

  template <class Pieces>
  HWY_INLINE void add(const Pieces (&pieces)[columns], int64_t at) {
    const int64_t block = at / RestsOfTq1::kTile;
    I rest[columns], total[3][4];
    for (auto& digit : total)
      for (I& each : digit) each = set_int(0);
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) rest[c] = RestsOfTq1::bytes(pieces[c].at[0]);
#pragma GCC unroll 6
    for (int64_t n = 0; n < RestsOfTq1::kRests; ++n) {
      const int64_t from = (block * RestsOfTq1::kRests + n) * kWidth;
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
        for (int digit = 0; digit < 3; ++digit) {
          const I x = vector_at(reinterpret_cast<const uint8_t*>(a[r].digits[digit] + from));
#pragma GCC unroll 4
          for (int c = 0; c < columns; ++c)
            total[digit][r + c] = Four::more(total[digit][r + c], rest[c], x);
        }
#pragma GCC unroll 4
      for (int c = 0; c < columns; ++c) {
        const __m512i twice = _mm512_add_epi8(rest[c].raw, rest[c].raw);
        rest[c] = I{_mm512_add_epi8(twice, rest[c].raw)};
      }
    }
    // The sum of the lowest digits is a multiple of 256, as the whole is.
    __m512i whole[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      whole[i] = (shift_left<8>(total[0][i]) + total[1][i] + shift_right<8>(total[2][i])).raw;
    const auto pairs = [](__m512i first, __m512i second) {
      return _mm512_add_epi32(_mm512_unpacklo_epi32(first, second),
                              _mm512_unpackhi_epi32(first, second));
    };
    const __m512i two = pairs(whole[0], whole[1]), others = pairs(whole[2], whole[3]);
    const __m512i four =
        _mm512_add_epi32(_mm512_unpacklo_epi64(two, others), _mm512_unpackhi_epi64(two, others));
    uint16_t d[4];
    float steps[4], of_x[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int r = rows > 1 ? i : 0, c = columns > 1 ? i : 0;
      d[i] = read_at<uint16_t>(pieces[c].at[0] + 52);
      steps[i] = a[r].steps[block];
      of_x[i] = a[r].sums[block];
    }
    const __m128 scale = _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(d)));
    const __m128 factors = _mm_mul_ps(scale, _mm_loadu_ps(steps));
    sums = _mm512_fmadd_ps(_mm512_cvtepi32_ps(four), _mm512_broadcast_f32x4(factors), sums);
    lows = _mm_fmadd_ps(scale, _mm_loadu_ps(of_x), lows);
  }
  HWY_INLINE float result(int r, int c) const {
    float all[16], low[4], total = 0;
    _mm512_storeu_ps(all, sums);
    _mm_storeu_ps(low, lows);
    for (int i = r + c; i < 16; i += 4) total += all[i];
    return total - low[r + c];
  }
};

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
