// A random graph while it grows: its values, and ways to choose operands among them.
#pragma once

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/random_graphs.h"

namespace rlx {

// A value of the graph. One is exact when every device must have the same bits: only such may
// decide (be compared, rounded to integers, sorted).
struct PoolEntry {
  Value value = {};
  bool exact = false;
};

class RandomPool {
 public:
  explicit RandomPool(uint64_t seed);

  // A new input; an Error when it would be too large.
  Value add_input(DType dtype, const Dims& shape, CaseInput::Fill fill = CaseInput::Fill::normal,
                  int64_t limit = 0);
  void add_float_input();
  void keep(Value value, bool exact) { entries.push_back({value, exact}); }

  // One of the values that fit; an Error when none does.
  template <class Predicate>
  PoolEntry choose(const Predicate& fits) {
    std::vector<PoolEntry> found;
    for (const PoolEntry& entry : entries)
      if (fits(entry)) found.push_back(entry);
    if (found.empty()) fail(ErrorKind::unsupported, "no operand fits");
    // The newest as a rule, so that graphs are deep.
    return random.chance(0.5) ? found.back() : random.pick(found);
  }
  PoolEntry any();
  PoolEntry any_of(DType dtype);
  PoolEntry any_float(int64_t rank_from = 0);
  PoolEntry any_exact_float(int64_t rank_from = 0);
  PoolEntry any_ranked();
  // A value like x that broadcasts with it: another one, or a new input with some dims 1 or gone.
  PoolEntry partner_of(Value x);

  int64_t axis_of(Value x) { return random.between(0, rank(x.type()) - 1); }
  int64_t extent(Value x, int64_t axis) const {
    return x.shape()[static_cast<size_t>(axis)].value(symbols);
  }

  int64_t computed() const;  // nodes that are no sources
  // Does the step; if it does not fit, or a value is not finite and tame, all is as before.
  void try_step(void (*step)(RandomPool& pool));
  // What nobody reads, and sometimes more.
  void add_outputs();

  Random random;
  Graph graph;
  TensorMap inputs;
  std::vector<PoolEntry> entries;
  std::vector<Dim> dims;  // those that shapes are made of
  SymbolValues symbols;

 private:
  bool is_tame(size_t first_node) const;
  void undo(size_t node_count, size_t entry_count);
};

// What may happen to a graph; one that should happen more often is there more than once.
using RandomStep = void (*)(RandomPool& pool);
std::vector<RandomStep> random_steps();
std::vector<RandomStep> random_layers();
std::vector<RandomStep> random_formulas();  // written out, for passes to find
std::vector<RandomStep> random_structures();

}  // namespace rlx
