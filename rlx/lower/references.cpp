#include "rlx/lower/references.h"

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
    for (image::Implementation& each : table[op->name]) each.version = op->version;
  }
  return table;
}

OpSet ops_of(const Graph& graph) {
  OpSet ops;
  add_ops(graph, ops);
  return ops;
}

}  // namespace rlx
