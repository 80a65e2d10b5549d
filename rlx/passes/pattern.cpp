// How patterns are made.

#include <algorithm>

#include "rlx/ops/catalog.h"
#include "rlx/passes/pattern_part.h"

namespace rlx {

const OpDef& op_named(std::string_view name) {
  static const OpSet ops = catalog();
  return *ops.at(name);
}

bool is_op(const Node& node, std::string_view name) { return is_op(node, op_named(name)); }

bool is_one_of(const Node& node, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return is_op(node, name); });
}

const KnownOps& known_ops() {
  static const KnownOps ops{op_named("add"),
                            op_named("sub"),
                            op_named("mul"),
                            op_named("div"),
                            op_named("neg"),
                            op_named("pow"),
                            op_named("sqrt"),
                            op_named("rsqrt"),
                            op_named("reciprocal"),
                            op_named("cast"),
                            {&op_named("reshape"), &op_named("unsqueeze"), &op_named("squeeze"),
                             &op_named("expand"), &op_named("transpose")}};
  return ops;
}

namespace {

using Part = Pattern::Part;

Pattern make(Part part) { return Pattern(std::make_shared<const Part>(std::move(part))); }

Pattern combination(Kind kind, std::vector<Weighted> terms, double wanted,
                    std::optional<Pattern> open) {
  Part part;
  part.kind = kind;
  part.terms = std::move(terms);
  part.wanted = wanted;
  part.open = std::move(open);
  return make(std::move(part));
}

}  // namespace

Pattern any(WhereValue where) {
  Part part;
  part.where_value = std::move(where);
  return make(std::move(part));
}
Pattern once(WhereValue where) {
  Part part;
  part.kind = Kind::once;
  part.where_value = std::move(where);
  return make(std::move(part));
}
Pattern number() {
  Part part;
  part.kind = Kind::number;
  return make(std::move(part));
}
Pattern number(double value) {
  Part part;
  part.kind = Kind::number;
  part.value = value;
  return make(std::move(part));
}
Pattern op(std::string_view name, Patterns operands, WhereNode where) {
  Part part;
  part.kind = Kind::op;
  part.op = &op_named(name);
  for (const char* either_way : {"add", "mul", "min", "max", "and", "or", "eq"})
    part.commutes |= name == either_way;
  part.operands = std::move(operands);
  part.where_node = std::move(where);
  return make(std::move(part));
}
Pattern maybe(Pattern pattern) {
  Part part;
  part.kind = Kind::maybe;
  part.operands = {std::move(pattern)};
  return make(std::move(part));
}
Pattern either(Patterns patterns) {
  Part part;
  part.kind = Kind::either;
  part.operands = std::move(patterns);
  return make(std::move(part));
}
Pattern product(std::vector<Weighted> factors, double number) {
  return combination(Kind::product, std::move(factors), number, {});
}
Pattern product(std::vector<Weighted> factors, const Pattern& number) {
  return combination(Kind::product, std::move(factors), 1, number);
}
Pattern sum(std::vector<Weighted> terms, double number) {
  return combination(Kind::sum, std::move(terms), number, {});
}
Pattern sum(std::vector<Weighted> terms, const Pattern& number) {
  return combination(Kind::sum, std::move(terms), 0, number);
}

}  // namespace rlx
