#include "rlx/ir/op_def.h"

#include <algorithm>
#include <numeric>

#include "rlx/ir/extent_facts.h"
#include "rlx/ir/graph.h"

namespace rlx {

std::string Arity::name(size_t i) const {
  return names.empty() ? "" : names[std::min(i, names.size() - 1)];
}

const TensorType& InferSite::in(size_t i) const {
  require(has(i), op.name, ": input ", i, " ('", op.inputs.name(i), "') is missing");
  return *inputs[i];
}

const Tensor& ReferenceSite::in(size_t i) const {
  require(has(i), op.name, ": input ", i, " ('", op.inputs.name(i), "') is missing");
  return *inputs[i];
}

Dim InferSite::define(const Dim& expression) const {
  if (expression.is_number()) return expression;
  Dim symbol = fresh_symbol();
  if (definitions) definitions->emplace(*symbol.symbol(), expression);
  return symbol;
}

const HostValue& InferSite::host(size_t i) const {
  require(
      has_host(i), op.name, ": the values of '", op.inputs.name(i),
      "' are needed to know the result's shape, and it is neither a constant nor a small integer tensor");
  return *host_values[i];
}

namespace {

// rlx::broadcast, where a member has its name.
Dim extent_of_both(const Dim& a, const Dim& b) { return broadcast(a, b); }

// Made now where both are numbers, else left to the run.
void check_dims(const InferSite& site, Relation relation, const Dim& a, const Dim& b,
                std::string_view what) {
  const bool known = a.is_number() && b.is_number();
  if (a == b || (known && holds(relation, a.number(), b.number()))) return;
  const bool is_equality = relation != Relation::at_most && relation != Relation::multiple_of;
  if (is_equality && same_extent(a, b)) return;
  std::string message = text(site.op.name, ": ", what);
  if (is_equality) message += text(": ", a, " and ", b);
  if (known) fail(ErrorKind::invalid_graph, message);
  if (site.checks) site.checks->push_back({a, b, message, relation});
}

}  // namespace

void DimCheck::require_under(const SymbolValues& symbols) const {
  const int64_t x = a.value(symbols), y = b.value(symbols);
  if (!holds(relation, x, y)) fail(ErrorKind::invalid_input, what, broken(relation, x, y));
}

void InferSite::equal(const Dim& a, const Dim& b, std::string_view what) const {
  check_dims(*this, Relation::equal, a, b, what);
}
void InferSite::at_most(const Dim& a, const Dim& b, std::string_view what) const {
  check_dims(*this, Relation::at_most, a, b, what);
}
void InferSite::multiple_of(const Dim& a, const Dim& b, std::string_view what) const {
  check_dims(*this, Relation::multiple_of, a, b, what);
}
Dim InferSite::broadcast(const Dim& a, const Dim& b, std::string_view what) const {
  if (a.is(1) || b.is(1)) return a.is(1) ? b : a;
  if (const auto same = same_extent(a, b)) return *same;
  const bool is_cut = is_cut_of(a, b);
  if (is_cut || is_cut_of(b, a)) {
    equal(a, b, what);
    return is_cut ? b : a;
  }
  check_dims(*this, Relation::broadcast, a, b, what);
  return extent_of_both(a, b);
}
void InferSite::broadcasts_to(const Dim& a, const Dim& b, std::string_view what) const {
  const bool equal_only = is_cut_of(a, b) || is_cut_of(b, a);
  if (!a.is(1))
    check_dims(*this, equal_only ? Relation::equal : Relation::broadcasts_to, a, b, what);
}

OpDef::~OpDef() = default;

OpRef::OpRef(std::shared_ptr<const OpDef> op) : shared_ptr(std::move(op)) {}
OpRef static_op(const OpDef& op) { return {OpRef{}, &op}; }

struct OpSet::Ops : std::map<std::string, OpRef, std::less<>> {};

OpSet::OpSet() : ops_(std::make_shared<Ops>()) {}
OpSet::OpSet(const OpSet& other) : ops_(std::make_shared<Ops>(*other.ops_)) {}
OpSet::OpSet(OpSet&& other) noexcept = default;
OpSet& OpSet::operator=(OpSet other) noexcept {
  std::swap(ops_, other.ops_);
  return *this;
}
OpSet::~OpSet() = default;

void OpSet::add(OpRef op) {
  require(!op->name.empty(), "an op needs a name");
  const auto [at, added] = ops_->emplace(op->name, op);
  require(added, "there is an op '", op->name, "' already");
}

const OpRef* OpSet::find(std::string_view name) const {
  const auto found = ops_->find(name);
  return found == ops_->end() ? nullptr : &found->second;
}

namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

const OpRef& OpSet::at(std::string_view name) const {
  if (const OpRef* found = find(name)) return *found;
  std::string nearest;
  size_t distance = 4;  // farther than this is another word
  for (const auto& [other, op] : *ops_)
    if (const size_t d = edit_distance(name, other); d < distance) distance = d, nearest = other;
  fail(ErrorKind::unsupported, "there is no op '", name, "'",
       nearest.empty() ? "" : text("; did you mean '", nearest, "'?"));
}

std::vector<OpRef> OpSet::all() const {
  std::vector<OpRef> all;
  for (const auto& [name, op] : *ops_) all.push_back(op);
  return all;
}

Value GradientSite::in(size_t i) const { return inputs[i]; }
Value GradientSite::y(size_t i) const { return results[i]; }
const Attrs& GradientSite::attrs() const { return node.attrs; }

Value GradientSite::dy(size_t i) const {
  require(result_gradients[i].has_value(), node.op->name, ": has no gradient for result ", i,
          " when only another result is used");
  return *result_gradients[i];
}

}  // namespace rlx
