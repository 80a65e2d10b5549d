#include "rlx/tensor/blocks/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <set>

#include "rlx/base/error.h"
#include "rlx/tensor/blocks/families.h"

namespace rlx {
namespace {

std::vector<float> decoded(const BlockFormat& format, const std::vector<uint8_t>& block) {
  EXPECT_EQ(static_cast<int64_t>(block.size()), format.bytes);
  std::vector<float> values(static_cast<size_t>(format.elements));
  format.decode(format, block.data(), values.data());
  return values;
}

// A block of zeros with some bytes set.
std::vector<uint8_t> block_with(const BlockFormat& format,
                                std::initializer_list<std::pair<int, int>> bytes) {
  std::vector<uint8_t> block(static_cast<size_t>(format.bytes));
  for (const auto& [at, value] : bytes)
    block[static_cast<size_t>(at)] = static_cast<uint8_t>(value);
  return block;
}

Tensor floats(int64_t rows, int64_t k) {
  std::mt19937 engine(7);
  std::normal_distribution<float> normal;
  Tensor values(DType::f32, {rows, k});
  for (float& x : values.mutable_data<float>()) x = normal(engine);
  return values;
}

Tensor scaled(const Tensor& values, float scale) {
  Tensor result = values.copy();
  for (float& x : result.mutable_data<float>()) x *= scale;
  return result;
}

double relative_error(const Tensor& got, const Tensor& want) {
  double off = 0, all = 0;
  for (int64_t i = 0; i < want.count(); ++i) {
    off += std::pow(got.at(i) - want.at(i), 2);
    all += std::pow(want.at(i), 2);
  }
  return std::sqrt(off / all);
}

TEST(BlockFormat, FieldsFillTheBlock) {
  std::set<std::string_view> names;
  for (const BlockFormat& format : block_formats()) {
    SCOPED_TRACE(format.name);
    EXPECT_TRUE(names.insert(format.name).second);
    int64_t at = 0;
    for (const BlockField& field : format.fields) {
      EXPECT_EQ(field.offset, at) << field.name;
      at += field.bytes;
    }
    EXPECT_EQ(at, format.bytes);
  }
  EXPECT_EQ(names.size(), 27u);
}

// 1 in f16 is 0x3c00.
TEST(BlockFormat, HandMadeBlocksOfNibbles) {
  const BlockFormat q4_0 = block_format("q4_0");
  const auto y = decoded(q4_0, block_with(q4_0, {{1, 0x3c}, {2, 0xf0}, {17, 0x1a}}));
  EXPECT_EQ(y[0], -8);
  EXPECT_EQ(y[16], 7);
  EXPECT_EQ(y[15], 2);
  EXPECT_EQ(y[31], -7);
  EXPECT_EQ(y[1], -8);
  const BlockFormat q5_1 = block_format("q5_1");
  const auto z = decoded(
      q5_1, block_with(q5_1, {{1, 0x40}, {3, 0xbc}, {4, 1}, {7, 0x80}, {8, 3}, {23, 0x20}}));
  EXPECT_EQ(z[0], (16 + 3) * 2 - 1);
  EXPECT_EQ(z[31], (16 + 2) * 2 - 1);
  EXPECT_EQ(z[1], -1);
  const BlockFormat iq4_nl = block_format("iq4_nl");
  const auto n = decoded(iq4_nl, block_with(iq4_nl, {{1, 0x3c}, {2, 0xf8}}));
  EXPECT_EQ(n[0], 1);
  EXPECT_EQ(n[16], 113);
  EXPECT_EQ(n[1], -127);
}

TEST(BlockFormat, HandMadeBlocksWithAMinimumOrBytes) {
  const BlockFormat q4_1 = block_format("q4_1");
  const auto y = decoded(q4_1, block_with(q4_1, {{1, 0x40}, {3, 0xbc}, {4, 0xf1}, {19, 0x20}}));
  EXPECT_EQ(y[0], 1 * 2 - 1);
  EXPECT_EQ(y[16], 15 * 2 - 1);
  EXPECT_EQ(y[31], 2 * 2 - 1);
  EXPECT_EQ(y[15], -1);
  const BlockFormat q5_0 = block_format("q5_0");
  const auto z =
      decoded(q5_0, block_with(q5_0, {{1, 0x40}, {2, 1}, {5, 0x80}, {6, 0x03}, {21, 0x20}}));
  EXPECT_EQ(z[0], (16 + 3 - 16) * 2);
  EXPECT_EQ(z[31], (16 + 2 - 16) * 2);
  EXPECT_EQ(z[16], -16 * 2);
  const BlockFormat q8_0 = block_format("q8_0");
  const auto b = decoded(q8_0, block_with(q8_0, {{1, 0x40}, {2, 0x7f}, {3, 0x80}, {33, 0xff}}));
  EXPECT_EQ(b[0], 254);
  EXPECT_EQ(b[1], -256);
  EXPECT_EQ(b[31], -2);
  const BlockFormat q8_k =
      block_format("q8_k");  // a scale of f32 and, behind all, sums for products
  const auto k =
      decoded(q8_k, block_with(q8_k, {{2, 0x80}, {3, 0x3f}, {4, 0x7f}, {259, 0x80}, {260, 0xff}}));
  EXPECT_EQ(k[0], 127);
  EXPECT_EQ(k[255], -128);
  EXPECT_EQ(k[254], 0);
}

TEST(BlockFormat, HandMadeSuperBlocksOfFewBits) {
  // Element 128 + 32 * 3 + 17: byte 32 + 17, the highest two bits, and part 15.
  const BlockFormat q2_k = block_format("q2_k");
  const auto y = decoded(
      q2_k,
      block_with(q2_k,
                 {{15, 0x52}, {16 + 32 + 17, 0xc0}, {0, 0x13}, {16, 2}, {81, 0x3c}, {83, 0x40}}));
  EXPECT_EQ(y[241], 2 * 3 - 2 * 5);
  EXPECT_EQ(y[240], -2 * 5);
  EXPECT_EQ(y[0], 3 * 2 - 2 * 1);
  EXPECT_EQ(y[16], 0);
  // The same element: its third bit is the highest of byte 17 of those, where none is 4 less. Scale
  // 15 has 4 bits in byte 7 and two in byte 11.
  const BlockFormat q3_k = block_format("q3_k");
  const auto z = decoded(
      q3_k,
      block_with(q3_k,
                 {{17, 0x80}, {32 + 32 + 17, 0x80}, {96 + 7, 0x50}, {96 + 11, 0xc0}, {109, 0x3c}}));
  EXPECT_EQ(z[241], 2 * (5 + 48 - 32));
  EXPECT_EQ(z[240], -4 * (5 + 48 - 32));
  EXPECT_EQ(z[0], -4 * -32);
  // Part 5 as in q4_k; byte 32 * 2 + 3 has its nibble above that of part 4, and bit 5 of byte 3 its
  // fifth bit.
  const BlockFormat q5_k = block_format("q5_k");
  const auto w = decoded(q5_k, block_with(q5_k, {{1, 0x3c},
                                                 {3, 0x3c},
                                                 {4 + 9, 0x21},
                                                 {4 + 1, 0x80},
                                                 {4 + 5, 0x40},
                                                 {16 + 3, 0x20},
                                                 {48 + 64 + 3, 0x50}}));
  EXPECT_EQ(w[163], (1 + 32) * (5 + 16) - (2 + 16));
  EXPECT_EQ(w[160], -(2 + 16));
  EXPECT_EQ(w[131], 0);
}

TEST(BlockFormat, HandMadeSuperBlocksOfLevelsAndOfThreeValues) {
  // Part 7: its scale has 4 bits above those of part 6, and two at the top of the word before.
  const BlockFormat iq4_xs = block_format("iq4_xs");
  const auto y =
      decoded(iq4_xs, block_with(iq4_xs, {{1, 0x3c}, {3, 0x80}, {7, 0x50}, {8 + 112 + 15, 0x8f}}));
  EXPECT_EQ(y[224 + 15], 113 * (5 + 32 - 32));
  EXPECT_EQ(y[255], 1 * 5);
  EXPECT_EQ(y[224], -127 * 5);
  EXPECT_EQ(y[0], -127 * -32);
  // Five values of three are the digits of a byte as a fraction of 256, rounded up: 2 0 1 2 1 is
  // 2/3 + 1/27 + 2/81 + 1/243 = 178/243, byte 188. Those of byte 3 are 32 elements apart, of byte
  // 40 sixteen, and the four of byte 50, of the last ones, four.
  const BlockFormat tq1_0 = block_format("tq1_0");
  const auto z = decoded(tq1_0, block_with(tq1_0, {{3, 188}, {40, 188}, {50, 188}, {53, 0x40}}));
  constexpr float kDigits[] = {2, -2, 0, 2, 0};
  for (int n = 0; n < 5; ++n) {
    EXPECT_EQ(z[static_cast<size_t>(3 + 32 * n)], kDigits[n]) << n;
    EXPECT_EQ(z[static_cast<size_t>(160 + 8 + 16 * n)], kDigits[n]) << n;
    if (n < 4) EXPECT_EQ(z[static_cast<size_t>(240 + 2 + 4 * n)], kDigits[n]) << n;
  }
  EXPECT_EQ(z[0], -2);
  const BlockFormat tq2_0 = block_format("tq2_0");
  const auto w = decoded(tq2_0, block_with(tq2_0, {{32 + 5, 0x84}, {65, 0x40}}));  // 0 1 0 2
  EXPECT_EQ(w[128 + 5], -2);
  EXPECT_EQ(w[128 + 32 + 5], 0);
  EXPECT_EQ(w[128 + 64 + 5], -2);
  EXPECT_EQ(w[128 + 96 + 5], 2);
}

TEST(BlockFormat, HandMadeSuperBlocks) {
  const BlockFormat q4_k = block_format("q4_k");
  // Part 5: its low scale bits in byte 9 of the packed ones, its high ones above part 1's.
  const auto y = decoded(q4_k, block_with(q4_k, {{1, 0x3c},
                                                 {3, 0x3c},
                                                 {4 + 9, 0x21},
                                                 {4 + 1, 0x80},
                                                 {4 + 5, 0x40},
                                                 {16 + 64 + 3, 0x50}}));
  EXPECT_EQ(y[160 + 3], (1 + 32) * 5 - (2 + 16));
  EXPECT_EQ(y[160], -(2 + 16));
  EXPECT_EQ(y[0], 0);
  const BlockFormat q6_k = block_format("q6_k");
  const auto z =
      decoded(q6_k, block_with(q6_k, {{209, 0x3c}, {192 + 15, 0xff}, {127, 0x70}, {191, 0xc0}}));
  EXPECT_EQ(z[255], -(7 + 48 - 32));
  EXPECT_EQ(z[254], 32);
}

TEST(BlockFormat, HandMadeIntegers) {
  const BlockFormat int4 = block_format("int4_block", 8);
  const auto y = decoded(int4, {0, 0, 0, 0x40, 0x8f, 0x70, 0, 0});  // scale 2
  EXPECT_EQ(y, (std::vector<float>{-2, -16, 0, 14, 0, 0, 0, 0}));
  const BlockFormat int3 = block_format("int3_block", 8);
  const auto z = decoded(int3, {0, 0, 0x80, 0x3f, 0xd1, 0x58, 0x1f});  // bits 1 2 3 4 5 -1 -1 0
  EXPECT_EQ(z, (std::vector<float>{1, 2, 3, -4, -3, -2, -1, 0}));
  const BlockFormat int2 = block_format("int2_block_asym", 8);
  const auto w = decoded(int2, {0, 0, 0x80, 0x3f, 0, 0, 0xc0, 0x3f, 0xe4, 0});  // zero point 1.5
  EXPECT_EQ(w, (std::vector<float>{-1.5, -0.5, 0.5, 1.5, -1.5, -1.5, -1.5, -1.5}));
  const BlockFormat signed2 = block_format("int2_block", 8);
  EXPECT_EQ(decoded(signed2, {0, 0, 0x80, 0x3f, 0xe4, 0x1b}),
            (std::vector<float>{0, 1, -2, -1, -1, -2, 1, 0}));
  const BlockFormat shifted3 = block_format("int3_block_asym", 8);  // scale 2, zero point 0.5
  EXPECT_EQ(decoded(shifted3, {0, 0, 0, 0x40, 0, 0, 0, 0x3f, 0xd1, 0x58, 0x1f}),
            (std::vector<float>{1, 3, 5, 7, 9, 11, 13, -1}));
  const BlockFormat shifted4 = block_format("int4_block_asym", 8);  // scale 1, zero point 8
  EXPECT_EQ(decoded(shifted4, {0, 0, 0x80, 0x3f, 0, 0, 0, 0x41, 0xf0, 0x98, 0, 0x70}),
            (std::vector<float>{-8, 7, 0, 1, -8, -8, -8, -1}));
  const BlockFormat int8 = block_format("int8_block", 8);
  EXPECT_EQ(decoded(int8, {0, 0, 0, 0x40, 1, 0xff, 0x80, 0x7f, 0, 0, 0, 2}),
            (std::vector<float>{2, -2, -256, 254, 0, 0, 0, 4}));
  const BlockFormat shifted8 = block_format("int8_block_asym", 8);  // scale 2, zero point 1.5
  EXPECT_EQ(decoded(shifted8, {0, 0, 0, 0x40, 0, 0, 0xc0, 0x3f, 0, 0xff, 0x80, 1, 2, 0, 0, 3}),
            (std::vector<float>{-3, 507, 253, -1, 1, -3, -3, 3}));
}

TEST(BlockFormat, SmallFloatsAreWhatOcpSays) {
  const BlockFormat e4m3 = block_format("fp8_e4m3"), e5m2 = block_format("fp8_e5m2");
  EXPECT_EQ(decoded(e4m3, {0x7e})[0], 448);
  EXPECT_EQ(decoded(e4m3, {0x01})[0], 0x1p-9F);
  EXPECT_EQ(decoded(e4m3, {0x08})[0], 0x1p-6F);
  EXPECT_EQ(decoded(e4m3, {0xb8})[0], -1);
  EXPECT_TRUE(std::isnan(decoded(e4m3, {0x7f})[0]));
  EXPECT_TRUE(std::isnan(decoded(e4m3, {0xff})[0]));
  EXPECT_EQ(decoded(e5m2, {0x7b})[0], 57344);
  EXPECT_EQ(decoded(e5m2, {0x01})[0], 0x1p-16F);
  EXPECT_EQ(decoded(e5m2, {0xfc})[0], -INFINITY);
  EXPECT_TRUE(std::isnan(decoded(e5m2, {0x7d})[0]));
  // Every byte comes back from its value.
  for (int byte = 0; byte < 256; ++byte)
    for (const BlockFormat& format : {e4m3, e5m2}) {
      const float value = decoded(format, {static_cast<uint8_t>(byte)})[0];
      uint8_t back = 0;
      format.encode(format, &value, &back);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(decoded(format, {back})[0])) << byte;
      else
        EXPECT_EQ(back, byte) << format.name;
    }
  // Halfway between 16 and 18 the even mantissa.
  EXPECT_EQ(decoded(e4m3, {blocks::e4m3_of(17)})[0], 16);
  EXPECT_EQ(decoded(e4m3, {blocks::e4m3_of(19)})[0], 20);
  EXPECT_EQ(decoded(e4m3, {blocks::e4m3_of(1e9F)})[0], 448);
}

TEST(BlockFormat, NvFp4HasTheLevelsOfE2m1) {
  const BlockFormat nvfp4 = block_format("nvfp4");
  const auto y = decoded(nvfp4, {0x40, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe});  // scale 2
  EXPECT_EQ(y, (std::vector<float>{0, 1, 2, 3, 4, 6, 8, 12, -0.0F, -1, -2, -3, -4, -6, -8, -12}));
}

TEST(BlockFormat, MxFp4HasAPowerOfTwo) {
  const BlockFormat mxfp4 = block_format("mxfp4");
  const auto y =
      decoded(mxfp4, block_with(mxfp4, {{0, 128}, {1, 0x71}, {2, 0xf2}, {16, 0x9e}}));  // 2
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[16], 12);
  EXPECT_EQ(y[1], 2);
  EXPECT_EQ(y[17], -12);
  EXPECT_EQ(y[15], -8);
  EXPECT_EQ(y[31], -1);
  EXPECT_EQ(decoded(mxfp4, block_with(mxfp4, {{0, 0}, {1, 0x02}}))[0], 0x1p-127F);
  EXPECT_EQ(decoded(mxfp4, block_with(mxfp4, {{0, 252}, {1, 0x07}}))[0], 6 * 0x1p125F);
}

// What a normal distribution loses in each format, as ggml's encoders do within a few percent.
TEST(BlockFormat, RoundTripsLoseWhatIsKnown) {
  const std::map<std::string_view, double> most = {{"q4_0", 0.092},
                                                   {"q4_1", 0.085},
                                                   {"q5_0", 0.046},
                                                   {"q5_1", 0.041},
                                                   {"q8_0", 0.0060},
                                                   {"q8_k", 0.0085},
                                                   {"q2_k", 0.34},
                                                   {"q3_k", 0.18},
                                                   {"q4_k", 0.082},
                                                   {"q5_k", 0.041},
                                                   {"q6_k", 0.021},
                                                   {"iq4_nl", 0.083},
                                                   {"iq4_xs", 0.084},
                                                   {"mxfp4", 0.14},
                                                   {"nvfp4", 0.105},
                                                   {"fp8_e4m3", 0.027},
                                                   {"fp8_e5m2", 0.053},
                                                   {"int2_block", 0.55},
                                                   {"int3_block", 0.20},
                                                   {"int4_block", 0.09},
                                                   {"tq1_0", 0.9},
                                                   {"int2_block_asym", 0.6},
                                                   {"int3_block_asym", 0.19},
                                                   {"tq2_0", 0.9},
                                                   {"int4_block_asym", 0.09},
                                                   {"int8_block", 0.006},
                                                   {"int8_block_asym", 0.006}};
  const Tensor values = floats(16, 512);
  for (const BlockFormat& format : block_formats()) {
    const Tensor back = decode_blocks(encode_blocks(values, format), format);
    ASSERT_EQ(back.shape(), values.shape());
    const double error = relative_error(back, values);
    EXPECT_LT(error, most.at(format.name)) << format.name;
    EXPECT_GT(error, most.at(format.name) / 2.5) << format.name << ": the bound says nothing";
  }
}

// The deviation that weights of large models have. Some formats have no scale that reaches so far
// down: they need one of the tensor.
TEST(BlockFormat, SmallWeightsLoseNoMoreThanOthers) {
  const Tensor values = floats(16, 512), small = scaled(values, 0.02F);
  for (const BlockFormat& format : block_formats()) {
    const float scale = tensor_scale(small, format);
    EXPECT_EQ(scale == 1, format.largest == 0) << format.name;
    const Tensor bytes = encode_blocks(scaled(small, 1 / scale), format);
    const double error = relative_error(scaled(decode_blocks(bytes, format), scale), small),
                 known =
                     relative_error(decode_blocks(encode_blocks(values, format), format), values);
    EXPECT_LT(error, 1.05 * known) << format.name;
  }
}

TEST(BlockFormat, AScaleOfATensorIsForFiniteNumbers) {
  const BlockFormat nvfp4 = block_format("nvfp4");
  const auto scale_of = [&](std::initializer_list<double> values) {
    return tensor_scale(Tensor::of(DType::f32, {static_cast<int64_t>(values.size())}, values),
                        nvfp4);
  };
  EXPECT_EQ(scale_of({1, -2688, INFINITY, NAN}), 1);
  EXPECT_EQ(scale_of({0.5, -1344}), 0.5F);
  EXPECT_EQ(scale_of({0, -0.0}), 1);
  EXPECT_GT(scale_of({1e-40}), 0);
}

TEST(BlockFormat, ZerosStayZeros) {
  for (const BlockFormat& format : block_formats()) {
    const Tensor zeros(DType::f32, {1, format.elements});
    const Tensor back = decode_blocks(encode_blocks(zeros, format), format);
    for (int64_t i = 0; i < back.count(); ++i) ASSERT_EQ(back.at(i), 0) << format.name << ' ' << i;
  }
}

std::string error_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(BlockFormat, ErrorsNameFormatAndBlock) {
  EXPECT_EQ(error_of([] { block_format("q4_k").row_bytes(300); }),
            "q4_k: a row of 300 elements is no whole number of blocks of 256");
  EXPECT_EQ(error_of([] { block_format("q4_0").row_elements(19); }),
            "q4_0: a row of 19 bytes is no whole number of blocks of 18 bytes (32 elements)");
  EXPECT_EQ(error_of([] { block_format("q4_0", 64); }), "q4_0: a block has 32 elements, not 64");
  EXPECT_EQ(error_of([] { block_format("int4_block", 12); }),
            "int4_block: a block of 12 elements; it needs a multiple of 8, at most 1048576");
  EXPECT_EQ(error_of([] {
              block_format("q9");
            }).rfind("there is no block format 'q9'; there are int2", 0),
            0u);
}

// What ggml wrote, where it lies beside the tree.
class GgmlVectors : public testing::TestWithParam<const char*> {};
std::vector<char> bytes_of_file(const std::string& name) {
  std::ifstream file(std::string(RLX_SOURCE_DIR "/../shared/data/ggml-quant-vectors/") + name,
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
TEST_P(GgmlVectors, AreDecodedBitForBit) {
  std::string name = GetParam();
  const std::vector<char> blocks = bytes_of_file(name + ".blocks"),
                          want = bytes_of_file(name + ".f32"), input = bytes_of_file("input.f32");
  if (blocks.empty()) GTEST_SKIP() << "there is no ../shared/data/ggml-quant-vectors";
  for (char& c : name) c = static_cast<char>(std::tolower(c));
  const BlockFormat format = block_format(name);
  Tensor bytes(DType::u8, {static_cast<int64_t>(blocks.size())});
  std::memcpy(bytes.mutable_bytes().data(), blocks.data(), blocks.size());
  const Tensor got = decode_blocks(bytes, format);
  ASSERT_EQ(got.bytes().size(), want.size());
  EXPECT_EQ(std::memcmp(got.bytes().data(), want.data(), want.size()), 0);
  // What we encode loses little more than what ggml did.
  Tensor values(DType::f32, {static_cast<int64_t>(input.size() / 4)});
  std::memcpy(values.mutable_bytes().data(), input.data(), input.size());
  const double ours = relative_error(decode_blocks(encode_blocks(values, format), format), values);
  EXPECT_LT(ours, 1.08 * relative_error(got, values));
}
INSTANTIATE_TEST_SUITE_P(Formats, GgmlVectors,
                         testing::Values("q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_K", "q3_K",
                                         "q4_K", "q5_K", "q6_K", "iq4_nl", "iq4_xs", "mxfp4",
                                         "tq1_0", "tq2_0"));

}  // namespace
}  // namespace rlx
