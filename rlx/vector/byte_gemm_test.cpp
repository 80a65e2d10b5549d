#include "rlx/vector/byte_gemm.h"

#include <gtest/gtest.h>

#include "rlx/vector/testing.h"

namespace rlx::vector {
namespace {

std::vector<uint8_t> random_bytes(int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<uint8_t> bytes;
  // The largest ones often: sums of 16 bits would be cut there.
  for (int64_t i = 0; i < count; ++i)
    bytes.push_back(static_cast<uint8_t>(engine() % 3 == 0 ? 255 : engine() % 256));
  return bytes;
}
int64_t number(const std::vector<uint8_t>& bytes, int64_t at, bool is_signed) {
  const uint8_t byte = bytes[static_cast<size_t>(at)];
  return is_signed ? static_cast<int8_t>(byte) : byte;
}

struct Case {
  int64_t rows, columns, inner;
  bool a_signed, b_signed, transposed, b_zeros;
};

void compare(const ByteGemm& gemm, const Case& c) {
  const auto a = random_bytes(c.rows * c.inner, 1), b = random_bytes(c.inner * c.columns, 2);
  const ByteMatrix left{a.data(), c.a_signed, c.inner, 1},
      right{b.data(), c.b_signed, c.transposed ? 1 : c.columns, c.transposed ? c.inner : 1};
  const int64_t panels = gemm.panels(c.columns), width = panels * gemm.panel_columns;
  const auto sized = [](int64_t count) { return static_cast<size_t>(count); };
  std::vector<uint32_t> rows(sized(c.rows * gemm.words(c.inner))),
      packed(sized(gemm.packed_words(c.inner, c.columns)));
  std::vector<int32_t> row_sums(sized(c.rows)), column_sums(sized(width)), a_zero, b_zero,
      y(sized(c.rows * c.columns));
  for (int64_t r = 0; r < c.rows; ++r)
    a_zero.push_back(static_cast<int32_t>(r % 5) + gemm.a_shift(c.a_signed));
  for (int64_t j = 0; j < width; ++j)
    b_zero.push_back((c.b_zeros ? static_cast<int32_t>(j % 7) : 0) + gemm.b_shift(c.b_signed));
  gemm.take_rows(left, c.inner, {0, c.rows}, rows.data(), row_sums.data());
  gemm.pack(right, c.inner, c.columns, {0, panels}, packed.data(), column_sums.data());
  const bool has_zeros = c.b_zeros || gemm.b_shift(c.b_signed) != 0;
  const ByteProduct product{.rows = c.rows,
                            .columns = c.columns,
                            .inner = c.inner,
                            .a = rows.data(),
                            .a_sums = row_sums.data(),
                            .b = packed.data(),
                            .b_sums = column_sums.data(),
                            .a_zero = a_zero.data(),
                            .a_zero_step = 1,
                            .b_zero = has_zeros ? b_zero.data() : nullptr,
                            .c = y.data(),
                            .c_row = c.columns};
  gemm.run(product, {0, c.rows / 2}, {0, panels});
  gemm.run(product, {c.rows / 2, c.rows}, {0, panels});
  for (int64_t r = 0; r < c.rows; ++r)
    for (int64_t j = 0; j < c.columns; ++j) {
      int64_t want = 0;
      for (int64_t k = 0; k < c.inner; ++k)
        want += (number(a, r * c.inner + k, c.a_signed) - r % 5) *
                (number(b, c.transposed ? j * c.inner + k : k * c.columns + j, c.b_signed) -
                 (c.b_zeros ? j % 7 : 0));
      ASSERT_EQ(y[sized(r * c.columns + j)], want) << r << ", " << j;
    }
}

TEST(VectorByteGemm, SumsAreExactForEverySignAndZeroPoint) {
  for (const Isa isa : isas())
    for (const bool by_fours : {false, true}) {
      if (by_fours && !multiplies_bytes()) continue;
      const ByteGemm gemm = byte_gemm(isa, by_fours);
      for (const int64_t rows : {1, 2, 11, 27})
        for (const int64_t columns : {1, 17, 48, 100})
          for (const int64_t inner : {1, 3, 4, 63, 260})
            for (int bits = 0; bits < 16; ++bits) {
              SCOPED_TRACE(std::string(name_of(isa)) + (by_fours ? " by fours " : " ") +
                           std::to_string(rows) + " x " + std::to_string(inner) + " x " +
                           std::to_string(columns) + ", " + std::to_string(bits));
              compare(gemm, {rows, columns, inner, (bits & 1) != 0, (bits & 2) != 0,
                             (bits & 4) != 0, (bits & 8) != 0});
              if (testing::Test::HasFatalFailure()) return;
            }
    }
}

TEST(VectorByteGemm, NothingTimesNothingIsZero) {
  for (const Isa isa : isas()) {
    const ByteGemm gemm = byte_gemm(isa);
    std::vector<int32_t> sums(static_cast<size_t>(gemm.panel_columns)), y{7};
    const int32_t zero = 3;
    gemm.pack({}, 0, 1, {0, 1}, nullptr, sums.data());
    gemm.run({.rows = 1, .columns = 1, .b_sums = sums.data(), .a_zero = &zero, .c = y.data()},
             {0, 1}, {0, 1});
    EXPECT_EQ(y[0], 0);
  }
}

}  // namespace
}  // namespace rlx::vector
