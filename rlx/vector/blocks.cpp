#include "rlx/vector/blocks.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/blocks.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/load_blocks.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

constexpr int64_t kStretch = 1024;  // elements that are decoded at a time

int64_t stretch_of(const BlockShape& shape) {
  return std::max<int64_t>(kStretch / shape.elements, 1);  // in blocks
}
int64_t scratch_size(const BlockShape& shape) { return stretch_of(shape) * shape.elements; }

BlockRows::Decode decoder(std::string_view format) {
  for (const NamedDecoder& each : kDecoders)
    if (each.format == format) return each.decode;
  return format.rfind("int", 0) == 0 ? decode_integers : nullptr;
}

// The sum of so many products as f32; stretches are added as f64. Four sums hide the time of an
// addition.
HWY_INLINE float dot(const float* a, const float* b, int64_t count) {
  F sum0 = set(0.0F), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  int64_t k = 0;
  for (; k + 4 * kLanes <= count; k += 4 * kLanes) {
    sum0 = mul_add(load(a + k), load(b + k), sum0);
    sum1 = mul_add(load(a + k + kLanes), load(b + k + kLanes), sum1);
    sum2 = mul_add(load(a + k + 2 * kLanes), load(b + k + 2 * kLanes), sum2);
    sum3 = mul_add(load(a + k + 3 * kLanes), load(b + k + 3 * kLanes), sum3);
  }
  for (; k + kLanes <= count; k += kLanes) sum0 = mul_add(load(a + k), load(b + k), sum0);
  if (k < count) sum1 = mul_add(load_part(a + k, count - k), load_part(b + k, count - k), sum1);
  return sum((sum0 + sum1) + (sum2 + sum3));
}

constexpr int64_t kRows = 8;  // of a, at a time

void multiply_decoded(const BlockProduct& p, Range columns, float* scratch) {
  const BlockShape& shape = p.b.shape;
  const int64_t blocks = p.b.inner / shape.elements, stretch = stretch_of(shape);
  for (int64_t first_row = 0; first_row < p.rows; first_row += kRows) {
    const int64_t rows = std::min(kRows, p.rows - first_row);
    for (int64_t j = columns.begin; j < columns.end; ++j) {
      const uint8_t* from = p.b.data + j * p.b.row_bytes;
      double totals[kRows] = {};
      for (int64_t block = 0; block < blocks; block += stretch) {
        const int64_t count = std::min(stretch, blocks - block);
        p.b.decode(shape, from + block * shape.bytes, count, scratch);
        for (int64_t r = 0; r < rows; ++r)
          totals[r] +=
              static_cast<double>(dot(p.a + (first_row + r) * p.a_row + block * shape.elements,
                                      scratch, count * shape.elements));
      }
      for (int64_t r = 0; r < rows; ++r)
        p.c[(first_row + r) * p.c_row + j] = static_cast<float>(totals[r]);
    }
  }
}

#if defined(RLX_HIGHWAY) && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)

// Some rows of a times some of b, whose elements are small floats and need no scratch.
template <class Small, int rows, int columns>
struct SmallDots {
  static constexpr int64_t kLine = 64, kAhead = 1024;  // bytes
  using ByteTag = hn::Repartition<uint8_t, IntTag>;

  F sums[rows][columns][2];
  hn::Vec<ByteTag> largest[columns];  // of bytes, their signs set

  HWY_INLINE SmallDots() {
    for (auto& row : sums)
      for (auto& both : row) both[0] = both[1] = set(0.0F);
    for (auto& each : largest) each = hn::Zero(ByteTag());
  }
  HWY_INLINE void add_line(const float* a, int64_t a_row, const uint8_t* b, int64_t b_row) {
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c)
#pragma GCC unroll 2
      for (int64_t i = 0; i < kLine && Small::kHasSpecial; i += 4 * kLanes)
        largest[c] = hn::Max(
            largest[c], hn::Or(hn::LoadU(ByteTag(), b + c * b_row + i), hn::Set(ByteTag(), 128)));
#pragma GCC unroll 8
    for (int64_t i = 0; i < kLine; i += kLanes) {
      F w[columns];
#pragma GCC unroll 4
      for (int c = 0; c < columns; ++c) w[c] = Small::quick(b + c * b_row + i);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) {
        const F x = load(a + r * a_row + i);
#pragma GCC unroll 4
        for (int c = 0; c < columns; ++c) {
          F& to = sums[r][c][i / kLanes % 2];
          to = mul_add(x, w[c], to);
        }
      }
    }
  }
  HWY_INLINE void add(const float* a, int64_t a_row, const uint8_t* b, int64_t b_row,
                      int64_t count) {
    int64_t k = 0;
    for (; k + kLine <= count; k += kLine) {
#pragma GCC unroll 4
      for (int c = 0; c < columns; ++c)
        _mm_prefetch(reinterpret_cast<const char*>(b + c * b_row + k + kAhead), _MM_HINT_T0);
      add_line(a + k, a_row, b + k, b_row);
    }
    if (k == count) return;
    float last_a[rows * kLine] = {};
    uint8_t last_b[columns * kLine] = {};
    for (int r = 0; r < rows; ++r) copy_elements(a + r * a_row + k, last_a + r * kLine, count - k);
    for (int c = 0; c < columns; ++c)
      copy_elements(b + c * b_row + k, last_b + c * kLine, count - k);
    add_line(last_a, kLine, last_b, kLine);
  }
  HWY_INLINE bool is_special(int c) const {
    return !hn::AllFalse(ByteTag(), hn::Eq(largest[c], hn::Set(ByteTag(), 255)));
  }
  HWY_INLINE float result(int r, int c) const {
    return sum(sums[r][c][0] + sums[r][c][1]) * Small::kScale;
  }
};

template <class Small, int rows, int columns>
void multiply_small(const BlockProduct& p, int64_t first_row, int64_t column, int64_t apart,
                    float* scratch) {
  SmallDots<Small, rows, columns> dots;
  dots.add(p.a + first_row * p.a_row, p.a_row, p.b.data + column * p.b.row_bytes,
           apart * p.b.row_bytes, p.b.inner);
  for (int c = 0; c < columns; ++c) {
    const int64_t j = column + c * apart;
    for (int r = 0; r < rows; ++r) p.c[(first_row + r) * p.c_row + j] = dots.result(r, c);
    if (dots.is_special(c)) multiply_decoded(p, {j, j + 1}, scratch);
  }
}

template <class Small, int rows>
void multiply_small(const BlockProduct& p, int64_t first_row, Range columns, float* scratch) {
  constexpr int kTogether = rows == 1 ? 4 : 1;  // streams to the memory
  const int64_t apart = (columns.end - columns.begin) / kTogether;
  for (int64_t j = columns.begin; j < columns.begin + apart; ++j)
    multiply_small<Small, rows, kTogether>(p, first_row, j, apart, scratch);
  for (int64_t j = columns.begin + kTogether * apart; j < columns.end; ++j)
    multiply_small<Small, rows, 1>(p, first_row, j, 0, scratch);
}

// Whether products of a row with what is smaller by a scale keep all of their bits.
HWY_INLINE bool is_large_enough(const float* x, int64_t count) {
  F highest = set(0.0F);
  for (int64_t i = 0; i < count; i += kLanes)
    highest = max(abs(load_some(x + i, count - i)), highest);
  const float most = largest(highest);
  return most == 0 || most >= 0x1p-90F;
}

template <class Small>
void multiply_small(const BlockProduct& p, Range columns, float* scratch) {
  for (int64_t r = 0; r < p.rows && Small::kScale != 1; ++r)
    if (!is_large_enough(p.a + r * p.a_row, p.b.inner))
      return multiply_decoded(p, columns, scratch);
  int64_t row = 0;
  for (; row + 4 <= p.rows; row += 4) multiply_small<Small, 4>(p, row, columns, scratch);
  for (; row < p.rows; ++row) multiply_small<Small, 1>(p, row, columns, scratch);
}

void multiply(const BlockProduct& p, Range columns, float* scratch) {
  if (p.b.decode == decode_small<E4m3>) return multiply_small<E4m3>(p, columns, scratch);
  if (p.b.decode == decode_small<E5m2>) return multiply_small<E5m2>(p, columns, scratch);
  multiply_decoded(p, columns, scratch);
}

#else

void multiply(const BlockProduct& p, Range columns, float* scratch) {
  multiply_decoded(p, columns, scratch);
}

#endif

void multiply_back(const BlockProduct& p, int64_t columns, Range blocks, float* scratch) {
  const BlockShape& shape = p.b.shape;
  const int64_t stretch = stretch_of(shape);
  for (int64_t block = blocks.begin; block < blocks.end; block += stretch) {
    const int64_t count = std::min(stretch, blocks.end - block), first = block * shape.elements,
                  elements = count * shape.elements;
    for (int64_t r = 0; r < p.rows; ++r)
      std::memset(p.c + r * p.c_row + first, 0, static_cast<size_t>(elements) * sizeof(float));
    for (int64_t j = 0; j < columns; ++j) {
      p.b.decode(shape, p.b.data + j * p.b.row_bytes + block * shape.bytes, count, scratch);
      for (int64_t r = 0; r < p.rows; ++r) {
        const F factor = set(p.a[r * p.a_row + j]);
        float* c = p.c + r * p.c_row + first;
        for (int64_t k = 0; k < elements; k += kLanes)
          store_some(
              mul_add(factor, load_some(scratch + k, elements - k), load_some(c + k, elements - k)),
              c + k, elements - k);
      }
    }
  }
}

BlockFunctions make() { return {decoder, multiply, multiply_back, scratch_size}; }

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
BlockFunctions block_functions(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
