#include "rlx/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>

#include "rlx/testing.h"

namespace rlx {
namespace {

TEST(Half, RoundTripsEveryFiniteValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = Half::to_float(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(Half::from_float(value), bits) << bits;
  }
}

TEST(Half, RoundsTiesToEven) {
  EXPECT_EQ(Half(1.0f + 0x1p-11f).bits, Half(1.0f).bits);
  EXPECT_EQ(Half(1.0f + 3 * 0x1p-11f).bits, Half(1.0f + 0x1p-9f).bits);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half(65519.9f).bits, 0x7bff);
  EXPECT_EQ(Half(0x1p-25f).bits, 0);
  EXPECT_EQ(Half(0x1.8p-25f).bits, 1);
}

TEST(Half, ADoubleIsRoundedOnce) {
  Tensor x(DType::f16, {1});
  x.set(0, 1.0 + 0x1p-11 + 0x1p-40);  // just above the tie; through f32 it would be the tie
  EXPECT_EQ(x.data<Half>()[0].bits, Half(1.0f).bits + 1);
}

TEST(BFloat16, RoundsToNearestAndKeepsNan) {
  EXPECT_EQ(static_cast<float>(BFloat16(1.0f + 0x1p-8f)), 1.0f);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(NAN))));
}

TEST(Tensor, FloatsBecomeIntegersTowardZeroAndStopAtTheEnds) {
  const Tensor x = Tensor::of(DType::i8, {5}, {-1.9, 200, -1000, NAN, 2.5});
  EXPECT_EQ(x.at(0), -1);
  EXPECT_EQ(x.at(1), 127);
  EXPECT_EQ(x.at(2), -128);
  EXPECT_EQ(x.at(3), 0);
  EXPECT_EQ(x.at(4), 2);
}

TEST(Tensor, SixtyFourBitIntegersStayExact) {
  Tensor x(DType::i64, {1});
  x.set_integer(0, (int64_t{1} << 62) + 1);
  EXPECT_EQ(x.integer_at(0), (int64_t{1} << 62) + 1);
}

TEST(Tensor, ElementsAtAnOddAddressAreCopiedToBeRead) {
  const Tensor numbers = Tensor::of(DType::f32, {2}, {1, 2});
  std::vector<std::byte> file(9);
  std::copy(numbers.bytes().begin(), numbers.bytes().end(), file.begin() + 1);
  const Tensor view = Tensor::view(DType::f32, {2}, std::span(file).subspan(1), nullptr);
  EXPECT_EQ(view.at(1), 2);
  EXPECT_THROW(view.data<float>(), Error);
  EXPECT_EQ(view.aligned().data<float>()[1], 2);
  EXPECT_EQ(numbers.aligned().identity(), numbers.identity());
}

TEST(Tensor, AChangeGivesANewVersion) {
  Tensor x(DType::f32, {2});
  const Tensor::Mark before = x.mark();
  x.mutable_data<float>()[0] = 1;
  EXPECT_FALSE(x.mark() == before);
}

TEST(Tensor, MayChangeOnceASpanWasHandedOutAndUntilItIsSealed) {
  Tensor x = Tensor::of(DType::f32, {2}, {1, 2});
  x.set(0, 3);
  EXPECT_FALSE(x.may_change()) << "nobody has a span of it";
  x.mutable_data<float>()[0] = 1;
  EXPECT_TRUE(x.may_change());
  EXPECT_TRUE(Tensor(x).may_change()) << "it shares the bytes";
  EXPECT_FALSE(x.copy().may_change());
  const Tensor sealed = x.sealed();
  EXPECT_EQ(sealed.identity(), x.identity());
  EXPECT_FALSE(sealed.may_change());
  EXPECT_FALSE(sealed.part(1, {1}).may_change());
  EXPECT_FALSE(sealed.mark() == x.sealed().mark()) << "there may be a write between the two";
  EXPECT_TRUE(sealed.mark() == sealed.sealed().mark());
  x.mutable_data<float>();
  EXPECT_TRUE(sealed.may_change()) << "the seal is broken";
}

TEST(Tensor, AViewOfOthersMemoryMayChange) {
  const std::vector<std::byte> bytes(8);
  const Tensor view = Tensor::view(DType::f32, {2}, bytes, nullptr);
  EXPECT_TRUE(view.may_change());
  EXPECT_FALSE(view.sealed().may_change());
}

TEST(Tensor, RefusesTheWrongNumberOfElements) {
  EXPECT_THROW(Tensor::of(DType::f32, {3}, {1, 2}), Error);
  EXPECT_THROW(Tensor(DType::f32, {2, 3}).reshaped({5}), Error);
  EXPECT_THROW(Tensor(DType::f32, {2}).data<int32_t>(), Error);
}

TEST(Tensor, ASizeBeyondSixtyFourBitsIsAnError) {
  EXPECT_THROW(Tensor(DType::f32, {int64_t{1} << 40, int64_t{1} << 40}), Error);
}

TEST(Tensor, RankZeroAndEmptyAreTensorsToo) {
  EXPECT_EQ(Tensor(DType::f32, {}).count(), 1);
  EXPECT_EQ(Tensor(DType::f32, {3, 0}).count(), 0);
}

TEST(Tensor, AnElementThatIsNotThereIsAnError) {
  Tensor tensor(DType::i16, {2, 3});
  for (const int64_t i : {int64_t{-1}, int64_t{6}, INT64_MAX, INT64_MIN}) {
    const std::string said = text("there is no element ", i, " of a tensor i16[2, 3]: it has 6");
    EXPECT_EQ(error_of([&] { tensor.at(i); }), said);
    EXPECT_EQ(error_of([&] { tensor.integer_at(i); }), said);
    EXPECT_EQ(error_of([&] { tensor.set(i, 1); }), said);
    EXPECT_EQ(error_of([&] { tensor.set_integer(i, 1); }), said);
  }
  EXPECT_NE(error_of([] { Tensor().at(0); }), "");
}

TEST(Tensor, WhatNoMemoryHoldsIsNamed) {
  constexpr int64_t kMuch = int64_t{1} << 50;
  EXPECT_EQ(error_of([] {
              Tensor(DType::f32, {kMuch, 4});
            }),
            "the host has no 18014398509481984 bytes for a tensor\n"
            "  the tensor is f32[1125899906842624, 4]");
}

}  // namespace
}  // namespace rlx
