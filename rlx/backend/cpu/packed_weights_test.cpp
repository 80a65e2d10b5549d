#include "rlx/backend/cpu/packed_weights.h"

#include <gtest/gtest.h>

namespace rlx::detail {
namespace {

const PackedWeights::Order kOrder{kPackedProduct, 2, 3};

// What `get` gives, written by a make that counts.
const float* packed(PackedWeights& store, const Tensor& weight, PackedPtr& held, int& made,
                    int64_t floats = 6, PackedWeights::Order order = kOrder) {
  store.get(weight, order, floats, held, [&](float* to) {
    ++made;
    for (int64_t i = 0; i < floats; ++i) to[i] = 1.0f;
  });
  return held.get();
}

TEST(PackedWeights, AWeightIsPackedOnceForAllWhoReadItInOneOrder) {
  PackedWeights store;
  const Tensor weight(DType::f32, {2, 3});
  PackedPtr a, b, other;
  int made = 0;
  EXPECT_EQ(packed(store, weight, a, made), packed(store, weight, b, made));
  EXPECT_EQ(made, 1);
  EXPECT_NE(packed(store, weight, other, made, 6, {kPackedProduct, 3, 2}), a.get());
  EXPECT_EQ(made, 2);
  EXPECT_EQ(store.size().count, 2);
  EXPECT_EQ(store.size().bytes, 2 * 6 * 4);
}

TEST(PackedWeights, TheyGoWithTheLastWhoHoldsThem) {
  PackedWeights store;
  const Tensor weight(DType::f32, {2, 3});
  PackedPtr a, b;
  int made = 0;
  packed(store, weight, a, made);
  packed(store, weight, b, made);
  a = nullptr;
  EXPECT_EQ(store.size().count, 1);
  b = nullptr;
  EXPECT_EQ(store.size().count, 0);
  packed(store, weight, a, made);
  EXPECT_EQ(made, 2);
}

TEST(PackedWeights, AWeightThatChangesIsPackedInItsPlace) {
  PackedWeights store;
  PackedPtr alone, shared, other;
  int made = 0;
  Tensor weight(DType::f32, {2, 3});
  const float* const place = packed(store, weight, alone, made);
  weight.set(0, 5);
  EXPECT_EQ(packed(store, weight, alone, made), place);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(store.size().count, 1);

  // Not where another program still reads what was there.
  packed(store, weight, shared, made);
  weight.set(0, 6);
  EXPECT_NE(packed(store, weight, alone, made), place);
  EXPECT_EQ(shared.get(), place);
  EXPECT_EQ(store.size().count, 2);
}

TEST(PackedWeights, WhatCouldNotBePackedIsNotFound) {
  PackedWeights store;
  const Tensor weight(DType::f32, {2, 3});
  PackedPtr held;
  EXPECT_ANY_THROW(store.get(weight, kOrder, 6, held, [](float*) { throw 1; }));
  int made = 0;
  packed(store, weight, held, made);
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace rlx::detail
