#include <gtest/gtest.h>

#include "rlx/ir/evaluate.h"
#include "rlx/ir/text.h"
#include "rlx/ops/catalog.h"
#include "rlx/passes/passes.h"

namespace rlx {
namespace {

// The graph after the pass and without what nobody reads, which must compute what it did before.
std::string merged(const std::string& before) {
  const OpSet ops = catalog();
  const Graph graph = parse(before, ops), after = dead_code.run(merge_transposes.run(graph));
  verify(after);
  const auto result = [](const Graph& of) {
    Tensor x(DType::f32, concrete(of.nodes()[0].types[0].shape));
    for (int64_t i = 0; i < x.count(); ++i) x.set(i, static_cast<double>(i));
    return evaluate(of, {{"x", x}}).outputs.at("y");
  };
  const Tensor was = result(graph), is = result(after);
  EXPECT_EQ(was.shape(), is.shape());
  for (int64_t i = 0; i < was.count(); ++i) EXPECT_EQ(was.at(i), is.at(i)) << "element " << i;
  return print(after);
}

TEST(MergeTransposes, TwoBecomeOne) {
  EXPECT_EQ(merged(R"(rlx 1
%0 = input @"x" : f32[2, 3, 4]
%1 = transpose %0 order=[1, 2, 0] @"a" : f32[3, 4, 2]
%2 = transpose %1 order=[0, 2, 1] @"b" : f32[3, 2, 4]
output "y" %2
)"),
            R"(rlx 1
%0 = input @"x" : f32[2, 3, 4]
%1 = transpose %0 order=[1, 0, 2] @"transpose_2" : f32[3, 2, 4]
output "y" %1
)");
}

TEST(MergeTransposes, TwoThatCancelAreNone) {
  EXPECT_EQ(merged(R"(rlx 1
%0 = input @"x" : f32[2, 3, 4]
%1 = transpose %0 order=[1, 2, 0] @"a" : f32[3, 4, 2]
%2 = transpose %1 order=[2, 0, 1] @"b" : f32[2, 3, 4]
output "y" %2
)"),
            R"(rlx 1
%0 = input @"x" : f32[2, 3, 4]
output "y" %0
)");
}

TEST(MergeTransposes, NoOrderReverses) {
  EXPECT_EQ(merged(R"(rlx 1
%0 = input @"x" : f32[2, 3, 4]
%1 = transpose %0 order=[1, 2, 0] @"a" : f32[3, 4, 2]
%2 = transpose %1 order=ints[] @"b" : f32[2, 4, 3]
output "y" %2
)"),
            R"(rlx 1
%0 = input @"x" : f32[2, 3, 4]
%1 = transpose %0 order=[0, 2, 1] @"transpose_2" : f32[2, 4, 3]
output "y" %1
)");
  EXPECT_EQ(merged(R"(rlx 1
%0 = input @"x" : f32[2, 3, 4]
%1 = transpose %0 order=ints[] @"a" : f32[4, 3, 2]
%2 = transpose %1 order=ints[] @"b" : f32[2, 3, 4]
output "y" %2
)"),
            R"(rlx 1
%0 = input @"x" : f32[2, 3, 4]
output "y" %0
)");
}

TEST(MergeTransposes, NegativeAxesCountFromTheEnd) {
  EXPECT_EQ(merged(R"(rlx 1
%0 = input @"x" : f32[2, 3, 4]
%1 = transpose %0 order=[-1, 0, 1] @"a" : f32[4, 2, 3]
%2 = transpose %1 order=[-1, -2, -3] @"b" : f32[3, 2, 4]
output "y" %2
)"),
            R"(rlx 1
%0 = input @"x" : f32[2, 3, 4]
%1 = transpose %0 order=[1, 0, 2] @"transpose_2" : f32[3, 2, 4]
output "y" %1
)");
}

}  // namespace
}  // namespace rlx
