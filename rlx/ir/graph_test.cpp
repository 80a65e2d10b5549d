#include "rlx/ir/graph.h"

#include <gtest/gtest.h>

#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_points.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

TEST(Graph, ValuesOutliveAMove) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 4}));
  const Value y = relu(x);
  const Graph moved = std::move(graph);
  EXPECT_EQ(y.type(), f32({"n", 4}));
  EXPECT_EQ(text(relu(y).type()), "f32[n, 4]");
  EXPECT_EQ(moved.nodes().size(), 3u);
}

TEST(Graph, OneThatWasMovedAndAValueThatIsAbsentAreErrors) {
  Graph graph;
  const Graph other = std::move(graph);
  const std::string said = "graph: it was moved, there is nothing in it";
  EXPECT_EQ(error_of([&] { graph.nodes(); }), said);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(error_of([&] { graph.outputs(); }), said);
  EXPECT_EQ(error_of([&] { graph.clone(); }), said);
  EXPECT_EQ(error_of([&] { graph.input("x", f32({2})); }), said);
  EXPECT_EQ(error_of([&] { graph.output("y", {}); }), said);
  EXPECT_EQ(error_of([] { Value().shape(); }), "a value is absent where one is needed");
  EXPECT_EQ(error_of([] { relu(Value()); }), "relu: the first operand is absent");
  EXPECT_EQ(error_of([] { Graph().value(0).type(); }), "a value is of node 0, the graph has 0");
}

TEST(Graph, ANodeHasSeveralResults) {
  Graph graph;
  const TopK top = knn(graph.input("x", f32({3, 9})), 2);
  EXPECT_EQ(top.values.node, top.indices.node);
  EXPECT_EQ(top.indices.type(), i64({3, 2}));
}

TEST(Graph, AnOptionalOperandMayBeAbsent) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3}));
  const Value w = graph.input("w", f32({3, 4}));
  EXPECT_EQ(linear(x, w).type(), f32({2, 4}));
  EXPECT_FALSE(linear(x, w).producer().inputs.size() > 2 &&
               linear(x, w).producer().inputs[2].present());
}

TEST(Graph, RefusesUnknownAttributes) {
  Graph graph;
  const Value x = graph.input("x", f32({2}));
  EXPECT_EQ(error_of([&] {
              graph.add(softmax(x).producer().op, {x}, {{"axsi", 0}});
            }),
            "softmax: has no attribute 'axsi'; it takes axis");
}

TEST(Graph, RefusesAnAttributeOfAnotherKind) {
  Graph graph;
  const Value x = graph.input("x", f32({2}));
  EXPECT_EQ(error_of([&] {
              graph.add(softmax(x).producer().op, {x}, {{"axis", "last"}});
            }),
            "attribute 'axis' is a string, which is not what the op takes");
}

TEST(Graph, NamesOfInputsAreUnique) {
  Graph graph;
  graph.input("x", f32({2}));
  EXPECT_EQ(error_of([&] { graph.input("x", f32({3})); }), "input: there is one named 'x' already");
}

TEST(Graph, OperandsOfAnotherGraphAreRefused) {
  Graph a, b;
  const Value x = a.input("x", f32({2})), y = b.input("y", f32({2}));
  EXPECT_EQ(error_of([&] { x + y; }), "add: an operand is of another graph");
}

TEST(Graph, SymbolsThatCannotBeComparedBecomeChecks) {
  Graph graph;
  const Value sum = graph.input("x", f32({"n"})) + graph.input("y", f32({"m"}));
  ASSERT_EQ(sum.producer().checks.size(), 1u);
  EXPECT_NE(sum.producer().checks[0].what.find("n and m"), std::string::npos);
}

TEST(Graph, ExtentsThatOnlyARunTellsHaveNamesThatNobodyElseHas) {
  Graph graph;
  const Value x = graph.input("x", f32({"s0", "s4"}));
  EXPECT_EQ(non_zero(x).type(), i64({2, "s5"}));
  graph.input("y", f32({"s4", "s0"}));
  EXPECT_EQ(non_zero(x).type(), i64({2, "s6"}));
  graph.input("like the first", i64({2, "s5"}));  // a seed, say
  EXPECT_EQ(non_zero(x).type(), i64({2, "s7"}));
}

TEST(Graph, TheLastNameOfAnOpsOperandsRepeats) {
  const OpDef op{
      .name = "test.many",
      .family = "test",
      .inputs = {2, 2, {"x"}},
      .infer = [](const InferSite& site) { return Types{site.in(0)}; },
  };
  Graph graph;
  const Value x = graph.input("x", f32({2}));
  EXPECT_EQ(x.apply(op, {x, x}).type(), f32({2}));
  EXPECT_EQ(error_of([&] { x.apply(op, {x, {}}); }), "test.many: input 1 ('x') is missing");
}

TEST(Graph, CloneIsAGraphOfItsOwn) {
  Graph graph;
  graph.output("y", exp(graph.input("x", f32({2}))));
  const Graph copy = graph.clone();
  verify(copy);
  EXPECT_NE(copy.outputs()[0].value.graph, graph.outputs()[0].value.graph);
}

TEST(Verify, FindsAnOperandThatComesLater) {
  Graph graph;
  const Value x = graph.input("x", f32({2}));
  const Value y = exp(x);
  graph.data()->nodes[size_t(y.node)].inputs[0].node = 5;
  EXPECT_NE(error_of([&] { verify(graph); }).find("does not come before its reader"),
            std::string::npos);
}

TEST(Verify, FindsATypeThatItsRuleDoesNotGive) {
  Graph graph;
  const Value y = exp(graph.input("x", f32({2})));
  graph.data()->nodes[size_t(y.node)].types[0] = f32({3});
  EXPECT_NE(error_of([&] { verify(graph); }).find("exp: result 0 is f32[3], its rule gives f32[2]"),
            std::string::npos);
}

TEST(OpSet, OffersTheNearestName) {
  OpSet ops;
  Graph graph;
  ops.add(softmax(graph.input("x", f32({2}))).producer().op);
  EXPECT_EQ(error_of([&] { ops.at("sofmax"); }),
            "there is no op 'sofmax'; did you mean 'softmax'?");
}

TEST(Graph, ManyNamesAreToldApartInOneStepEach) {
  constexpr int kNames = 50000;
  Graph graph;
  for (int i = 0; i < kNames; ++i) graph.output(text("y", i), graph.input(text("x", i), f32({1})));
  EXPECT_THROW(graph.input("x7", f32({1})), Error);
  EXPECT_THROW(graph.output("y7", graph.value(0)), Error);
  graph.weight("x7", f32({1}));  // of another kind
}

TEST(Graph, ALimitOfNodesIsHeldTo) {
  Graph graph;
  const Value x = graph.input("x", f32({1}));
  graph.data()->most_nodes = 2;
  graph.constant(Tensor(DType::f32, {1}));
  try {
    graph.weight("w", x.type());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::limit);
    EXPECT_STREQ(error.what(), "the graph would have more than 2 nodes, which is its limit");
  }
}

}  // namespace
}  // namespace rlx
