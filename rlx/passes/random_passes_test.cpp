// Graphs of formulas that passes look for, and of some that only look like them, compute the same
// with all passes, without one of them, with one of them alone, and with none.

#include <chrono>
#include <iostream>
#include <limits>

#include "rlx/conformance/shrink.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

using Seconds = std::chrono::seconds;

// All passes but some, for a device.
struct Way {
  std::string name;
  PassTarget target;
  std::vector<std::string> disabled = {};

  Graph operator()(const Graph& graph) const {
    return run_passes(graph, {.disabled = disabled, .target = target, .verify = true});
  }
};
std::vector<std::string> all_but(const std::string& pass) {
  std::vector<std::string> names = pass_names();
  std::erase(names, pass);
  return names;
}

// A GPU, one that binds little at once, or the host.
PassTarget target_of(uint64_t seed) {
  constexpr int64_t kLittle = 512;
  if (seed % 4 == 3) return host_target();
  return gpu_target(seed % 4 == 1 ? kLittle : int64_t{1} << 27);
}

// NaN and infinities in some inputs, as data may have them.
RandomGraph with_hostile_values(RandomGraph random, uint64_t seed) {
  Random numbers(seed);
  constexpr double kHostile[] = {std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(), 0.0, -0.0};
  for (auto& [name, tensor] : random.inputs) {
    if (!is_float(tensor.dtype()) || tensor.count() == 0) continue;
    tensor = tensor.copy();
    tensor.set(numbers.between(0, tensor.count() - 1), numbers.pick(kHostile));
  }
  return random;
}

std::optional<std::string> difference(const RandomGraph& random, const Way& way) {
  try {
    const Graph after = way(random.graph);
    return disagreement(random, evaluate(after, random.inputs).outputs);
  } catch (const Error& error) {
    return std::string(error.what());
  }
}

// What the passes make of it, where they do not fail.
std::string text_after(const RandomGraph& random, const Way& way) {
  try {
    return print(way(random.graph));
  } catch (const Error&) {
    return "";
  }
}

struct Counts {
  int64_t graphs = 0;
  std::map<std::string, int64_t> changes;
};

using Grow = RandomGraph (*)(uint64_t seed);

void check(Grow grow, uint64_t first_seed, Seconds budget, Counts& counts) {
  const auto end = std::chrono::steady_clock::now() + budget;
  for (uint64_t seed = first_seed; std::chrono::steady_clock::now() < end; ++seed) {
    RandomGraph random = grow(seed);
    const bool hostile = seed % 3 == 0;
    if (hostile) random = with_hostile_values(std::move(random), seed);
    const PassTarget target = target_of(seed);
    std::vector<PassReport> report;
    try {
      run_passes(random.graph, {.target = target, .report = &report});
    } catch (const Error&) {  // it is found again below, and made small
    }
    for (const PassReport& each : report) counts.changes[each.name] += each.changes;
    const std::vector<std::string> names = pass_names();
    const std::string& one = names[seed % names.size()];
    const std::vector<Way> ways{{"with all passes", target},
                                {"with only " + one, target, all_but(one)},
                                {"without " + one, target, {one}}};
    for (Way way : ways) {
      // Attention leaves keys of weight 0 out, where 0 * NaN would be NaN.
      if (hostile) way.disabled.emplace_back("find-attention");
      const auto fails = [&](const RandomGraph& of) { return difference(of, way).has_value(); };
      if (!fails(random)) continue;
      const RandomGraph small = shrink(std::move(random), fails);
      FAIL() << "seed " << seed << ' ' << way.name << ": " << difference(small, way).value_or("")
             << '\n'
             << to_text(small) << text_after(small, way);
    }
    ++counts.graphs;
  }
}

void check(Grow grow, uint64_t first_seed, Seconds budget) {
  Counts counts;
  check(grow, first_seed, budget, counts);
  std::cout << counts.graphs << " graphs;";
  for (const auto& [name, changes] : counts.changes) std::cout << ' ' << name << ' ' << changes;
  std::cout << '\n';
  constexpr int64_t kEnough = 300;  // graphs, among which there is something for each pass
  if (counts.graphs < kEnough) return;
  for (const auto& [name, changes] : counts.changes)
    EXPECT_GT(changes, 0) << name << " never found anything";
}

TEST(RandomPasses, ComputeTheSame) { check(random_formula_graph, 1, Seconds(8)); }
TEST(RandomPassesLong, ComputeTheSame) { check(random_formula_graph, 1'000'000, Seconds(600)); }
// Small graphs are many more in the same time, and each formula has its turn.
TEST(RandomPasses, EachFormulaComputesTheSame) { check(random_single_formula, 1, Seconds(8)); }
TEST(RandomPassesLong, EachFormulaComputesTheSame) {
  check(random_single_formula, 1'000'000, Seconds(600));
}

}  // namespace
}  // namespace rlx
