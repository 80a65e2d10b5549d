#include <gtest/gtest.h>

#include "rlx/ir/evaluate.h"
#include "rlx/ir/text.h"
#include "rlx/ops/catalog.h"
#include "rlx/passes/passes.h"

namespace rlx {
namespace {

// A graph of x: f32[2, 3, 4] with these nodes, of which the last is its output.
std::string graph_of(const std::vector<std::string>& nodes) {
  std::string source = "rlx 1\n%0 = input @\"x\" : f32[2, 3, 4]\n";
  for (size_t i = 0; i < nodes.size(); ++i)
    source += text('%', i + 1, " = transpose %", i, " order=", nodes[i], '\n');
  return source + text("output \"y\" %", nodes.size(), '\n');
}

// The graph after the pass and without what nobody reads, which must compute what it did before.
std::string merged(const std::vector<std::string>& nodes) {
  const OpSet ops = catalog();
  const Graph graph = parse(graph_of(nodes), ops),
              after = dead_code.run(merge_transposes.run(graph).graph).graph;
  verify(after);
  const auto result = [](const Graph& of) {
    Tensor x(DType::f32, {2, 3, 4});
    for (int64_t i = 0; i < x.count(); ++i) x.set(i, static_cast<double>(i));
    return evaluate(of, {{"x", x}}).outputs.at("y");
  };
  const Tensor was = result(graph), is = result(after);
  EXPECT_EQ(was.shape(), is.shape());
  for (int64_t i = 0; i < was.count(); ++i) EXPECT_EQ(was.at(i), is.at(i)) << "element " << i;
  return print(after);
}

TEST(MergeTransposes, TwoBecomeOne) {
  EXPECT_EQ(merged({"[1, 2, 0] : f32[3, 4, 2]", "[0, 2, 1] : f32[3, 2, 4]"}),
            graph_of({"[1, 0, 2] @\"transpose_2\" : f32[3, 2, 4]"}));
}

TEST(MergeTransposes, TwoThatCancelAreNone) {
  EXPECT_EQ(merged({"[1, 2, 0] : f32[3, 4, 2]", "[2, 0, 1] : f32[2, 3, 4]"}), graph_of({}));
}

TEST(MergeTransposes, NoOrderReverses) {
  EXPECT_EQ(merged({"[1, 2, 0] : f32[3, 4, 2]", "ints[] : f32[2, 4, 3]"}),
            graph_of({"[0, 2, 1] @\"transpose_2\" : f32[2, 4, 3]"}));
  EXPECT_EQ(merged({"ints[] : f32[4, 3, 2]", "ints[] : f32[2, 3, 4]"}), graph_of({}));
}

TEST(MergeTransposes, NegativeAxesCountFromTheEnd) {
  EXPECT_EQ(merged({"[-1, 0, 1] : f32[4, 2, 3]", "[-1, -2, -3] : f32[3, 2, 4]"}),
            graph_of({"[1, 0, 2] @\"transpose_2\" : f32[3, 2, 4]"}));
}

}  // namespace
}  // namespace rlx
