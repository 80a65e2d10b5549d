// Claims about gates.
#include <gtest/gtest.h>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_experts.h"

namespace rlx {
namespace {

struct Chosen {
  std::vector<double> indices, weights;
};
Chosen chosen(const std::function<Gate(Graph&)>& build) {
  Graph graph;
  const Gate gate = build(graph);
  graph.output("indices", gate.indices);
  graph.output("weights", gate.weights);
  const TensorMap outputs = evaluate(graph, {}).outputs;
  Chosen all;
  for (int64_t i = 0; i < outputs.at("indices").count(); ++i) {
    all.indices.push_back(outputs.at("indices").at(i));
    all.weights.push_back(outputs.at("weights").at(i));
  }
  return all;
}
Value row(Graph& graph, std::initializer_list<double> values) {
  return graph.constant(Tensor::of(DType::f32, {1, static_cast<int64_t>(values.size())}, values));
}

// The best expert is in a group whose two best are worse than those of the others.
TEST(GroupLimitedGate, TheBestExpertOfAWeakGroupIsLeftOut) {
  const Chosen gate = chosen([](Graph& graph) {
    const Value scores = row(graph, {0.75, 0, 0.5, 0.5, 0.375, 0.5});
    return group_limited_gate(scores, scores, {3, 2, 2, true, 2});
  });
  EXPECT_EQ(gate.indices, (std::vector<double>{2, 3}));
  EXPECT_EQ(gate.weights, (std::vector<double>{1, 1}));
}

TEST(GroupLimitedGate, RoutingScoresChooseAndScoresWeigh) {
  const Chosen gate = chosen([](Graph& graph) {
    return group_limited_gate(row(graph, {0.5, 0.25, 0.125, 0.125}), row(graph, {0, 1, 2, 3}),
                              {1, 1, 2, false, 1});
  });
  EXPECT_EQ(gate.indices, (std::vector<double>{3, 2}));
  EXPECT_EQ(gate.weights, (std::vector<double>{0.125, 0.125}));
}

// Sigmoids of logits far below 0 are 0, in f16 sooner.
TEST(GroupLimitedGate, WeightsThatAreAllZeroStayZero) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Chosen gate = chosen([&](Graph& graph) {
      const Value scores = cast(row(graph, {0, 0, 0, 0}), dtype);
      return group_limited_gate(scores, cast(row(graph, {1, 2, 3, 4}), dtype),
                                {2, 1, 2, true, 2.5});
    });
    EXPECT_EQ(gate.indices, (std::vector<double>{3, 2}));
    EXPECT_EQ(gate.weights, (std::vector<double>{0, 0}));
  }
}

TEST(SoftmaxGate, WeightsOfTheChosenSumToOne) {
  const Chosen gate = chosen([](Graph& graph) {
    return softmax_gate(row(graph, {0, 5, 0, 5}), 2);
  });
  EXPECT_EQ(gate.indices, (std::vector<double>{1, 3}));
  EXPECT_NEAR(gate.weights[0], 0.5, 1e-6);
  EXPECT_NEAR(gate.weights[1], 0.5, 1e-6);
}

TEST(GroupLimitedGate, ErrorsNameGroupsAndExperts) {
  const auto error_of = [](const GroupLimits& limits) -> std::string {
    Graph graph;
    try {
      const Value scores = row(graph, {1, 2, 3, 4, 5, 6});
      group_limited_gate(scores, scores, limits);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of({4, 1, 1}), "group_limited_gate: 6 experts are no 4 groups of one size");
  EXPECT_EQ(error_of({3, 1, 3}), "group_limited_gate: 3 experts of 1 of 3 groups of 2");
}

}  // namespace
}  // namespace rlx
