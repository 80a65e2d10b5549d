// expand(x, shape): x repeated along dims of 1 and new leading dims, as NumPy broadcasts x with
// `shape`.

#include <algorithm>

#include "rlx/codegen/elementwise.h"
#include "rlx/ir/known.h"
#include "rlx/ops/elementwise.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_rearrange.h"
#include "rlx/ops/view_elements.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& expand_op();

namespace {

Dims wanted_dims(const InferSite& site) {
  require(site.attrs.has("shape") != site.has(1),
          "expand: takes the shape as attribute or as operand, and one of them");
  if (!site.has(1)) return dims_attr(site.attrs, "shape");
  const TensorType& type = site.in(1);
  require(is_integer(type.dtype) && rank(type) == 1,
          "expand: the shape must be a list of integers, got ", type);
  const auto& elements = site.host(1).elements;
  return {elements.begin(), elements.end()};
}

// One dim of x where `wanted` is asked for. -1 keeps what there is.
Dim expanded(const InferSite& site, const Dim& from, const Dim& wanted, const Dims& shape) {
  if (wanted.is(1) || wanted.is(-1) || wanted == from) return from;
  if (from.is(1)) return wanted;
  const std::string what = text(site.in(0), " cannot become ", shape);
  // An element of a run may be -1, which is then as good as 1.
  const bool is_element = !wanted.is_number() && may_be_negative(wanted);
  if (is_element) site.at_most(-1, wanted, what);
  return site.broadcast(from, is_element ? max(wanted, Dim(0) - wanted) : wanted, what);
}

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  const Dims wanted = wanted_dims(site);
  for (const Dim& dim : wanted)
    require(!dim.is_number() || dim.number() >= -1, "expand: dim ", dim, " of ", wanted,
            " is negative");
  const size_t size = std::max(x.shape.size(), wanted.size());
  const auto at = [&](const Dims& shape, size_t d) {  // both end together
    return d + shape.size() < size ? Dim(1) : shape[d + shape.size() - size];
  };
  Dims shape;
  for (size_t d = 0; d < size; ++d)
    shape.push_back(expanded(site, at(x.shape, d), at(wanted, d), wanted));
  return {{x.dtype, shape}};
}

// Strides of 0 where the operand is repeated.
Layout expand_layout(const Dims& from, const Layout& layout, const Dims& to) {
  Operand operand(0, {DType::f32, from}, Access::read);
  operand.layout = layout;
  return tidy(broadcast(operand, to).layout, to);
}

void reference(const ReferenceSite& site) {
  const Dims from = site.in(0).shape();
  copy_strided(site.in(0), expand_layout(from, Layout::row_major(from), site.out().shape()),
               site.out(), {});
}

std::optional<Layout> view(const ViewSite& site) {
  return expand_layout(site.infer.in(0).shape, site.input, site.result.shape);
}

std::optional<HostValue> symbolic(const InferSite& site) {
  const Dims shape = infer(site)[0].shape;
  if (!site.has_host(0) || !is_concrete(shape) || count(concrete(shape)) > kMostKnownElements)
    return std::nullopt;
  const Dims from = site.host(0).shape;
  return elements_of_view(site.host(0), expand_layout(from, Layout::row_major(from), shape),
                          concrete(shape));
}

Gradients gradient(const GradientSite& site) {
  Gradients gradients(site.inputs.size());
  gradients[0] = unbroadcast(site.dy(), site.in(0));
  return gradients;
}

}  // namespace

const OpDef& expand_op() {
  static const OpDef op{
      .name = "expand",
      .family = "shape",
      .inputs = {1, 2, {"x", "shape"}},
      .attrs = {{"shape", {}, true}},
      .host_inputs = {1},
      .infer = infer,
      .reference = reference,
      .lower = copy_of_view,
      .gradient = gradient,
      .view = view,
      .symbolic = symbolic,
      .never_fails = true,
      .onnx = "Expand",
  };
  return op;
}

Value expand(Value x, const Dims& shape) { return x.apply(expand_op(), {x}, {{"shape", shape}}); }
Value expand(Value x, Value shape) { return x.apply(expand_op(), {x, shape}, {}); }

}  // namespace rlx
