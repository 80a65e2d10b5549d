// What patterns are made of, for those who make them and those who look for them.
#pragma once

#include "rlx/passes/match.h"

namespace rlx {

enum class Kind { any, once, number, op, either, maybe, product, sum };

struct Pattern::Part {
  Kind kind = Kind::any;
  const OpDef* op = nullptr;
  bool commutes = false;
  Patterns operands = {};  // or alternatives
  std::vector<Weighted> terms = {};
  double wanted = 0;                 // the number of a product or sum
  std::optional<Pattern> open = {};  // or what finds it
  std::optional<double> value = {};  // of a number
  WhereValue where_value = {};
  WhereNode where_node = {};
};

// Ops that products and sums are made of, and views that a constant may be seen through.
struct KnownOps {
  const OpDef &add, &sub, &mul, &div, &neg, &pow, &sqrt, &rsqrt, &reciprocal, &cast;
  std::vector<const OpDef*> views;
};
const KnownOps& known_ops();
const OpDef& op_named(std::string_view name);
inline bool is_op(const Node& node, const OpDef& op) { return node.op.get() == &op; }

}  // namespace rlx
