#include "rlx/ir/op_def.h"

#include <algorithm>
#include <numeric>

#include "rlx/ir/graph.h"

namespace rlx {

std::string Arity::name(size_t i) const {
  return names.empty() ? "" : names[std::min(i, names.size() - 1)];
}

const HostValue& InferSite::host(size_t i) const {
  require(
      has_host(i), op.name, ": the values of '", op.inputs.name(i),
      "' are needed to know the result's shape, and it is neither a constant nor a small integer tensor");
  return *host_values[i];
}

void InferSite::equal(const Dim& a, const Dim& b, std::string_view what) const {
  if (a == b) return;
  if (a.is_number() && b.is_number())
    fail(ErrorKind::invalid_graph, op.name, ": ", what, ": ", a, " and ", b);
  if (checks) checks->push_back({a, b, text(op.name, ": ", what, ": ", a, " and ", b)});
}

OpDef::~OpDef() = default;

void OpSet::add(OpRef op) {
  require(!op->name.empty(), "an op needs a name");
  const auto [at, added] = ops_.emplace(op->name, op);
  require(added, "there is an op '", op->name, "' already");
}

const OpRef* OpSet::find(std::string_view name) const {
  const auto found = ops_.find(name);
  return found == ops_.end() ? nullptr : &found->second;
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
  for (const auto& [other, op] : ops_)
    if (const size_t d = edit_distance(name, other); d < distance) distance = d, nearest = other;
  fail(ErrorKind::unsupported, "there is no op '", name, "'",
       nearest.empty() ? "" : text("; did you mean '", nearest, "'?"));
}

std::vector<OpRef> OpSet::all() const {
  std::vector<OpRef> all;
  for (const auto& [name, op] : ops_) all.push_back(op);
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
