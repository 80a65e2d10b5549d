#include "rlx/passes/near_misses.h"

#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_math.h"
#include "rlx/passes/testing.h"
#include "rlx/runtime/program.h"

namespace rlx {
namespace {

std::vector<NearMiss> misses_of(const Pass& pass, const Graph& graph) {
  NearMisses asked;
  pass.run(graph, {&asked});
  return asked.take();
}

Graph bell_graph(double scale, bool outside) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 5}));
  const Value bell = erf(x * scalar(x, scale)), shifted = bell + scalar(x, 1);
  graph.output("y", x * shifted * scalar(x, 0.5));
  if (outside) graph.output("shifted", shifted);
  return graph;
}

TEST(NearMisses, AFormulaWithAnotherNumberSaysWhich) {
  const std::vector<NearMiss> misses = misses_of(find_activations, bell_graph(0.7, false));
  ASSERT_FALSE(misses.empty());
  EXPECT_EQ(misses.back().op, "mul");
  EXPECT_GE(misses.back().found, 4u);
  EXPECT_NE(misses.back().reason.find("is 0.7, and 0.707"), std::string::npos)
      << misses.back().reason;
}

TEST(NearMisses, AValueThatIsReadElsewhereIsNamed) {
  const std::vector<NearMiss> misses = misses_of(find_activations, bell_graph(0.70710678, true));
  ASSERT_FALSE(misses.empty());
  EXPECT_NE(misses.back().reason.find("(add) is read elsewhere, too"), std::string::npos)
      << misses.back().reason;
}

TEST(NearMisses, WhatIsFoundIsNone) {
  EXPECT_TRUE(misses_of(find_activations, bell_graph(0.70710678, false)).empty());
}

TEST(NearMisses, APipelineTellsThemByPass) {
  std::vector<PassReport> report;
  std::set<std::string> watched;
  run_passes(bell_graph(0.7, false), {.report = &report,
                                      .near_misses = true,
                                      .watch = [&](const Pass& pass, const Graph&, const Graph&) {
                                        watched.insert(pass.name);
                                      }});
  const auto told = std::find_if(report.begin(), report.end(), [](const PassReport& pass) {
    return pass.name == find_activations.name;
  });
  ASSERT_NE(told, report.end());
  EXPECT_FALSE(told->near_misses.empty());
  EXPECT_EQ(watched.count(find_activations.name), 1u);
}

}  // namespace
}  // namespace rlx
