#include "rlx/conformance/random_graphs.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <iostream>

#include "rlx/codegen/elementwise.h"
#include "rlx/conformance/disagreement.h"
#include "rlx/conformance/random.h"
#include "rlx/conformance/shrink.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ir/graph.h"
#include "rlx/passes/pass.h"

namespace rlx {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kBudget{20}, kLongBudget{600};

// Runs graphs until the time is over; the first that fails is shrunk and printed.
void check_device(const std::string& name, uint64_t first_seed, std::chrono::seconds budget) {
  const std::optional<Device> device = test_device(name);
  if (!device) GTEST_SKIP() << "there is no " << name;
  const Clock::time_point end = Clock::now() + budget;
  uint64_t seed = first_seed;
  for (; Clock::now() < end; ++seed) {
    const bool optimise = seed % 2 == 0;
    std::cout << seed << ' ' << std::flush;  // the last one, should the process end
    RandomGraph random = random_graph(seed);
    const auto fails = [&](const RandomGraph& graph) {
      return disagreement(graph, *device, optimise).has_value();
    };
    if (!fails(random)) continue;
    const RandomGraph small = shrink(std::move(random), fails);
    FAIL() << "seed " << seed << (optimise ? ", with passes" : ", without passes") << " on " << name
           << ":\n"
           << disagreement(small, *device, optimise).value_or("") << '\n'
           << to_text(small);
  }
  std::cout << "\nseeds " << first_seed << " to " << seed - 1 << " agree on " << name << '\n';
}

TEST(RandomGraphs, TheCpuAgreesWithTheReference) { check_device("cpu", 1, kBudget); }
TEST(RandomGraphs, LavapipeAgreesWithTheReference) { check_device("lavapipe", 1, kBudget); }
TEST(RandomGraphs, SwiftshaderAgreesWithTheReference) { check_device("swiftshader", 1, kBudget); }

// The same for longer, with other seeds.
TEST(RandomGraphsLong, TheCpuAgreesWithTheReference) {
  check_device("cpu", 1'000'000, kLongBudget);
}
TEST(RandomGraphsLong, LavapipeAgreesWithTheReference) {
  check_device("lavapipe", 1'000'000, kLongBudget);
}
TEST(RandomGraphsLong, SwiftshaderAgreesWithTheReference) {
  check_device("swiftshader", 1'000'000, kLongBudget);
}

TEST(RandomGraphs, AreTheSameForTheSameSeed) {
  for (uint64_t seed = 1; seed < 10; ++seed)
    EXPECT_EQ(to_text(random_graph(seed)), to_text(random_graph(seed)));
}

TEST(RandomGraphs, UseManyOpsAndSymbols) {
  std::map<std::string, int> ops;
  int symbolic = 0, several_outputs = 0, empty = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const RandomGraph random = random_graph(seed);
    verify(random.graph);
    bool has_symbol = false;
    for (const Node& node : random.graph.nodes()) {
      ++ops[node.op->name];
      has_symbol |= !is_concrete(node.types[0].shape);
    }
    for (const auto& [name, tensor] : random.inputs) empty += tensor.count() == 0;
    symbolic += has_symbol;
    several_outputs += random.graph.outputs().size() > 1;
  }
  EXPECT_GT(ops.size(), 80u);
  EXPECT_GT(symbolic, 15);
  EXPECT_GT(several_outputs, 50);
  EXPECT_GT(empty, 2);
}

// x + 1 by the reference, x + 1.5 by the device.
const OpDef& planted_op() {
  static const OpDef op = [] {
    OpDef planted;
    planted.name = "planted";
    planted.infer = [](const InferSite& site) -> Types { return {site.in(0)}; };
    planted.reference = [](const ReferenceSite& site) {
      for (int64_t i = 0; i < site.out().count(); ++i) site.out().set(i, site.in(0).at(i) + 1);
    };
    planted.inputs = {1, 1, {"x"}};
    planted.lower = lower_elementwise;
    planted.elementwise = Elementwise{};
    planted.elementwise->floating = [](const double* x, const double*) { return x[0] + 1; };
    planted.elementwise->floating_wgsl = "x + 1.5";
    return planted;
  }();
  return op;
}

// The graph with the wrong op behind one of its f32 values.
RandomGraph with_planted(const RandomGraph& random, uint64_t seed) {
  Random numbers(seed);
  std::vector<int> places;
  for (int at = 0; at < static_cast<int>(random.graph.nodes().size()); ++at)
    if (!is_source(random.graph.node(at)) && random.graph.node(at).types[0].dtype == DType::f32)
      places.push_back(at);
  if (places.empty()) return random.clone();
  const int place = numbers.pick(places);
  Graph graph = rebuild(random.graph, [&](const RewriteSite& site) -> std::optional<Values> {
    if (site.at != place) return std::nullopt;
    const Value first = site.to.add(site.node.op, site.inputs, site.attrs);
    Values results{site.to.add(planted_op(), {first})};
    for (size_t r = 1; r < site.node.types.size(); ++r)
      results.push_back(first.of(static_cast<int>(r)));
    return results;
  });
  return {std::move(graph), random.inputs};
}

bool is_planted(const Node& node) { return node.op.get() == &planted_op(); }

void expect_only_planted(const RandomGraph& small) {
  int computed = 0;
  for (const Node& node : small.graph.nodes()) {
    if (is_source(node)) continue;
    EXPECT_TRUE(is_planted(node)) << to_text(small);
    ++computed;
  }
  EXPECT_EQ(computed, 1) << to_text(small);
  for (const auto& [name, tensor] : small.inputs) EXPECT_LE(tensor.count(), 1) << to_text(small);
}

TEST(Shrink, FindsTheOneWrongOp) {
  // Without a device: the graph disagrees with itself once the wrong op is left out.
  const auto fails = [](const RandomGraph& random) {
    const Graph without =
        rebuild(random.graph, [](const RewriteSite& site) -> std::optional<Values> {
          return is_planted(site.node) ? std::optional(site.inputs) : std::nullopt;
        });
    const TensorMap with = evaluate(random.graph, random.inputs).outputs;
    for (const auto& [name, tensor] : evaluate(without, random.inputs).outputs)
      if (!same_bytes(tensor, with.at(name))) return true;
    return false;
  };
  int found = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    RandomGraph random = with_planted(random_graph(seed), seed);
    if (!fails(random)) continue;
    expect_only_planted(shrink(std::move(random), fails));
    ++found;
  }
  EXPECT_GT(found, 10);
}

TEST(Shrink, FindsTheOneWrongKernelOfADevice) {
  const std::optional<Device> device = test_device("lavapipe");
  if (!device) GTEST_SKIP() << "there is no lavapipe";
  const auto fails = [&](const RandomGraph& random) {
    return disagreement(random, *device, true).has_value();
  };
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    RandomGraph random = with_planted(random_graph(seed), seed);
    if (!fails(random)) continue;
    expect_only_planted(shrink(std::move(random), fails));
    return;
  }
  FAIL() << "no graph with the wrong op failed";
}

}  // namespace
}  // namespace rlx
