// tile(x, repeats): x repeated as often as `repeats` says along each of its dims.

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_rearrange.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& tile_op();

namespace {

Dims repeats_of(const InferSite& site) {
  require(site.attrs.has("repeats") != site.has(1),
          "tile: takes repeats as attribute or as operand, and one of them");
  if (!site.has(1)) return dims_attr(site.attrs, "repeats");
  const TensorType& type = site.in(1);
  require(is_integer(type.dtype) && rank(type) == 1,
          "tile: repeats must be a list of integers, got ", type);
  const auto& elements = site.host(1).elements;
  return {elements.begin(), elements.end()};
}

Types infer(const InferSite& site) {
  TensorType y = site.in(0);
  const Dims repeats = repeats_of(site);
  require(repeats.size() == y.shape.size(), "tile: there are ", repeats.size(), " repeats for ", y,
          " (rank ", rank(y), ")");
  for (size_t d = 0; d < repeats.size(); ++d) {
    require(!repeats[d].is_number() || repeats[d].number() >= 0, "tile: repeat ", repeats[d],
            " of dim ", d, " is negative");
    y.shape[d] = y.shape[d] * larger(repeats[d], 0);
  }
  return {y};
}

void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const Shape &from = x.shape(), &to = site.out().shape(), strides = strides_of(from);
  for (int64_t i = 0; i < site.out().count(); ++i) {
    int64_t rest = i, at = 0;
    for (size_t d = to.size(); d-- > 0; rest /= to[d]) at += rest % to[d] % from[d] * strides[d];
    copy_elements(x, at, site.out(), i, 1);
  }
}

// Each dim as the repeats and the dim itself.
struct Split {
  Dims shape, strides;
};

Split split_dims(const Dims& shape, const Dims& strides, const Dims& repeats) {
  Split split;
  for (size_t d = 0; d < shape.size(); ++d) {
    for (const Dim& dim : {larger(repeats[d], 0), shape[d]}) split.shape.push_back(dim);
    for (const Dim& stride : {Dim(0), strides[d]}) split.strides.push_back(stride);
  }
  return split;
}

Dims known_repeats(const Node& node) {
  if (node.inputs.size() < 2) return dims_attr(node.attrs, "repeats");
  const Value operand = node.inputs[1];
  const auto& elements = operand.producer().host_values[size_t(operand.result)]->elements;
  return {elements.begin(), elements.end()};
}

// A copy between two views with the repeats as dims of their own.
Steps lower(const LowerSite& site) {
  Operand from = site.inputs[0], to = site.results[0];
  const Split split = split_dims(from.shape, from.layout.strides, known_repeats(site.node));
  from.shape = to.shape = split.shape;
  from.layout = tidy({from.layout.offset, split.strides}, split.shape);
  to.layout = Layout::row_major(split.shape);
  return copy_view(from, to, site.traits);
}

// The sum over what was repeated.
Gradients gradient(const GradientSite& site) {
  const Dims& shape = site.in(0).shape();
  const Split split = split_dims(shape, strides_of(shape), known_repeats(site.node));
  Ints axes;
  for (size_t d = 0; d < shape.size(); ++d)
    if (!split.shape[2 * d].is(1)) axes.push_back(static_cast<int64_t>(2 * d));
  Gradients gradients(site.inputs.size());
  const Value dy = reshape(site.dy(), split.shape);
  gradients[0] = reshape(axes.empty() ? dy : sum(dy, axes), shape);
  return gradients;
}

}  // namespace

const OpDef& tile_op() {
  static const OpDef op{
      .name = "tile",
      .family = "shape",
      .inputs = {1, 2, {"x", "repeats"}},
      .attrs = {{"repeats", {}, true}},
      .host_inputs = {1},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .onnx = "Tile",
  };
  return op;
}

Value tile(Value x, const Dims& repeats) { return x.apply(tile_op(), {x}, {{"repeats", repeats}}); }
Value tile(Value x, Value repeats) { return x.apply(tile_op(), {x, repeats}); }

}  // namespace rlx
