// squeeze(x, axes) drops dims of 1; no axes means all that are 1.

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& squeeze_op();

namespace {

// Which dims of x go.
std::vector<bool> dropped(const Attrs& attrs, const TensorType& x) {
  std::vector<bool> drop(x.shape.size());
  const Ints& axes = attrs.get<Ints>("axes");
  for (size_t d = 0; axes.empty() && d < drop.size(); ++d) drop[d] = x.shape[d].is(1);
  for (const int64_t axis : axes) drop[axis_of("squeeze", axis, x)] = true;
  return drop;
}

template <class List>
List kept(const List& list, const std::vector<bool>& drop) {
  List result;
  for (size_t d = 0; d < list.size(); ++d)
    if (!drop[d]) result.push_back(list[d]);
  return result;
}

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  const std::vector<bool> drop = dropped(site.attrs, x);
  for (size_t d = 0; d < drop.size(); ++d)
    if (drop[d]) site.equal(x.shape[d], 1, text("dim ", d, " of ", x, " must be 1"));
  return {{x.dtype, kept(x.shape, drop)}};
}

void reference(const ReferenceSite& site) {
  copy_elements(site.in(0), 0, site.out(), 0, site.in(0).count());
}

std::optional<Layout> view(const ViewSite& site) {
  const Dims strides = kept(site.input.strides, dropped(site.infer.attrs, site.infer.in(0)));
  return tidy({site.input.offset, strides}, site.result.shape);
}

Gradients gradient(const GradientSite& site) { return {reshape(site.dy(), site.in(0).shape())}; }

}  // namespace

const OpDef& squeeze_op() {
  static const OpDef op{
      .name = "squeeze",
      .family = "shape",
      .inputs = {1, 1, {"x"}},
      .attrs = {{"axes", Ints{}}},
      .infer = infer,
      .reference = reference,
      .lower = copy_of_view,
      .gradient = gradient,
      .view = view,
      .symbolic = reshaped_host_value,
      .never_fails = true,
      .onnx = "Squeeze",
  };
  return op;
}

Value squeeze(Value x, const Ints& axes) { return x.apply(squeeze_op(), {x}, {{"axes", axes}}); }

}  // namespace rlx
