#include "rlx/vector/block_bytes.h"

#include <gtest/gtest.h>

#include "rlx/tensor/blocks/format.h"
#include "rlx/vector/byte_gemm.h"
#include "rlx/vector/testing.h"

namespace rlx::vector {
namespace {

// The ways that this machine can run.
std::vector<BlockBytesFunctions> ways() {
  std::vector<BlockBytesFunctions> all;
  for (const Isa isa : isas()) all.push_back(block_bytes(isa, false));
  if (multiplies_bytes()) all.push_back(block_bytes(best_isa(), true));
  return all;
}

struct Case {
  BlockFormat format;
  int64_t columns, inner;
  Tensor bytes, w;  // blocks, and what they decode to
  Case(const BlockFormat& of, int64_t n, int64_t blocks)
      : format(of), columns(n), inner(blocks * of.elements) {
    Tensor values(DType::f32, {columns, inner});
    const auto random = random_floats(columns * inner);
    std::copy(random.begin(), random.end(), values.mutable_data<float>().begin());
    bytes = encode_blocks(values, format);
    w = decode_blocks(bytes, format);
  }
  BlockRows rows() const {
    return {.shape = {format.elements, format.bytes, format.bits, format.has_zero},
            .data = bytes.data<uint8_t>().data(),
            .row_bytes = bytes.shape()[1],
            .inner = inner};
  }
};

// Rows of x as whole numbers, with the memory that they are in.
struct Whole {
  std::vector<int32_t> words;
  std::vector<float> floats;
  std::vector<WholeRow> rows;
  bool are_all = true;
  Whole(const BlockBytesFunctions& way, const BlockBytesFormat& format, const std::vector<float>& x,
        int64_t inner) {
    const int64_t count = static_cast<int64_t>(x.size()) / inner;
    words.resize(static_cast<size_t>(count * WholeRow::words(inner)));
    floats.resize(static_cast<size_t>(count * WholeRow::floats(inner)));
    for (int64_t r = 0; r < count; ++r) {
      rows.emplace_back(words.data() + r * WholeRow::words(inner),
                        floats.data() + r * WholeRow::floats(inner), inner);
      are_all &= way.take_row(x.data() + r * inner, inner, format, rows.back());
    }
  }
};

std::vector<BlockFormat> formats() {
  std::vector<BlockFormat> all = block_formats();
  for (const char* name : {"int2_block", "int3_block", "int3_block_asym", "int4_block",
                           "int4_block_asym", "int8_block", "int8_block_asym"})
    for (const int64_t block : {64, 288}) all.push_back(block_format(name, block));
  return all;
}

TEST(VectorBlockBytes, ProductsAreAsExactAsThoseOfFloats) {
  constexpr int64_t kColumns = 9, kRows = 5;
  int compared = 0;
  for (const BlockFormat& format : formats())
    for (const int64_t blocks : {1, 9, 10})
      for (const BlockBytesFunctions& way : ways()) {
        const Case c(format, kColumns, blocks);
        const BlockBytesFormat spread = way.format(format.name, c.rows().shape);
        if (!spread.multiply) continue;
        SCOPED_TRACE(std::string(format.name) + " " + std::to_string(c.inner));
        std::vector<float> x = random_floats(kRows * c.inner, -1, 1, 5);
        for (int64_t i = 0; i < c.inner; ++i) x[size_t(i)] *= i / 32 % 2 ? 1e-9F : 1e9F;
        const Whole whole(way, spread, x, c.inner);
        ASSERT_EQ(whole.are_all, c.inner % 32 == 0);  // whole units only
        if (!whole.are_all) continue;
        std::vector<float> y(kRows * kColumns);
        spread.multiply({c.rows(), whole.rows.data(), kRows, y.data(), kColumns}, {0, kColumns});
        for (int64_t r = 0; r < kRows; ++r)
          for (int64_t j = 0; j < kColumns; ++j) {
            double want = 0, magnitude = 0;
            for (int64_t k = 0; k < c.inner; ++k) {
              const double product =
                  static_cast<double>(x[size_t(r * c.inner + k)]) * c.w.at(j * c.inner + k);
              want += product;
              magnitude += std::abs(product);
            }
            ASSERT_NEAR(y[size_t(r * kColumns + j)], want, 1e-6 * magnitude) << r << ' ' << j;
          }
        ++compared;
      }
  if (best_isa() >= Isa::avx2) {
    EXPECT_GT(compared, 20);
  }
}

TEST(VectorBlockBytes, EveryFormatWithAScaleHasAWay) {
  if (!multiplies_bytes()) GTEST_SKIP() << "the processor does not multiply bytes by fours";
  for (const BlockFormat& format : formats()) {
    const BlockShape shape = {format.elements, format.bytes, format.bits, format.has_zero};
    EXPECT_EQ(block_bytes(best_isa(), true).format(format.name, shape).multiply != nullptr,
              format.elements > 1)
        << format.name;
  }
}

// Any bytes are blocks, and only some of them are what an encoder writes.
TEST(VectorBlockBytes, DigitsThatNoEncoderWritesAreReadAsTheFormatSays) {
  constexpr int64_t kColumns = 5;
  Case c(block_format("tq1_0"), kColumns, 2);
  const auto bytes = c.bytes.mutable_data<uint8_t>();
  for (size_t i = 0; i < bytes.size(); ++i)
    if (i % 54 < 52) bytes[i] = static_cast<uint8_t>(i * 7);  // d stays
  c.w = decode_blocks(c.bytes, c.format);
  for (const BlockBytesFunctions& way : ways()) {
    const BlockBytesFormat spread = way.format("tq1_0", c.rows().shape);
    if (!spread.multiply) continue;
    for (int64_t k = 0; k < c.inner; ++k) {
      std::vector<float> x(static_cast<size_t>(c.inner)), y(kColumns);
      x[size_t(k)] = 1;
      const Whole whole(way, spread, x, c.inner);
      spread.multiply({c.rows(), whole.rows.data(), 1, y.data(), kColumns}, {0, kColumns});
      for (int64_t j = 0; j < kColumns; ++j)
        ASSERT_NEAR(y[size_t(j)], c.w.at(j * c.inner + k), 1e-6) << k << ' ' << j;
    }
  }
}

// Just below a power of two, and neighbours of each digit of tq1_0 with the other sign: 3 times one
// less the other is as large as can be.
TEST(VectorBlockBytes, TheLargestNumbersFitTheirDigits) {
  constexpr int64_t kColumns = 5;
  for (const BlockFormat& format : block_formats())
    for (const BlockBytesFunctions& way : ways()) {
      const Case c(format, kColumns, format.elements < 256 ? 8 : 1);
      const BlockBytesFormat spread = way.format(format.name, c.rows().shape);
      if (!spread.multiply) continue;
      for (const float largest : {0x1.fffffep-1F, 0x1.fep-1F, 1.0F}) {
        std::vector<float> x(static_cast<size_t>(c.inner)), y(kColumns);
        for (size_t k = 0; k < x.size(); ++k)
          x[k] = (k < 160 ? k / 32 : k / 16) % 2 ? -largest : largest;
        const Whole whole(way, spread, x, c.inner);
        spread.multiply({c.rows(), whole.rows.data(), 1, y.data(), kColumns}, {0, kColumns});
        for (int64_t j = 0; j < kColumns; ++j) {
          double want = 0, magnitude = 0;
          for (int64_t k = 0; k < c.inner; ++k) {
            const double product = static_cast<double>(x[size_t(k)]) * c.w.at(j * c.inner + k);
            want += product;
            magnitude += std::abs(product);
          }
          ASSERT_NEAR(y[size_t(j)], want, 1e-6 * magnitude) << format.name << ' ' << largest;
        }
      }
    }
}

TEST(VectorBlockBytes, WholeNumbersStayWhatTheyAre) {
  for (const BlockBytesFunctions& way : ways()) {
    const Case c(block_format("q4_0"), 1, 2);
    const BlockBytesFormat spread = way.format("q4_0", c.rows().shape);
    if (!spread.multiply) continue;
    std::vector<float> x(64);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 19) - 9;
    const Whole whole(way, spread, x, 64);
    const WholeRow& row = whole.rows[0];
    for (int64_t i = 0; i < spread.tile; ++i) {
      const size_t element = spread.order[i];
      const int32_t number = row.digits[0][i] * 65536 + row.digits[1][i] * 256 + row.digits[2][i];
      if (element < x.size())
        EXPECT_EQ(static_cast<float>(number) * row.steps[element / 32], x[element]);
      else
        EXPECT_EQ(number, 0);
    }
  }
}

TEST(VectorBlockBytes, WhatHasNoStepsIsRefused) {
  for (const BlockBytesFunctions& way : ways()) {
    const Case c(block_format("q4_0"), 1, 1);
    const BlockBytesFormat spread = way.format("q4_0", c.rows().shape);
    if (!spread.multiply) continue;
    for (const float special : {NAN, INFINITY, -INFINITY, 1e-40F}) {
      std::vector<float> x(32, 0.0F);
      EXPECT_TRUE(Whole(way, spread, x, 32).are_all);
      x[7] = special;
      EXPECT_FALSE(Whole(way, spread, x, 32).are_all) << special;
    }
  }
}

}  // namespace
}  // namespace rlx::vector
