// A scale or shift per channel beside a convolution or a product by weights becomes part of the
// weights: conv(x, w) * s = conv(x, w * s). What is computed from weights alone is computed once.

#include "rlx/ops/ops_core.h"
#include "rlx/passes/passes.h"
#include "rlx/passes/rules.h"
#include "rlx/passes/weights.h"

namespace rlx {
namespace {

enum class Form { conv, conv_transpose, linear, matmul };

// A node that multiplies by weights, in the graph that is built.
struct Weighing {
  const Node& node;
  Form form;
  Value x, w, bias;

  Weighing(const Found& found, const Pattern& pattern)
      : node(found.node(pattern)),
        x(found.operand(pattern, 0)),
        w(found.operand(pattern, 1)),
        bias(found.operand(pattern, 2)) {
    form = is_op(node, "conv")             ? Form::conv
           : is_op(node, "conv_transpose") ? Form::conv_transpose
           : is_op(node, "linear")         ? Form::linear
                                           : Form::matmul;
  }

  bool is_window() const { return form == Form::conv || form == Form::conv_transpose; }
  bool is_transposed() const {
    return node.attrs.get<bool>(form == Form::linear ? "transpose_w" : "transpose_b");
  }
  int64_t groups() const { return node.attrs.get<int64_t>("groups"); }
  // Axes of the result and of x behind the channels.
  size_t behind() const { return is_window() ? w.shape().size() - 2 : 0; }
  Dim outputs() const {
    if (form == Form::conv) return w.shape()[0];
    if (form == Form::conv_transpose) return w.shape()[1] * Dim(groups());
    return w.shape()[is_transposed() ? 0 : 1];
  }
  Dim inputs() const {
    if (form == Form::conv) return w.shape()[1] * Dim(groups());
    if (form == Form::conv_transpose) return w.shape()[0];
    return w.shape()[is_transposed() ? 1 : 0];
  }

  // w times a scale [channels] or [], along its outputs or inputs.
  Value scaled(Value scale, bool of_outputs) const {
    if (scale.shape().empty()) return w * scale;
    if (!is_window()) {
      const bool rows = of_outputs == is_transposed();
      return w * (rows ? unsqueeze(scale, {1}) : scale);
    }
    // The outputs of conv and the inputs of conv_transpose are the first axis; the second one
    // counts within a group.
    Dims shape(w.shape().size() + 1, 1), parted = w.shape();
    const Dim parts = groups(), each = floor_div(w.shape()[0], parts);
    parted[0] = each;
    parted.insert(parted.begin(), parts);
    const bool first = of_outputs == (form == Form::conv);
    shape[0] = parts;
    shape[first ? 1 : 2] = first ? each : w.shape()[1];
    return reshape(reshape(w, parted) * reshape(scale, shape), w.shape());
  }

  // The node with other operands; `shift` [outputs] or [] is added to the result.
  Value again(Value of, Value weights, Value shift) const {
    if (shift && shift.shape().empty()) shift = expand(shift, {outputs()});
    if (form != Form::matmul) return of.apply(*node.op, {of, weights, shift}, node.attrs);
    const Value y = of.apply(*node.op, {of, weights}, node.attrs);
    return shift ? y + shift : y;
  }
};

// What a shift of every element of x, [inputs] or [], adds to each output, as [outputs].
Value seen_through(const Weighing& product, Value shift) {
  const Value& w = product.w;
  const Value scaled = product.scaled(shift, false);
  if (!product.is_window()) return sum(scaled, {product.is_transposed() ? 1 : 0});
  Ints axes;
  for (int64_t d = 1; d < rank(w.type()); ++d) axes.push_back(d);
  return sum(scaled, axes);
}

bool has_no_pads(const Attrs& attrs) {
  if (attrs.has("auto_pad") && !attrs.get<std::string>("auto_pad").empty() &&
      attrs.get<std::string>("auto_pad") != "valid")
    return false;
  for (const int64_t pad : attrs.get<Ints>("pads"))
    if (pad != 0) return false;
  return true;
}

// Without extents in symbols, which may be others in the new graph.
bool is_plain(const Node& node) {
  for (const auto& [name, attr] : node.attrs)
    if (std::holds_alternative<Dims>(attr.variant())) return false;
  return is_float(node.types[0].dtype);
}
bool is_matrix(const Value& w) { return rank(w.type()) == 2; }

Value plus(Value a, Value b) { return !a ? b : !b ? a : a + b; }
Value times(Value a, Value b) { return !a ? a : a * b; }

Patterns weighings(const Pattern& x) {
  const Pattern matrix = once(is_matrix);
  return {op("conv", {x, once()}, is_plain), op("conv_transpose", {x, once()}, is_plain),
          op("linear", {x, matrix}, is_plain), op("matmul", {x, matrix}, is_plain)};
}

void add_scales_behind(Rules& rules) {
  const Pattern product_of = either(weighings(any())), by = once(), factor = number();
  const auto scaled = [=](const Found& found, Value scale) {
    const Weighing product(found, product_of);
    if (!scale) return Value{};
    return product.again(product.x, product.scaled(scale, true), times(product.bias, scale));
  };
  rules.push_back({product({product_of, by}), [=](const Found& found) {
                     const Weighing product(found, product_of);
                     return scaled(found,
                                   along_axis(found[by], product.outputs(), product.behind()));
                   }});
  rules.push_back({product({product_of}, factor), [=](const Found& found) {
                     const double by_all = found.number(factor);  // 1: the product itself
                     return by_all == 1 ? Value{}
                                        : scaled(found, scalar(found[product_of], by_all));
                   }});
}

void add_shifts_behind(Rules& rules) {
  const Pattern x = any();
  Patterns with_bias = weighings(x);
  with_bias.pop_back();  // matmul has none
  const Pattern product_of = either(with_bias), by = once(), term = number();
  const auto shifted = [=](const Found& found, Value shift) {
    const Weighing product(found, product_of);
    if (!shift) return Value{};
    return product.again(product.x, product.w, plus(product.bias, shift));
  };
  rules.push_back({sum({product_of, by}), [=](const Found& found) {
                     const Weighing product(found, product_of);
                     return shifted(found,
                                    along_axis(found[by], product.outputs(), product.behind()));
                   }});
  rules.push_back({sum({product_of}, term), [=](const Found& found) {
                     const double to_all = found.number(term);
                     return to_all == 0 ? Value{}
                                        : shifted(found, scalar(found[product_of], to_all));
                   }});
}

void add_batch_norm(Rules& rules) {
  const Pattern product_of = either(weighings(any()));
  const Pattern norm = op("batch_norm", {product_of, maybe(once()), maybe(once()), once(), once()});
  rules.push_back({norm, [=](const Found& found) {
                     const Weighing product(found, product_of);
                     if (!product.is_window() && found.type().shape.size() != 2) return Value{};
                     Value scale =
                         rsqrt(found.operand(norm, 4) +
                               scalar(product.w, found.node(norm).attrs.get<double>("epsilon")));
                     if (const Value by = found.operand(norm, 1)) scale = scale * by;
                     const Value own = product.bias ? product.bias - found.operand(norm, 3)
                                                    : -found.operand(norm, 3);
                     return product.again(product.x, product.scaled(scale, true),
                                          plus(own * scale, found.operand(norm, 2)));
                   }});
}

void add_before(Rules& rules) {
  const Pattern x = any(), by = once(), factor = number(), term = number();
  const auto rule = [&](const Pattern& operand, const auto& change) {
    for (const Pattern& each : weighings(operand))
      rules.push_back(
          {each, [=](const Found& found) { return change(found, Weighing(found, each)); }});
  };
  const auto scale = [=](const Found& found, const Weighing& product, Value weight) {
    if (!weight) return Value{};
    return product.again(found[x], product.scaled(weight, false), product.bias);
  };
  rule(product({x, by}), [=](const Found& found, const Weighing& product) {
    return scale(found, product, along_axis(found[by], product.inputs(), product.behind()));
  });
  rule(product({x}, factor), [=](const Found& found, const Weighing& product) {
    if (found.number(factor) == 1) return Value{};
    return scale(found, product, scalar(product.w, found.number(factor)));
  });
  const auto shift = [=](const Found& found, const Weighing& product, Value weight) {
    const bool seen_whole = product.form == Form::linear ||
                            (product.form == Form::conv && has_no_pads(product.node.attrs));
    if (!weight || !seen_whole) return Value{};
    return product.again(found[x], product.w, plus(product.bias, seen_through(product, weight)));
  };
  rule(sum({x, by}), [=](const Found& found, const Weighing& product) {
    return shift(found, product, along_axis(found[by], product.inputs(), product.behind()));
  });
  rule(sum({x}, term), [=](const Found& found, const Weighing& product) {
    if (found.number(term) == 0) return Value{};
    return shift(found, product, scalar(product.w, found.number(term)));
  });
}

int64_t run(Changing& graph, NearMisses* misses) {
  static const Rules rules = [] {
    Rules all;
    add_batch_norm(all);
    add_scales_behind(all);
    add_shifts_behind(all);
    add_before(all);
    return all;
  }();
  return apply_rules(graph, rules, misses);
}

}  // namespace

const Pass fold_scales{"fold-scales", "Folds scales beside a product by weights into the weights.",
                       run};

}  // namespace rlx
