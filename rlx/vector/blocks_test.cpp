#include "rlx/vector/blocks.h"

#include <gtest/gtest.h>

#include "rlx/tensor/blocks/format.h"
#include "rlx/vector/testing.h"

namespace rlx::vector {
namespace {

BlockRows rows_of(const BlockFormat& format, Isa isa) {
  BlockRows rows;
  rows.shape = {format.elements, format.bytes, format.bits, format.has_zero};
  rows.decode = block_functions(isa).decoder(format.name);
  return rows;
}

std::vector<BlockFormat> formats() {
  std::vector<BlockFormat> all = block_formats();
  for (const char* name : {"int4_block", "int3_block_asym", "int8_block"})
    for (const int64_t block : {8, 264}) all.push_back(block_format(name, block));
  return all;
}

// Any bytes are blocks; scales of f16 and f32 in them may be anything, NaN too.
Tensor random_bytes(const BlockFormat& format, int64_t blocks) {
  Tensor bytes(DType::u8, {blocks * format.bytes});
  std::mt19937 engine(3);
  for (uint8_t& byte : bytes.mutable_data<uint8_t>()) byte = static_cast<uint8_t>(engine() >> 8);
  return bytes;
}

TEST(VectorBlocks, DecodeWhatTheFormatSays) {
  for (const BlockFormat& format : formats())
    for (const Isa isa : isas()) {
      SCOPED_TRACE(std::string(format.name) + " " + std::to_string(format.elements) + " " +
                   name_of(isa));
      const int64_t blocks = format.elements == 1 ? 263 : 7;
      Tensor bytes = random_bytes(format, blocks);
      if (format.elements == 1)
        for (int i = 0; i < 256; ++i) bytes.set_integer(i, i);
      const Tensor want = decode_blocks(bytes, format);
      const BlockRows rows = rows_of(format, isa);
      ASSERT_TRUE(rows.decode);
      std::vector<float> got(static_cast<size_t>(want.count()) + 1, 77.0F);
      rows.decode(rows.shape, bytes.data<uint8_t>().data(), blocks, got.data());
      EXPECT_EQ(got.back(), 77.0F) << "writes beyond the end";
      for (int64_t i = 0; i < want.count(); ++i) {
        const float expected = want.data<float>()[size_t(i)];
        // A minimum that is subtracted may be fused with the product before.
        const double allowed = 1e-6 * (1 + std::abs(static_cast<double>(expected)));
        if (std::isnan(expected) || std::isinf(expected))
          ASSERT_EQ(std::isnan(got[size_t(i)]), std::isnan(expected)) << i;
        else
          ASSERT_TRUE(ulps(got[size_t(i)], expected) <= 4 ||
                      std::abs(static_cast<double>(got[size_t(i)] - expected)) <= allowed)
              << i << ": " << got[size_t(i)] << ", not " << expected;
      }
    }
}

TEST(VectorBlocks, ProductsAreThoseOfWhatIsDecoded) {
  constexpr int64_t kColumns = 5;
  for (const BlockFormat& format : formats())
    for (const Isa isa : isas())
      for (const int64_t row_count : {1, 3, 9}) {
        SCOPED_TRACE(std::string(format.name) + " " + name_of(isa));
        const int64_t inner = format.elements == 1 ? 1031 : 9 * format.elements;
        Tensor values(DType::f32, {kColumns, inner});
        const auto random = random_floats(kColumns * inner);
        std::copy(random.begin(), random.end(), values.mutable_data<float>().begin());
        const Tensor bytes = encode_blocks(values, format), w = decode_blocks(bytes, format);
        const BlockFunctions functions = block_functions(isa);
        BlockProduct product{.b = rows_of(format, isa)};
        product.b.data = bytes.data<uint8_t>().data();
        product.b.row_bytes = bytes.shape()[1];
        product.b.inner = inner;
        std::vector<float> scratch(static_cast<size_t>(functions.scratch_size(product.b.shape)));
        const auto a = random_floats(row_count * inner, -1, 1, 5);
        std::vector<float> c(static_cast<size_t>(row_count * kColumns)), back(a.size());
        product.a = a.data(), product.rows = row_count, product.a_row = inner;
        product.c = c.data(), product.c_row = kColumns;
        functions.multiply(product, {0, kColumns}, scratch.data());
        for (int64_t r = 0; r < row_count; ++r)
          for (int64_t j = 0; j < kColumns; ++j) {
            double want = 0;
            for (int64_t k = 0; k < inner; ++k)
              want += static_cast<double>(a[size_t(r * inner + k)]) * w.at(j * inner + k);
            ASSERT_NEAR(c[size_t(r * kColumns + j)], want, 1e-6 * static_cast<double>(inner))
                << r << ' ' << j;
          }
        product.a = c.data(), product.a_row = kColumns;
        product.c = back.data(), product.c_row = inner;
        functions.multiply_back(product, kColumns, {0, inner / format.elements}, scratch.data());
        for (int64_t r = 0; r < row_count; ++r)
          for (int64_t k = 0; k < inner; ++k) {
            double want = 0, size = 1;
            for (int64_t j = 0; j < kColumns; ++j) {
              const double term =
                  static_cast<double>(c[size_t(r * kColumns + j)]) * w.at(j * inner + k);
              want += term, size += std::abs(term);
            }
            ASSERT_NEAR(back[size_t(r * inner + k)], want, 1e-6 * size) << r << ' ' << k;
          }
      }
}

// Rows of fp8 are multiplied as they are read: what f16 has not is found on the way.
TEST(VectorBlocks, ANumberThatIsNoneStaysInItsColumn) {
  constexpr int64_t kColumns = 9, kInner = 200;
  for (const char* name : {"fp8_e4m3", "fp8_e5m2"})
    for (const Isa isa : isas())
      for (const int64_t where : {0, 63, 64, 127, 191, 192, 199})
        for (const int64_t row_count : {1, 5}) {
          SCOPED_TRACE(std::string(name) + " " + name_of(isa) + " " + std::to_string(where));
          std::vector<uint8_t> w(kColumns * kInner, 0x38);
          w[size_t(6 * kInner + where)] = where % 2 ? 0xff : 0x7f;
          const std::vector<float> a(static_cast<size_t>(row_count * kInner), 1.0F);
          std::vector<float> c(static_cast<size_t>(row_count * kColumns)), scratch(4096);
          BlockProduct product{.b = rows_of(block_format(name), isa)};
          product.b.data = w.data(), product.b.row_bytes = product.b.inner = kInner;
          product.a = a.data(), product.rows = row_count, product.a_row = kInner;
          product.c = c.data(), product.c_row = kColumns;
          block_functions(isa).multiply(product, {0, kColumns}, scratch.data());
          for (int64_t r = 0; r < row_count; ++r)
            for (int64_t j = 0; j < kColumns; ++j)
              ASSERT_EQ(std::isnan(c[size_t(r * kColumns + j)]), j == 6) << r << ' ' << j;
        }
}

TEST(VectorBlocks, ProductsOfSmallRowsKeepTheirBits) {
  constexpr int64_t kInner = 80;
  for (const char* name : {"fp8_e4m3", "fp8_e5m2"})
    for (const Isa isa : isas()) {
      SCOPED_TRACE(std::string(name) + " " + name_of(isa));
      Tensor bytes(DType::u8, {1, kInner});
      for (int i = 0; i < kInner; ++i) bytes.set_integer(i, i);
      const Tensor w = decode_blocks(bytes, block_format(name));
      std::vector<float> a(kInner), scratch(4096);
      double want = 0;
      for (int64_t k = 0; k < kInner; ++k) {
        a[size_t(k)] = 0x1.234567p-118F * static_cast<float>(k);
        want += static_cast<double>(a[size_t(k)]) * w.at(k);
      }
      float y = 0;
      BlockProduct product{.b = rows_of(block_format(name), isa)};
      product.b.data = bytes.data<uint8_t>().data();
      product.b.row_bytes = product.b.inner = product.a_row = kInner;
      product.a = a.data(), product.rows = 1, product.c = &y, product.c_row = 1;
      block_functions(isa).multiply(product, {0, 1}, scratch.data());
      EXPECT_NEAR(y / want, 1, 1e-6);
    }
}

}  // namespace
}  // namespace rlx::vector
