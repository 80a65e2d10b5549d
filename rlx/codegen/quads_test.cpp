#include "rlx/codegen/quads.h"

#include <gtest/gtest.h>

#include "rlx/codegen/elementwise.h"

namespace rlx {
namespace {

Operand operand(Dims shape, Layout layout, Access access = Access::read) {
  Operand made(0, {DType::f32, std::move(shape)}, access);
  made.layout = std::move(layout);
  return made;
}
Operand whole(Dims shape, Access access = Access::read) {
  return {0, {DType::f32, std::move(shape)}, access};
}
std::optional<Dim> guard(const Operand& each) { return quads_guard({each}); }

const Dim n = "n";

TEST(Quads, OfAWholeTensorNeedAMultipleOfFourElements) {
  EXPECT_EQ(guard(whole({3, 4})), Dim(1));
  EXPECT_EQ(guard(whole({2, 2})), Dim(1));
  EXPECT_EQ(guard(whole({3, 5})), std::nullopt);
  EXPECT_EQ(guard(whole({n, 12})), Dim(1));
  const Dim odd = *guard(whole({n, 3}));
  EXPECT_EQ(odd.value({{"n", 4}}), 1);
  EXPECT_EQ(odd.value({{"n", 0}}), 1);
  EXPECT_EQ(odd.value({{"n", 5}}), 0);
  EXPECT_EQ(odd.value({{"n", 6}}), 0);
}

TEST(Quads, OfAViewNeedRowsThatBeginAtMultiplesOfFour) {
  EXPECT_EQ(guard(operand({3, 8}, {4, {16, 1}})), Dim(1));
  EXPECT_EQ(guard(operand({3, 8}, {2, {16, 1}})), std::nullopt);
  EXPECT_EQ(guard(operand({3, 8}, {0, {18, 1}})), std::nullopt);
  EXPECT_EQ(guard(operand({3, 6}, {0, {16, 1}})), std::nullopt);
  EXPECT_EQ(guard(operand({3, 8}, {0, {16, 2}})), std::nullopt);
  EXPECT_EQ(guard(operand({8, 3}, {0, {1, 8}})), std::nullopt);
  EXPECT_EQ(guard(operand({3, 8}, {7, {8, -1}})), std::nullopt);
  const Dim found = *guard(operand({3, 8}, {n, {16, 1}}));
  EXPECT_EQ(found.value({{"n", 8}}), 1);
  EXPECT_EQ(found.value({{"n", 9}}), 0);
}

TEST(Quads, MayBeOneElementFourTimes) {
  EXPECT_EQ(guard(whole({})), Dim(1));
  EXPECT_EQ(guard(operand({3, 8}, {5, {1, 0}})), Dim(1));  // wherever it lies
  EXPECT_EQ(guard(operand({3, 6}, {0, {1, 0}})), std::nullopt);
  EXPECT_TRUE(is_repeated(operand({3, 8}, {0, {1, 0}})));
  EXPECT_FALSE(is_repeated(operand({3, 8}, {0, {0, 1}})));
  // Where a run tells whether it is repeated, it is neither.
  EXPECT_EQ(guard(operand({n, 8}, {0, {8, min(n, 1)}})), std::nullopt);
}

TEST(Quads, AreNotStoredFourTimesInOnePlace) {
  EXPECT_EQ(guard(whole({}, Access::write)), std::nullopt);
  EXPECT_EQ(guard(whole({1}, Access::write)), std::nullopt);
  EXPECT_EQ(guard(operand({4}, {0, {0}}, Access::write)), std::nullopt);
}

TEST(Quads, OfAllOperandsAreAskedForOnce) {
  const Dim one = *guard(whole({n})), all = *quads_guard({whole({n}), whole({n}), whole({n, 4})});
  EXPECT_EQ(one, all);
  EXPECT_EQ(quads_guard({whole({n}), whole({3})}), std::nullopt);
}

Dispatch copy_of(const Dims& shape, const DeviceTraits& traits = {}) {
  Operand to = whole(shape, Access::write);
  to.value = 1;
  return copy_view(whole(shape), to, traits);
}

TEST(Quads, StandBesideTheKernelOfSingleElementsWhereOnlyARunKnows) {
  Dispatch dispatch = copy_of({n});
  take_quads(dispatch, {});
  ASSERT_EQ(dispatch.alternatives.size(), 1u);
  EXPECT_TRUE(dispatch.alternatives[0].in_quads);
  EXPECT_FALSE(dispatch.in_quads);
  EXPECT_EQ(dispatch.alternatives[0].workgroups.value({{"n", 1024}}), 4);
  EXPECT_EQ(dispatch.workgroups.value({{"n", 1024}}), 16);
}

TEST(Quads, AreTheOnlyKernelWhereTheyAreAlwaysRight) {
  Dispatch dispatch = copy_of({n, 8});
  take_quads(dispatch, {});
  EXPECT_TRUE(dispatch.in_quads);
  EXPECT_TRUE(dispatch.alternatives.empty());
  Dispatch odd = copy_of({3, 5});
  take_quads(odd, {});
  EXPECT_FALSE(odd.in_quads);
  EXPECT_TRUE(odd.alternatives.empty());
}

TEST(Quads, AreAChoice) {
  Dispatch dispatch = copy_of({8});
  take_quads(dispatch, {{{quads_variants().key, 0}}});
  EXPECT_FALSE(dispatch.in_quads);
  EXPECT_TRUE(dispatch.alternatives.empty());
}

TEST(Quads, OfShardsBeginWhereTheShardDoes) {
  DeviceTraits small;
  small.max_binding_bytes = 1024;
  small.storage_alignment = 32;
  Dispatch dispatch = copy_of({2, 1000}, small);
  EXPECT_FALSE(dispatch.repeat.is(1));
  take_quads(dispatch, {});
  EXPECT_TRUE(dispatch.in_quads);
  for (const Param& param : dispatch.params)
    for (int64_t shard = 0; shard < dispatch.repeat.value({}); ++shard)
      EXPECT_EQ(param.number.value({{kShard, shard}}) % 4, 0) << param.name << " of " << shard;
}

}  // namespace
}  // namespace rlx
