// transpose(x, order): dim d of the result is dim order[d] of x. No order reverses the dims.

#include <algorithm>
#include <numeric>

#include "rlx/ops/ops.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& transpose_op();

namespace {

std::vector<size_t> order_of(const Attrs& attrs, const TensorType& x) {
  std::vector<size_t> axes(x.shape.size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  const Ints& given = attrs.get<Ints>("order");
  if (given.empty()) return {axes.rbegin(), axes.rend()};
  std::vector<size_t> order;
  for (const int64_t axis : given)
    order.push_back(static_cast<size_t>(axis < 0 ? axis + rank(x) : axis));
  require(std::is_permutation(order.begin(), order.end(), axes.begin(), axes.end()), "transpose: [",
          joined(given), "] is not an order of the dims of ", x);
  return order;
}

template <class List>
List permuted(const List& list, const std::vector<size_t>& order) {
  List result;
  for (const size_t axis : order) result.push_back(list[axis]);
  return result;
}

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  return {{x.dtype, permuted(x.shape, order_of(site.attrs, x))}};
}

void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  copy_strided(x, 0, permuted(strides_of(x.shape()), order_of(site.attrs, x.type())), site.out());
}

std::optional<Layout> view(const ViewSite& site) {
  const auto order = order_of(site.infer.attrs, site.infer.in(0));
  return tidy({site.input.offset, permuted(site.input.strides, order)}, site.result.shape);
}

Gradients gradient(const GradientSite& site) {
  const auto order = order_of(site.attrs(), site.in(0).type());
  Ints inverse(order.size());
  for (size_t d = 0; d < order.size(); ++d) inverse[order[d]] = static_cast<int64_t>(d);
  return {transpose(site.dy(), inverse)};
}

}  // namespace

const OpDef& transpose_op() {
  static const OpDef op{
      .name = "transpose",
      .family = "shape",
      .inputs = {1, 1, {"x"}},
      .attrs = {{"order", Ints{}}},
      .infer = infer,
      .reference = reference,
      .lower = copy_of_view,
      .gradient = gradient,
      .view = view,
      .onnx = "Transpose",
  };
  return op;
}

Value transpose(Value x, const Ints& order) {
  return x.apply(transpose_op(), {x}, {{"order", order}});
}

}  // namespace rlx
