#include <limits>

#include "rlx/ops/bodies.h"
#include "rlx/ops/ops_core.h"
#include "rlx/passes/testing.h"

namespace rlx {

const OpDef& conv_op();
const OpDef& average_pool_op();
const OpDef& max_pool_op();

namespace {

OpNames folded(Value (*build)(Value), const Dims& shape = {2, 3, 5, 6}) {
  return ops_after(fold_pads, graph_of(f32(shape), build));
}
Value window(Value x, const Ints& pads = {}) {
  return x.apply(conv_op(), {x, constant_beside(x, some_tensor({2, 3, 3, 3}))}, {{"pads", pads}});
}
Value average(Value x, const Ints& pads = {}) {
  return x.apply(average_pool_op(), {x}, {{"window", Ints{2, 2}}, {"pads", pads}});
}

// The largest elements, and where they are.
Value most(Value x, const Ints& window) {
  return x.apply(max_pool_op(), {x}, {{"window", window}});
}

TEST(FoldPads, ZerosAreTheConvolutionsOwnPads) {
  EXPECT_EQ(after_pass(fold_pads, R"(%0 = input @"x" : f32[b, 1, 4]
%1 = weight value=f32[1, 1, 3]{1, 2, 3} @"w" : f32[1, 1, 3]
%2 = pad %0 axes=ints[] mode="constant" pads=dims[0, 0, 1, 0, 0, 2] value=0.0 : f32[b, 1, 7]
%3 = conv %2, %1, _ auto_pad="" dilations=[1] groups=1 pads=[1, 0] strides=[1] : f32[b, 1, 6]
output "y" %3
)"),
            R"(%0 = input @"x" : f32[b, 1, 4]
%1 = weight value=f32[1, 1, 3]{1, 2, 3} @"w" : f32[1, 1, 3]
%2 = conv %0, %1, _ auto_pad="" dilations=[1] groups=1 pads=[2, 2] strides=[1] : f32[b, 1, 6]
output "y" %2
)");
}

TEST(FoldPads, AnAverageCountsThem) {
  EXPECT_EQ(folded([](Value x) {
              return average(pad(x, Dims{0, 0, 1, 1, 0, 0, 1, 1}));
            }),
            OpNames("average_pool"));
  EXPECT_EQ(folded([](Value x) {
              return average(pad(x, Dims{0, 0, 1, 1, 0, 0, 1, 1}), {1, 1, 1, 1});
            }),
            OpNames("pad average_pool"));
}

TEST(FoldPads, AMaximumNeverTakesTheLowest) {
  constexpr double kLow = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(folded([](Value x) {
              return most(pad(x, Dims{0, 0, 1, 0, 0, 0, 1, 2}, "constant", kLow), {3, 3});
            }),
            OpNames("max_pool"));
  EXPECT_EQ(folded([](Value x) {
              return most(pad(relu(x), Dims{0, 0, 1, 1, 0, 0, 1, 1}), {3, 3});
            }),
            OpNames("relu max_pool"));
  // 0 may be the largest, a window may have no element, and indices count what is padded.
  EXPECT_EQ(folded([](Value x) {
              return most(pad(x, Dims{0, 0, 1, 1, 0, 0, 1, 1}), {3, 3});
            }),
            OpNames("pad max_pool"));
  EXPECT_EQ(folded([](Value x) {
              return most(pad(relu(x), Dims{0, 0, 2, 2, 0, 0, 0, 0}), {2, 2});
            }),
            OpNames("relu pad max_pool"));
  EXPECT_EQ(folded([](Value x) {
              return most(pad(x, Dims{0, 0, 1, 1, 0, 0, 1, 1}, "constant", kLow), {3, 3}).of(1);
            }),
            OpNames("pad max_pool"));
}

TEST(FoldPads, WhatIsNotZerosAroundPositionsStays) {
  EXPECT_EQ(folded([](Value x) {
              return window(pad(x, Dims{0, 0, 1, 1, 0, 0, 1, 1}, "reflect"));
            }),
            OpNames("pad conv"));
  EXPECT_EQ(folded([](Value x) {
              return window(pad(x, Dims{0, 0, 1, 1, 0, 0, 1, 1}, "constant", 2));
            }),
            OpNames("pad conv"));
  EXPECT_EQ(folded(
                [](Value x) {
                  return window(pad(x, Dims{0, 1, 1, 1, 0, 0, 1, 1}));
                },
                {2, 2, 5, 6}),
            OpNames("pad conv"));
  EXPECT_EQ(folded([](Value x) {
              return window(pad(x, Dims{0, 0, -1, 1, 0, 0, 1, 1}));
            }),
            OpNames("pad conv"));
}

}  // namespace
}  // namespace rlx
