// What instruction sets without products of four bytes do to a convolution of bytes, which the
// machine of the test may not choose by itself.
#include <gtest/gtest.h>

#include "rlx/backend/cpu/fast_quantised.h"
#include "rlx/vector/testing.h"

namespace rlx::detail {
namespace {

constexpr int64_t kInputs = 40, kOutputs = 50, kHeight = 9, kWidth = 14;

Tensor bytes(DType dtype, const Shape& shape, uint32_t seed) {
  Tensor tensor(dtype, shape);
  for (std::byte& each : tensor.mutable_bytes()) {
    seed = seed * 1664525u + 1013904223u;
    each = static_cast<std::byte>(seed >> 24);
  }
  return tensor;
}
image::Argument argument(const Tensor& tensor) {
  return {.tensor = tensor, .present = true, .shape = tensor.shape()};
}

struct Ran {
  std::vector<int32_t> y;
  int64_t packed_bytes = 0;
};
Ran run(const CpuEnginePtr& engine, bool winograd, double w_zero = 0) {
  const Attrs attrs{{"auto_pad", ""},           {"groups", 1},
                    {"strides", Ints{1, 1}},    {"dilations", Ints{1, 1}},
                    {"pads", Ints{1, 1, 1, 1}}, {"winograd", winograd ? 1 : 0}};
  const auto kernel = byte_convolution_kernel(engine, attrs, true, nullptr);
  const Shape shape{2, kOutputs, kHeight, kWidth};
  image::CallSite site;
  site.inputs = {argument(bytes(DType::u8, {2, kInputs, kHeight, kWidth}, 1)),
                 argument(bytes(DType::i8, {kOutputs, kInputs, 3, 3}, 2)),
                 argument(Tensor::scalar(DType::u8, 131)),
                 argument(Tensor::scalar(DType::i8, w_zero))};
  site.results = {Tensor(DType::i32, shape)};
  site.stored = {{shape, {kHeight * kWidth * kOutputs, 1, kWidth * kOutputs, kOutputs}}};
  EXPECT_TRUE(kernel->run(site));
  const auto y = site.results[0].data<int32_t>();
  return {{y.begin(), y.end()}, engine->packed->size().bytes};
}

TEST(ByteWinograds, AConvolutionHasTheSameSumsByAllProductsAndByFewer) {
  for (const vector::Isa isa : vector::isas())
    for (const int threads : {1, 2}) {
      const auto engine = [&] { return std::make_shared<const CpuEngine>(threads, isa); };
      const CpuEnginePtr direct = engine(), few = engine();
      const Ran all = run(direct, false), fewer = run(few, true);
      EXPECT_EQ(all.y, fewer.y) << vector::name_of(isa);
      const bool by_pairs = few->byte_gemm.in_word == 2;  // else there is nothing to gain
      const int64_t words = few->byte_winograd.packed_words(kInputs, kOutputs);
      EXPECT_EQ(fewer.packed_bytes, by_pairs ? words * 4 : all.packed_bytes);
      EXPECT_EQ(run(engine(), true, 3).packed_bytes, all.packed_bytes);  // zero points are refused
    }
}

}  // namespace
}  // namespace rlx::detail
