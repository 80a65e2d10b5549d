// A product, or a convolution, of two values that are dequantised on the way becomes one of their
// bytes, whose sums are dequantised once: (a - z) s . (b - y) t is ((a - z) . (b - y)) s t. The
// scale of a is one number and that of b one number or one for each column; both are known when a
// program is prepared, so that neither is infinite unless the weights are.

#include <algorithm>

#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_integer.h"
#include "rlx/ops/views.h"
#include "rlx/passes/match.h"
#include "rlx/passes/near_misses.h"
#include "rlx/passes/passes.h"

namespace rlx {

const OpDef& conv_op();
const OpDef& conv_integer_op();
const OpDef& dequantise_op();
const OpDef& linear_op();
const OpDef& matmul_op();
const OpDef& transpose_op();

namespace {

// Of an operand that is dequantised; all of the graph that was.
struct Bytes {
  Value values, scale, zero;
};

std::optional<Bytes> bytes_of(const Value& value) {
  const Node& node = value.producer();
  if (node.op.get() != &dequantise_op() || value.dtype() != DType::f32) return std::nullopt;
  const DType dtype = node.inputs[0].dtype();
  if (dtype != DType::i8 && dtype != DType::u8) return std::nullopt;
  const bool has_zero = node.inputs.size() > 2 && node.inputs[2].present();
  return Bytes{node.inputs[0], node.inputs[1], has_zero ? node.inputs[2] : Value{}};
}

// Is it one number, or one for each index of an axis of x? Operands broadcast to x.
bool is_along(const Value& operand, const Value& x, size_t axis) {
  if (!operand.present()) return true;
  const Dims& shape = operand.shape();
  const size_t missing = x.shape().size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d)
    if (d + missing != axis && !shape[d].is(1)) return false;
  return true;
}
bool is_one(const Value& operand) { return !operand.present() || count(operand.shape()).is(1); }
// As [] or [n].
Value flat(Value operand) {
  if (!operand) return operand;
  const Dims shape = is_one(operand) ? Dims{} : Dims{count(operand.shape())};
  return operand.shape() == shape ? operand : reshape(operand, shape);
}

// So few terms that their sum fits i32.
bool sums_fit(const Dim& terms) {
  constexpr int64_t kMost = INT32_MAX / (255 * 255);
  return terms.is_number() && terms.number() <= kMost;
}

class Finding {
 public:
  Finding(const Graph& graph, NearMisses* misses) : known_(graph), misses_(misses) {}

  // What is in the way of a node; empty: nothing. None where it is no such product.
  std::optional<std::string> obstacle(const Node& node) const {
    const bool is_conv = node.op.get() == &conv_op();
    if (!is_conv && node.op.get() != &matmul_op() && node.op.get() != &linear_op())
      return std::nullopt;
    const auto x = bytes_of(node.inputs[0]), w = bytes_of(weights(node));
    if (!x || !w) return std::nullopt;
    if (!is_one(x->scale) || !is_one(x->zero)) return "x has more than one scale or zero point";
    const size_t columns = is_conv || turns(node) ? 0 : w->values.shape().size() - 1;
    if (!is_along(w->scale, w->values, columns) || !is_along(w->zero, w->values, columns))
      return "a scale or zero point of the weights varies along what is summed over";
    for (const Value& operand : {x->scale, x->zero, w->scale, w->zero})
      if (operand.present() && !known_.is_once(operand)) return "a run tells a scale or zero point";
    if (!is_conv && (rank(x->values.type()) < 2 || rank(w->values.type()) != 2))
      return "the weights are no matrix, or x is a row";
    if (node.op.get() == &matmul_op() && node.attrs.get<bool>("transpose_a"))
      return "x is transposed";
    if (!sums_fit(is_conv ? terms_of(*w) : x->values.shape().back()))
      return "sums of so many terms may not fit i32";
    return "";
  }

  bool finds(const Node& node) const {
    const auto why = obstacle(node);
    return why && why->empty();
  }

  void note(int at) const {
    const Node& node = known_.graph().node(at);
    const auto why = obstacle(node);
    if (misses_ && why && !why->empty())
      misses_->note({at, node.op->name, node.name.empty() ? node.origin : node.name, 3, *why});
  }

  Value made(const RewriteSite& site) const {
    const Node& node = site.node;
    const Bytes x = moved(*bytes_of(node.inputs[0]), site),
                w = moved(*bytes_of(weights(node)), site);
    const bool is_conv = node.op.get() == &conv_op();
    const Value x_scale = flat(x.scale), w_scale = flat(w.scale), x_zero = flat(x.zero),
                w_zero = flat(w.zero);
    Value scale = x_scale * w_scale, sums;
    if (is_conv) {
      sums = x.values.apply(conv_integer_op(), {x.values, w.values, x_zero, w_zero}, site.attrs);
    } else {
      const Value by = turns(node) ? transpose(w.values, {1, 0}) : w.values;
      sums = matmul_integer(x.values, by, x_zero, w_zero);
    }
    Value bias = site.inputs.size() > 2 ? site.inputs[2] : Value{};
    if (is_conv) {
      Ints behind;
      for (int64_t d = 1; d + 1 < rank(node.types[0]); ++d) behind.push_back(d);
      if (!scale.shape().empty()) scale = unsqueeze(scale, behind);
      if (bias) bias = unsqueeze(bias, behind);
    }
    const Value y = sums.apply(dequantise_op(), {sums, scale});
    return bias ? y + bias : y;
  }

 private:
  static bool is_transpose(const Value& value) {
    const Node& node = value.producer();
    return node.op.get() == &transpose_op() && rank(value.type()) == 2 &&
           transpose_order(node.attrs.get<Ints>("order"), node.inputs[0].type()) == Ints{1, 0};
  }
  // Behind a transpose of them.
  static Value weights(const Node& node) {
    const Value w = node.inputs[1];
    return node.op.get() != &conv_op() && is_transpose(w) ? w.producer().inputs[0] : w;
  }
  // Are the bytes [columns, depth]?
  static bool turns(const Node& node) {
    if (node.op.get() == &conv_op()) return false;
    const bool flag =
        node.attrs.get<bool>(node.op.get() == &linear_op() ? "transpose_w" : "transpose_b");
    return flag != is_transpose(node.inputs[1]);
  }
  static Dim terms_of(const Bytes& w) {
    return product(w.values.shape(), 1, w.values.shape().size());
  }
  static Bytes moved(const Bytes& bytes, const RewriteSite& site) {
    return {site.moved(bytes.values), site.moved(bytes.scale), site.moved(bytes.zero)};
  }

  MatchGraph known_;
  NearMisses* misses_;
};

PassResult run(const Graph& graph, NearMisses* misses) {
  if (misses) misses->begin_graph();
  const Nodes& nodes = graph.nodes();
  if (std::none_of(nodes.begin(), nodes.end(),
                   [](const Node& node) { return node.op.get() == &dequantise_op(); }))
    return {};
  const Finding finding(graph, misses);
  int64_t found = 0;
  for (int at = 0; at < static_cast<int>(nodes.size()); ++at) {
    finding.note(at);
    found += finding.finds(graph.node(at));
  }
  if (found == 0) return {};
  int64_t changes = 0;
  Graph result = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    if (!finding.finds(site.node)) return std::nullopt;
    const Value y = finding.made(site);
    if (!(y.type() == site.node.types[0])) return std::nullopt;
    site.to.set_origin(y, site.node.origin);
    ++changes;
    return Values{y};
  });
  return {alive(std::move(result)), changes};
}

}  // namespace

const Pass find_integer_products{
    "find-integer-products", "Finds products of two values that are dequantised on the way.", run};

}  // namespace rlx
