// unsqueeze(x, axes): dims of 1 at `axes` of the result.

#include "rlx/ops/ops_core.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& unsqueeze_op();

namespace {

// `list` with `added` at the axes of the result.
Dims with_new(const Attrs& attrs, const TensorType& x, const Dims& list, const Dim& added) {
  const Ints& axes = attrs.get<Ints>("axes");
  const size_t size = x.shape.size() + axes.size();
  std::vector<bool> is_new(size);
  for (const int64_t axis : axes) {
    const int64_t limit = static_cast<int64_t>(size), at = axis < 0 ? axis + limit : axis;
    require(0 <= at && at < limit, "unsqueeze: axis ", axis, " is out of range for ", x, " with ",
            axes.size(), " new (rank ", size, ")");
    require(!is_new[size_t(at)], "unsqueeze: axis ", axis, " is named twice");
    is_new[size_t(at)] = true;
  }
  Dims result;
  size_t next = 0;
  for (size_t d = 0; d < size; ++d) result.push_back(is_new[d] ? added : list[next++]);
  return result;
}

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  return {{x.dtype, with_new(site.attrs, x, x.shape, 1)}};
}

void reference(const ReferenceSite& site) {
  copy_elements(site.in(0), 0, site.out(), 0, site.in(0).count());
}

std::optional<Layout> view(const ViewSite& site) {
  const Dims strides = with_new(site.infer.attrs, site.infer.in(0), site.input.strides, 1);
  return tidy({site.input.offset, strides}, site.result.shape);
}

Gradients gradient(const GradientSite& site) { return {reshape(site.dy(), site.in(0).shape())}; }

}  // namespace

const OpDef& unsqueeze_op() {
  static const OpDef op{
      .name = "unsqueeze",
      .family = "shape",
      .inputs = {1, 1, {"x"}},
      .attrs = {{"axes"}},
      .infer = infer,
      .reference = reference,
      .lower = copy_of_view,
      .gradient = gradient,
      .view = view,
      .symbolic = reshaped_host_value,
      .never_fails = true,
      .onnx = "Unsqueeze",
  };
  return op;
}

Value unsqueeze(Value x, const Ints& axes) {
  return x.apply(unsqueeze_op(), {x}, {{"axes", axes}});
}

}  // namespace rlx
