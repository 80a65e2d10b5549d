// A transpose or a reshape behind ops on single elements goes where it undoes one before them: the
// ops run in the order, or the shape, that was there first. transpose(relu(transpose(x))) is
// relu(x), and reshape(reshape(x) + mask) is x + reshape(mask).

#include <algorithm>

#include "rlx/ops/ops_core.h"
#include "rlx/ops/views.h"
#include "rlx/passes/match.h"
#include "rlx/passes/passes.h"

namespace rlx {
namespace {

bool is_elementwise(const Node& node) {
  return (node.op->elementwise || is_one_of(node, {"cast"})) && node.types.size() == 1 &&
         node.checks.empty() && node.definitions.empty();
}

// The outer view, as it is done to what the ops before it read.
class Outer {
 public:
  virtual ~Outer() = default;
  // A view that leaves nothing, or one view, together with the outer one.
  virtual bool undoes(const Value& value) const = 0;
  virtual Value undone(const Value& value, Value made) const = 0;
  // Any other operand; `once` ones may be copied.
  virtual bool takes(const Value& value, bool once) const = 0;
  virtual Value taken(Value made) const = 0;
};

class OuterTranspose : public Outer {
 public:
  explicit OuterTranspose(const Node& node)
      : order_(transpose_order(node.attrs.get<Ints>("order"), node.inputs[0].type())) {}

  bool undoes(const Value& value) const override {
    return is_one_of(value.producer(), {"transpose"}) && value.shape().size() == order_.size();
  }
  Value undone(const Value&, Value made) const override { return merged_transpose(made, order_); }
  bool takes(const Value& value, bool once) const override {
    return count(value.shape()).is(1) || once;
  }
  Value taken(Value made) const override {
    if (count(made.shape()).is(1)) return made;
    Ints leading;
    for (size_t d = made.shape().size(); d < order_.size(); ++d)
      leading.push_back(static_cast<int64_t>(leading.size()));
    return merged_transpose(leading.empty() ? made : unsqueeze(made, leading), order_);
  }

 private:
  Ints order_;
};

// From `parted`, whose axes are those of `whole`, some of them in several.
class OuterReshape : public Outer {
 public:
  OuterReshape(Dims parted, Dims whole) : parted_(std::move(parted)), whole_(std::move(whole)) {
    size_t next = 0;
    for (const Dim& dim : whole_) {
      Dim product(1);
      std::vector<size_t> axes;
      while (next < parted_.size() && (axes.empty() || !(product == dim))) {
        product = product * parted_[next];
        axes.push_back(next++);
      }
      fits_ &= product == dim && !axes.empty();
      parts_.push_back(std::move(axes));
    }
    for (; next < parted_.size() && fits_; ++next) {  // ones at the end
      fits_ = parted_[next].is(1) && !parts_.empty();
      if (fits_) parts_.back().push_back(next);
    }
  }
  bool fits() const { return fits_; }

  bool undoes(const Value& value) const override {
    const Node& node = value.producer();
    return is_one_of(node, {"reshape", "squeeze", "unsqueeze"}) && node.inputs[0].shape() == whole_;
  }
  Value undone(const Value& value, Value made) const override {
    return made.producer().inputs[size_t(value.result)];
  }
  bool takes(const Value& value, bool once) const override {
    if (value.shape().size() > parted_.size()) return false;
    if (once || count(value.shape()).is(1)) return true;
    return spread(value.shape()) == full(value.shape());  // else it would be copied at every run
  }
  Value taken(Value made) const override {
    if (count(made.shape()).is(1) && made.shape().size() <= whole_.size()) return made;
    const Dims own = full(made.shape()), wide = spread(made.shape());
    Dims shape;
    for (const std::vector<size_t>& axes : parts_) {
      Dim product(1);
      for (const size_t axis : axes) product = product * wide[axis];
      shape.push_back(product);
    }
    const Value all = made.shape() == own ? made : reshape(made, own);
    return reshape(wide == own ? all : expand(all, wide), shape);
  }

 private:
  Dims full(const Dims& shape) const {
    Dims own(parted_.size() - shape.size(), Dim(1));
    own.insert(own.end(), shape.begin(), shape.end());
    return own;
  }
  // With all axes of a part, where it has one.
  Dims spread(const Dims& shape) const {
    Dims wide = full(shape);
    for (const std::vector<size_t>& axes : parts_) {
      const bool has =
          std::any_of(axes.begin(), axes.end(), [&](size_t axis) { return !wide[axis].is(1); });
      for (const size_t axis : axes)
        if (has) wide[axis] = parted_[axis];
    }
    return wide;
  }

  Dims parted_, whole_;
  std::vector<std::vector<size_t>> parts_;
  bool fits_ = true;
};

class Cancelling {
 public:
  explicit Cancelling(const Graph& graph) : known_(graph) {}

  // May the node go? Asked before a graph is made.
  bool can_cancel(int at) const {
    const Node& node = known_.graph().node(at);
    if (!is_one_of(node, {"transpose", "reshape", "squeeze", "unsqueeze"})) return false;
    const Value x = node.inputs[0];
    if (!is_elementwise(x.producer()) || is_source(x.producer()) || !node.definitions.empty())
      return false;
    if (is_one_of(node, {"transpose"})) return can(OuterTranspose(node), x, at, kDepth);
    const OuterReshape outer(x.shape(), node.types[0].shape);
    return outer.fits() && can(outer, x, at, kDepth);
  }

  // What stands for a view, without it.
  std::optional<Value> operator()(const RewriteSite& site) const {
    if (!can_cancel(site.at)) return std::nullopt;
    const Node& node = site.node;
    const Value x = node.inputs[0];
    if (is_one_of(node, {"transpose"})) {
      const OuterTranspose outer(node);
      return made(outer, outer, x, site);
    }
    const OuterReshape before(x.shape(), node.types[0].shape);
    // In the symbols of the new graph.
    const auto inner = inner_of(before, x);
    const Value view = site.moved(inner);
    return made(OuterReshape(view.shape(), view.producer().inputs[0].shape()), before, x, site);
  }

 private:
  static constexpr int kDepth = 8;

  // Is the value an op that the chain alone reads, of operands that lead to a view that is undone?
  bool can(const Outer& outer, const Value& value, int reader, int depth) const {
    const Node& node = value.producer();
    if (depth == 0 || !is_elementwise(node) || !known_.is_inner(value.node, {reader})) return false;
    bool undoes = false;
    for (const Value& input : node.inputs) {
      if (!input.present()) return false;
      const bool chain = can(outer, input, value.node, depth - 1);
      const bool ends = !chain && outer.undoes(input) && input.shape() == value.shape();
      undoes |= chain || ends;
      if (!chain && !ends && !outer.takes(input, known_.is_once(input))) return false;
    }
    return undoes;
  }

  // The first view that is undone.
  Value inner_of(const Outer& outer, const Value& value) const {
    for (const Value& input : value.producer().inputs) {
      if (can(outer, input, value.node, kDepth)) return inner_of(outer, input);
      if (outer.undoes(input) && input.shape() == value.shape()) return input;
    }
    return {};
  }

  // `told` speaks of the graph that was, `outer` of the one that is made.
  Value made(const Outer& outer, const Outer& told, const Value& value,
             const RewriteSite& site) const {
    const Node& node = value.producer();
    Values inputs;
    for (const Value& input : node.inputs) {
      if (can(told, input, value.node, kDepth))
        inputs.push_back(made(outer, told, input, site));
      else if (told.undoes(input) && input.shape() == value.shape())
        inputs.push_back(outer.undone(input, site.moved(input)));
      else
        inputs.push_back(outer.taken(site.moved(input)));
    }
    const Value result = site.to.add(node.op, inputs, node.attrs);
    site.to.set_origin(result, node.origin);
    return result;
  }

  MatchGraph known_;
};

PassResult run(const Graph& graph) {
  const Cancelling cancelling(graph);
  int64_t changes = 0;
  for (int at = 0; at < static_cast<int>(graph.nodes().size()); ++at)
    changes += cancelling.can_cancel(at);
  if (changes == 0) return {};
  Graph result = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    const auto value = cancelling(site);
    return value ? std::optional(Values{*value}) : std::nullopt;
  });
  return {alive(std::move(result)), changes};
}

}  // namespace

const Pass cancel_views{"cancel-views",
                        "Drops transposes and reshapes that cancel around ops on elements.", run};

}  // namespace rlx
