// Patterns: a formula to look for in a graph, in whatever order and with whatever constants an
// exporter wrote it down.
//
//   const Pattern x = any(), gate = op("sigmoid", {x});
//   product({x, gate})                                   // x * sigmoid(x), sigmoid(x) * x
//   product({x, sum({op("erf", {product({x}, kSqrtHalf)})}, 1)}, 0.5)       // gelu
//
// A pattern that occurs twice must find the same value twice. Constants are recognised by value: a
// weight has none, since set_weight may change it.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "rlx/ir/graph.h"
#include "rlx/ops/ops_core.h"

namespace rlx {

class NearMisses;

class Pattern {
 public:
  struct Part;
  explicit Pattern(std::shared_ptr<const Part> part) : part_(std::move(part)) {}
  const Part* part() const { return part_.get(); }

 private:
  std::shared_ptr<const Part> part_;
};
using Patterns = std::vector<Pattern>;

// A factor with its power, or a term with its sign.
struct Weighted {
  Pattern pattern;
  double times = 1;

  Weighted(Pattern of, double how_often = 1)  // NOLINT(google-explicit-constructor)
      : pattern(std::move(of)), times(how_often) {}
};

using WhereValue = std::function<bool(const Value& value)>;
using WhereNode = std::function<bool(const Node& node)>;

// Any value.
Pattern any(WhereValue where = {});
// A value of weights and constants alone: computed once, when a program is prepared.
Pattern once(WhereValue where = {});
// A constant of one number, or of many that are equal.
Pattern number();
Pattern number(double value);
// The first result of a node of the op, by its operands; those behind the last pattern may be
// anything. Operands of add, mul, min, max and the like may come in either order.
Pattern op(std::string_view name, Patterns operands, WhereNode where = {});
// An operand that fits, or none at all.
Pattern maybe(Pattern pattern);
// The first of these that fits.
Pattern either(Patterns patterns);
// The product of powers of values, and of a number: products, quotients, powers, roots, reciprocals
// and signs, in any order.
Pattern product(std::vector<Weighted> factors, double number = 1);
Pattern product(std::vector<Weighted> factors, const Pattern& number);
// The sum of values, each with a sign, and a number: sums, differences and signs, in any order.
Pattern sum(std::vector<Weighted> terms, double number = 0);
Pattern sum(std::vector<Weighted> terms, const Pattern& number);

// Is it a node of the op, or of one of these? By identity, as in patterns: a name that no op has is
// an Error, and a user's op is none of them.
bool is_op(const Node& node, std::string_view name);
bool is_one_of(const Node& node, std::initializer_list<std::string_view> names);

// Where the pattern fits: what each of its parts is, and the nodes that are no longer needed.
struct Match {
  std::vector<std::pair<const Pattern::Part*, Value>> values;
  std::vector<std::pair<const Pattern::Part*, double>> numbers;
  std::vector<int> nodes;  // the inner ones and the root

  bool has(const Pattern& pattern) const;
  Value operator[](const Pattern& pattern) const;
  double number(const Pattern& pattern) const;
};

// What is known of a graph's nodes; made once for many matches. Bodies are not looked into.
class MatchGraph {
 public:
  // Formulas that are found in part are told to `misses`, if there is one.
  explicit MatchGraph(const Graph& graph, NearMisses* misses = nullptr);

  const Graph& graph() const { return graph_; }
  NearMisses* misses() const { return misses_; }
  bool is_once(const Value& value) const { return once_[static_cast<size_t>(value.node)]; }
  const std::vector<int>& readers(int node) const { return readers_[static_cast<size_t>(node)]; }
  // Is no result but its first read, nor an output?
  bool is_read_by_its_first(int node) const { return !more_[static_cast<size_t>(node)]; }
  // Neither an output nor what a state becomes, and read by none but these nodes.
  bool is_inner(int node, const std::vector<int>& readers) const;

 private:
  const Graph& graph_;
  NearMisses* misses_;
  std::vector<bool> once_, kept_, more_;
  std::vector<std::vector<int>> readers_;
};

// Told at a glance, since nearly every node is the root of nothing.
bool may_be_root(const Pattern& pattern, const OpDef* op);

// The pattern with this value as its root, if every inner value is read inside it only.
std::optional<Match> match(const MatchGraph& graph, const Pattern& pattern, Value root);

// The number that a value consists of, if it is known: a constant, a dim, or what is computed from
// them.
std::optional<double> number_of(const Value& value);
// Equal but for the rounding of a few operations in the dtype.
bool same_number(double a, double b, DType dtype);

}  // namespace rlx
