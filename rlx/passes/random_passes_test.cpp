// Graphs of formulas that passes look for, and of some that only look like them, compute the same
// with all passes, with each of them alone, and with none.

#include <chrono>
#include <iostream>
#include <limits>

#include "rlx/conformance/shrink.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

using Seconds = std::chrono::seconds;

// All passes but one that stands for them all, or all of them.
Graph with_only(const Graph& graph, const std::string& name) {
  std::vector<std::string> disabled;
  for (const std::string& other : pass_names())
    if (other != name && !name.empty()) disabled.push_back(other);
  return run_passes(graph, {.disabled = disabled, .verify = true});
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

std::optional<std::string> difference(const RandomGraph& random, const std::string& pass) {
  try {
    const Graph after = with_only(random.graph, pass);
    return disagreement(random, evaluate(after, random.inputs).outputs);
  } catch (const Error& error) {
    return std::string(error.what());
  }
}

struct Counts {
  int64_t graphs = 0;
  std::map<std::string, int64_t> changes;
};

void check(uint64_t first_seed, Seconds budget, Counts& counts) {
  const auto end = std::chrono::steady_clock::now() + budget;
  for (uint64_t seed = first_seed; std::chrono::steady_clock::now() < end; ++seed) {
    RandomGraph random = random_formula_graph(seed);
    if (seed % 3 == 0) random = with_hostile_values(std::move(random), seed);
    std::vector<PassReport> report;
    run_passes(random.graph, {.report = &report});
    for (const PassReport& each : report) counts.changes[each.name] += each.changes;
    std::vector<std::string> ways{""};
    const std::vector<std::string> names = pass_names();
    ways.push_back(names[seed % names.size()]);
    for (const std::string& pass : ways) {
      const auto fails = [&](const RandomGraph& of) { return difference(of, pass).has_value(); };
      if (!fails(random)) continue;
      const RandomGraph small = shrink(std::move(random), fails);
      FAIL() << "seed " << seed << (pass.empty() ? " with all passes" : " with only " + pass)
             << ": " << difference(small, pass).value_or("") << '\n'
             << to_text(small) << print(with_only(small.graph, pass));
    }
    ++counts.graphs;
  }
}

void check(uint64_t first_seed, Seconds budget) {
  Counts counts;
  check(first_seed, budget, counts);
  std::cout << counts.graphs << " graphs;";
  for (const auto& [name, changes] : counts.changes) std::cout << ' ' << name << ' ' << changes;
  std::cout << '\n';
  for (const auto& [name, changes] : counts.changes)
    EXPECT_GT(changes, 0) << name << " never found anything";
}

TEST(RandomPasses, ComputeTheSame) { check(1, Seconds(8)); }
TEST(RandomPassesLong, ComputeTheSame) { check(1'000'000, Seconds(600)); }

}  // namespace
}  // namespace rlx
