#include "rlx/conformance/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "rlx/conformance/case_data.h"
#include "rlx/ops/catalog.h"

namespace rlx {
namespace {

const double kNan = std::nan(""), kInfinity = INFINITY;

bool agree(DType dtype, double got, double want, const Tolerance& tolerance = {}) {
  return !compare(Tensor::of(dtype, {1}, {got}), Tensor::of(dtype, {1}, {want}), tolerance);
}

TEST(Tolerance, ASumMayBeOffByMoreThanOneTerm) {
  EXPECT_FALSE(agree(DType::f32, 1 + 8 * 0x1p-23, 1));
  EXPECT_TRUE(agree(DType::f32, 1 + 8 * 0x1p-23, 1, {.terms = 100}));
}

TEST(Tolerance, ASumIsMeasuredByTheLargestElement) {
  const Tensor want = Tensor::of(DType::f32, {2}, {1000, 0.001});
  const Tensor got = Tensor::of(DType::f32, {2}, {1000, 0.00101});
  EXPECT_TRUE(compare(got, want, {.terms = 1}));
  EXPECT_FALSE(compare(got, want, {.terms = 4}));
}

TEST(Tolerance, AHalfMayRoundToEitherNeighbour) {
  EXPECT_TRUE(agree(DType::f16, 1 + 0x1p-10, 1));
  EXPECT_FALSE(agree(DType::f16, 1 + 0x1p-9, 1));
}

TEST(Tolerance, NanEqualsOnlyNan) {
  EXPECT_TRUE(agree(DType::f32, kNan, kNan));
  EXPECT_FALSE(agree(DType::f32, kNan, 1));
  EXPECT_FALSE(agree(DType::f32, 1, kNan));
}

TEST(Tolerance, AnInfinityHasASign) {
  EXPECT_TRUE(agree(DType::f32, kInfinity, kInfinity));
  EXPECT_FALSE(agree(DType::f32, -kInfinity, kInfinity));
  EXPECT_FALSE(agree(DType::f32, 1e30, kInfinity));
  EXPECT_FALSE(agree(DType::f32, kInfinity, 1e30));
}

TEST(Tolerance, IntegersAreExact) {
  EXPECT_TRUE(agree(DType::i32, 7, 7));
  EXPECT_FALSE(agree(DType::i32, 7, 8, {.ulps = 1e9, .slack = 1e9}));
}

TEST(Tolerance, TheWorstElementIsNamed) {
  const auto mismatch = compare(Tensor::of(DType::f32, {3}, {1, 2.5, 3.1}),
                                Tensor::of(DType::f32, {3}, {1, 2, 3}), {});
  ASSERT_TRUE(mismatch);
  EXPECT_EQ(mismatch->at, 1);
  EXPECT_EQ(mismatch->count, 2);
}

TEST(Tolerance, AnotherDtypeOrShapeIsAMismatch) {
  EXPECT_TRUE(compare(Tensor(DType::f32, {2}), Tensor(DType::f32, {1, 2}), {}));
  EXPECT_TRUE(compare(Tensor(DType::i32, {2}), Tensor(DType::f32, {2}), {}));
}

TEST(CaseData, IsTheSameEachTime) {
  const OpCase row{"add", {normal(f32({3, 5})), special(f16({4, 7}))}, {}, "twice"};
  const auto first = case_data(row), second = case_data(row);
  EXPECT_TRUE(same_bytes(*first[0], *second[0]));
  EXPECT_TRUE(same_bytes(*first[1], *second[1]));
}

TEST(CaseData, SpecialHasNanAndInfinity) {
  for (const int64_t terms : {1, 50}) {
    const auto data = case_data({"sum", {special(f32({9, 3}))}, {}, "small", terms});
    int nan = 0, infinite = 0;
    for (const float x : data[0]->data<float>()) nan += std::isnan(x), infinite += std::isinf(x);
    EXPECT_GT(nan, 0);
    EXPECT_GT(infinite, 0);
  }
}

TEST(CaseData, SymbolsAreTheRowsNumbers) {
  const OpCase row{
      .op = "abs", .inputs = {normal(f32({"n", 3}))}, .why = "n", .symbols = {{"n", 5}}};
  EXPECT_EQ(case_data(row)[0]->shape(), (Shape{5, 3}));
}

}  // namespace
}  // namespace rlx
