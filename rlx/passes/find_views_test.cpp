#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_reduction.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

OpNames left(Value (*build)(Value), const TensorType& type = f32({3, 4, 5})) {
  return ops_after(find_views, graph_of(type, build));
}
Value indices(Value x, const Shape& shape, std::initializer_list<double> list) {
  return constant_beside(x, Tensor::of(DType::i64, shape, list));
}

TEST(FindViews, ARowGatheredByAKnownIndexIsASlice) {
  EXPECT_EQ(after_pass(find_views, R"(%0 = input @"x" : f32[2, n, 4]
%1 = constant value=i64[]{-1} : i64[]
%2 = gather %0, %1 axis=0 : f32[n, 4]
output "y" %2
)"),
            R"(%0 = input @"x" : f32[2, n, 4]
%1 = slice %0 axes=[0] ends=[2] starts=[1] steps=ints[] : f32[1, n, 4]
%2 = squeeze %1 axes=[0] : f32[n, 4]
output "y" %2
)");
}

TEST(FindViews, IndicesThatCountUpAreASlice) {
  EXPECT_EQ(left([](Value x) { return gather(x, indices(x, {2}, {1, 2}), 1); }), OpNames("slice"));
  EXPECT_EQ(left([](Value x) {
              return gather(x, indices(x, {2}, {-2, -1}), 2);
            }),
            OpNames("slice"));
}

TEST(FindViews, OtherIndicesAreGathered) {
  EXPECT_EQ(left([](Value x) { return gather(x, indices(x, {2}, {2, 1}), 1); }), OpNames("gather"));
  EXPECT_EQ(left([](Value x) { return gather(x, indices(x, {2}, {0, 2}), 1); }), OpNames("gather"));
  EXPECT_EQ(left([](Value x) {
              return gather(x, indices(x, {1, 2}, {0, 1}), 1);
            }),
            OpNames("gather"));
  EXPECT_EQ(left([](Value x) {
              return gather(x, indices(x, {2}, {-1, 0}), 1);
            }),
            OpNames("gather"));
  EXPECT_EQ(left([](Value x) { return gather(x, indices(x, {0}, {}), 1); }), OpNames("gather"));
}

TEST(FindViews, AReductionOverExtentsOfOneIsAReshape) {
  EXPECT_EQ(left([](Value x) { return mean(x, {1}); }, f32({"n", 1, 3})), OpNames("reshape"));
  EXPECT_EQ(left(
                [](Value x) {
                  return reduce_max(x, {-2, 0});
                },
                f32({1, 1, 3})),
            OpNames("reshape"));
  EXPECT_EQ(left([](Value x) { return sum(x); }, f32({1, 1})), OpNames("reshape"));
  EXPECT_EQ(left([](Value x) { return mean(x, {0}); }, f32({"n", 1})), OpNames("mean"));
  EXPECT_EQ(left([](Value x) { return sum(x); }, f32({1, 2})), OpNames("sum"));
  EXPECT_EQ(left([](Value x) { return l2(x, {0}); }, f32({1, 2})), OpNames("l2"));
}

TEST(FindViews, AConcatOfNeighboursIsASlice) {
  EXPECT_EQ(left([](Value x) {
              const Values parts = split(x, {1, 2, 1}, 1);
              return concat({parts[0], parts[1], parts[2]}, 1);
            }),
            OpNames("slice"));
  EXPECT_EQ(left([](Value x) {
              const Values parts = split(x, {1, 2, 1}, 1);
              return concat({parts[1], parts[2], x}, 1);
            }),
            OpNames("slice concat"));
}

TEST(FindViews, ASliceOfAConcatIsOneOfItsOperand) {
  EXPECT_EQ(left([](Value x) {
              return slice(concat({x, exp(x)}, 1), {5}, {7}, {1});
            }),
            OpNames("exp slice"));
  EXPECT_EQ(left([](Value x) {
              return slice(concat({exp(x), x}, 1), {0}, {4}, {1});
            }),
            OpNames("exp"));
  EXPECT_EQ(left([](Value x) {
              return slice(concat({exp(x), x}, 1), {3}, {5}, {1});
            }),
            OpNames("exp concat slice"));
  EXPECT_EQ(left([](Value x) {
              return slice(concat({exp(x), x}, 1), {1}, {2}, {0});
            }),
            OpNames("exp concat slice"));
}

TEST(FindViews, OtherConcatsStay) {
  const auto turned = [](Value x) {
    const Values parts = split(x, {2, 2}, 1);
    return concat({parts[1], parts[0]}, 1);
  };
  EXPECT_EQ(left(turned), OpNames("slice slice concat"));
  const auto across = [](Value x) {
    const Values parts = split(x, {2, 2}, 1);
    return concat({parts[0], parts[1]}, 0);
  };
  EXPECT_EQ(left(across), OpNames("slice slice concat"));
  const auto by_two = [](Value x) {
    return concat({slice(x, {0}, {2}, {1}, {2}), slice(x, {2}, {4}, {1}, {2})}, 1);
  };
  EXPECT_EQ(left(by_two), OpNames("slice slice concat"));
}

}  // namespace
}  // namespace rlx
