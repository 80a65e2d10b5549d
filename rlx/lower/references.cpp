#include "rlx/lower/references.h"

#include <algorithm>
#include <deque>
#include <set>

#include "rlx/ir/known.h"
#include "rlx/ir/text.h"
#include "rlx/lower/scalar_loops.h"

namespace rlx {
namespace {

class Reference : public image::CallKernel {
 public:
  Reference(OpRef op, Attrs attrs) : op_(std::move(op)), attrs_(std::move(attrs)) {}
  bool run(image::CallSite& site) override {
    inputs_.clear();
    for (size_t i = 0; i < site.inputs.size(); ++i) inputs_.push_back(site.in(i));
    op_->reference({*op_, inputs_, attrs_, site.results, site.symbols});
    return true;
  }

 private:
  OpRef op_;
  Attrs attrs_;
  std::vector<const Tensor*> inputs_;
};

// What an image says of a call, against what its op makes of the operands: once for the same
// extents.
class CallCheck : public image::CallKernel {
 public:
  CallCheck(OpRef op, const image::Call& call)
      : op_(std::move(op)),
        attrs_(call.attrs),
        own_inputs_(call.tile.empty() ? call.inputs.size() : size_t(call.tile.own_inputs)),
        has_tile_(!call.tile.empty()) {}

  bool run(image::CallSite& site) override {
    note_extents(site);
    if (passed_.count(extents_)) return true;
    check(site);
    constexpr size_t kMost = 64;
    if (passed_.size() == kMost) passed_.clear();
    passed_.insert(extents_);
    return true;
  }

 private:
  // All that the rule and the comparison see.
  void note_extents(const image::CallSite& site) {
    extents_.clear();
    const auto add = [&](const auto& numbers) {
      extents_.push_back(static_cast<int64_t>(numbers.size()));
      extents_.insert(extents_.end(), numbers.begin(), numbers.end());
    };
    for (size_t i = 0; i < own_inputs(site); ++i) {
      const image::Argument& x = site.inputs[i];
      extents_.push_back(x.present ? static_cast<int64_t>(x.tensor.dtype()) : -1);
      if (!x.present) continue;
      add(x.shape);
      if (const auto host = host_operand(site, i))
        for (const Dim& element : host->elements) extents_.push_back(element.number());
    }
    for (const Tensor& result : site.results) {
      extents_.push_back(static_cast<int64_t>(result.dtype()));
      add(result.shape());
    }
    for (const image::CallSite::Stored& stored : site.stored) add(stored.shape);
    for (const auto& [symbol, value] : site.symbols) extents_.push_back(value);
    extents_.push_back(static_cast<int64_t>(site.symbols.size()));
  }

  void check(const image::CallSite& site) const {
    const Types types = inferred(site);
    const size_t results = has_tile_ ? 1 : types.size();
    if (!has_tile_ && types.size() != site.results.size())
      fail(ErrorKind::invalid_model, "image: ", op_->name, " has ", types.size(),
           " results, the call ", site.results.size());
    for (size_t r = 0; r < results; ++r) {
      if (!is_bound(types[r].shape, site.symbols)) continue;  // the op itself tells
      const Shape& given = site.shape_of(r);
      const bool same_dtype = has_tile_ || site.results[r].dtype() == types[r].dtype;
      if (!same_dtype || bound(types[r].shape, site.symbols) != given)
        fail(ErrorKind::invalid_model, "image: ", op_->name, " gives ", types[r], ", the call has ",
             TensorType{site.results[r].dtype(), given});
    }
  }

  size_t own_inputs(const image::CallSite& site) const {
    return std::min(own_inputs_, site.inputs.size());
  }
  std::optional<HostValue> host_operand(const image::CallSite& site, size_t i) const {
    const image::Argument& x = site.inputs[i];
    const bool wanted = std::count(op_->host_inputs.begin(), op_->host_inputs.end(), i) != 0;
    if (!wanted || !has_host_elements({x.tensor.dtype(), x.shape})) return std::nullopt;
    return host_value_of(x.contiguous().aligned());
  }

  Types inferred(const image::CallSite& site) const {
    std::deque<TensorType> types;
    std::deque<HostValue> hosts;
    std::vector<const TensorType*> type_refs;
    std::vector<const HostValue*> host_refs;
    for (size_t i = 0; i < own_inputs(site); ++i) {
      const image::Argument& x = site.inputs[i];
      const TensorType type{x.tensor.dtype(), x.shape};
      type_refs.push_back(x.present ? &types.emplace_back(type) : nullptr);
      host_refs.push_back(nullptr);
      if (!x.present) continue;
      if (auto host = host_operand(site, i)) host_refs.back() = &hosts.emplace_back(*host);
    }
    int unknown = 0;
    const auto fresh = [&] { return Dim(text("untold.", unknown++)); };
    const Inferred made = infer_types(*op_, type_refs, host_refs, attrs_, fresh);
    for (const DimCheck& check : made.checks)
      if (is_bound({check.a, check.b}, site.symbols)) check.require_under(site.symbols);
    return made.types;
  }

  OpRef op_;
  Attrs attrs_;
  size_t own_inputs_;
  bool has_tile_;
  std::vector<int64_t> extents_;  // of the call at hand
  std::set<std::vector<int64_t>> passed_;
};

void add_ops(const Graph& graph, OpSet& ops) {
  for (const Node& node : graph.nodes()) {
    if (!is_source(node) && !ops.find(node.op->name)) ops.add(node.op);
    for (const auto& [name, attr] : node.attrs)
      if (const auto* body = std::get_if<GraphPtr>(&attr.variant())) add_ops(**body, ops);
  }
}

}  // namespace

image::Implementations references(const OpSet& ops) {
  image::Implementations table;
  const auto shared = std::make_shared<const OpSet>(ops);  // for the bodies of control flow
  for (const OpRef& op : ops.all()) {
    if (!op->reference) continue;
    if (op->elementwise) table[op->name].push_back(scalar_loops(op));
    const auto prepare = [op, shared](const image::Call& call, const image::Image&) {
      Attrs attrs = call.attrs;
      for (const image::Call::Body& body : call.bodies)
        attrs.set(body.name, GraphPtr(std::make_shared<const Graph>(parse(body.text, *shared))));
      return std::make_unique<Reference>(op, std::move(attrs));
    };
    table[op->name].push_back({.name = "reference", .prepare = prepare});
    for (image::Implementation& each : table[op->name]) {
      each.version = op->version;
      each.identity = op.get();
    }
  }
  return table;
}

image::Implementations call_checks(const OpSet& ops) {
  image::Implementations table;
  for (const OpRef& op : ops.all()) {
    // Bodies are text, and their nodes are held to their rules where it is parsed.
    const auto prepare = [op](const image::Call& call,
                              const image::Image&) -> std::unique_ptr<image::CallKernel> {
      if (!call.bodies.empty()) return nullptr;
      return std::make_unique<CallCheck>(op, call);
    };
    table[image::check_name(op->name)].push_back({.name = "check", .prepare = prepare});
  }
  return table;
}

OpSet ops_of(const Graph& graph) {
  OpSet ops;
  add_ops(graph, ops);
  return ops;
}

}  // namespace rlx
