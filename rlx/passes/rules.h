// Rules: a pattern, and what computes the same in fewer nodes.
#pragma once

#include "rlx/passes/match.h"
#include "rlx/passes/pass.h"

namespace rlx {

// What a rule sees: values in the graph that is being built, nodes of the one that was.
class Found {
 public:
  using Moved = std::function<Value(const Value& value)>;
  Found(const Match& match, Value root, Moved moved)
      : match_(match), root_(root), moved_(std::move(moved)) {}

  bool has(const Pattern& pattern) const { return match_.has(pattern); }
  Value operator[](const Pattern& pattern) const {
    const Value value = match_[pattern];
    return value.present() ? moved_(value) : value;
  }
  double number(const Pattern& pattern) const { return match_.number(pattern); }
  Value was(const Pattern& pattern) const { return match_[pattern]; }  // in the one that was
  const Node& node(const Pattern& pattern) const { return was(pattern).producer(); }
  const TensorType& type() const { return root_.type(); }  // of what is replaced
  // What a value of the graph that was is in the new one.
  Value moved(const Value& value) const { return moved_(value); }
  // Operand i of a node that was found, in the new graph; none where it is absent.
  Value operand(const Pattern& pattern, size_t i) const;
  // Those from operand `first` on.
  Values operands(const Pattern& pattern, size_t first) const;

 private:
  const Match& match_;
  Value root_;
  Moved moved_;
};

struct Rule {
  Pattern pattern;
  // The value that stands for the root, of its type; none where the rule does not apply after all.
  std::function<Value(const Found& found)> replace;
};
using Rules = std::vector<Rule>;

// Applies rules wherever they fit, until none does; the number of changes. A replacement that would
// ask other things of the extents of a run than the nodes it stands for, or has another type, is
// not taken.
int64_t apply_rules(Changing& graph, const Rules& rules, NearMisses* misses = nullptr);

}  // namespace rlx
