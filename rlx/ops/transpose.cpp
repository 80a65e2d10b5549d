// transpose(x, order): dim d of the result is dim order[d] of x. No order reverses the dims.

#include <algorithm>
#include <numeric>

#include "rlx/ops/ops_core.h"
#include "rlx/ops/view_elements.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& transpose_op();

Ints transpose_order(const Ints& given, const TensorType& x) {
  Ints axes(x.shape.size());
  std::iota(axes.begin(), axes.end(), int64_t{0});
  if (given.empty()) return {axes.rbegin(), axes.rend()};
  Ints order;
  for (const int64_t axis : given) order.push_back(axis < 0 ? axis + rank(x) : axis);
  require(std::is_permutation(order.begin(), order.end(), axes.begin(), axes.end()), "transpose: [",
          joined(given), "] is not an order of the dims of ", x);
  return order;
}

namespace {

Ints order_of(const Attrs& attrs, const TensorType& x) {
  return transpose_order(attrs.get<Ints>("order"), x);
}

template <class List>
List permuted(const List& list, const Ints& order) {
  List result;
  for (const int64_t axis : order) result.push_back(list[size_t(axis)]);
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
  const Ints order = order_of(site.infer.attrs, site.infer.in(0));
  return tidy({site.input.offset, permuted(site.input.strides, order)}, site.result.shape);
}

std::optional<HostValue> symbolic(const InferSite& site) {
  if (!site.has_host(0)) return std::nullopt;
  const HostValue& x = site.host(0);
  const Ints order = order_of(site.attrs, site.in(0));
  const Layout rows = Layout::row_major(Dims(x.shape));
  return elements_of_view(x, {rows.offset, permuted(rows.strides, order)},
                          permuted(x.shape, order));
}

Gradients gradient(const GradientSite& site) {
  const Ints order = order_of(site.attrs(), site.in(0).type());
  Ints inverse(order.size());
  for (size_t d = 0; d < order.size(); ++d) inverse[size_t(order[d])] = static_cast<int64_t>(d);
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
      .symbolic = symbolic,
      .never_fails = true,
      .onnx = "Transpose",
  };
  return op;
}

Value transpose(Value x, const Ints& order) {
  return x.apply(transpose_op(), {x}, {{"order", transpose_order(order, x.type())}});
}

}  // namespace rlx
