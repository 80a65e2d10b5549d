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

void multiply(const BlockProduct& p, Range columns, float* scratch) {
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
