// max_pool_gradient(dy, indices): each dy at the element of x that max_pool chose, added up where
// windows share one. It looks at the windows over each element, so sums have one order everywhere.

#include "rlx/ops/max_pool.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/pooling.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) {
  const TensorType &dy = site.in(0), &indices = site.in(1);
  spatial_axes("max_pool_gradient", dy);
  const Dims shape = dims_attr(site.attrs, "shape");
  require(is_float(dy.dtype) && is_integer(indices.dtype) && rank(indices) == rank(dy),
          "max_pool_gradient: dy ", dy, " needs floats, and indices ", indices,
          " integers of its shape");
  require(shape.size() == dy.shape.size(), "max_pool_gradient: shape [", joined(shape),
          "] has not the rank of dy ", dy);
  for (size_t d = 0; d < shape.size(); ++d)
    site.equal(dy.shape[d], indices.shape[d],
               text("dim ", d, " of dy ", dy, " and indices ", indices));
  for (const size_t d : {size_t{0}, size_t{1}})  // windows do not slide over these
    site.equal(dy.shape[d], shape[d], text("dim ", d, " of dy ", dy, " and of shape ", shape));
  const Pool checked("max_pool_gradient", site.attrs, dy.shape.size() - 2);
  return {{dy.dtype, shape}};
}

Slide<Dim> slide_of(const Attrs& attrs, const Dims& dy) {
  return Pool("max_pool_gradient", attrs, dy.size() - 2).slide_over(dims_attr(attrs, "shape"), dy);
}

void reference(const ReferenceSite& site) {
  const Tensor &dy = site.in(0), &indices = site.in(1);
  const Slide<int64_t> slide = bound(slide_of(site.attrs, dy.type().shape), site.symbols);
  const bool by_columns = site.attrs.get<int64_t>("storage_order") == 1;
  const int64_t plane = slide.in[0] * slide.in[1] * slide.in[2];
  std::vector<double> sums(static_cast<size_t>(site.out().count()));
  for (int64_t i = 0; i < dy.count(); ++i) {
    const int64_t first = i / slide.places() * plane;
    for_each_tap(slide, i % slide.places(), [&](int64_t, int64_t at) {
      if (indices.integer_at(i) == first + max_pool_index(by_columns, slide, at))
        sums[size_t(first + at)] += dy.at(i);
    });
  }
  for (int64_t i = 0; i < site.out().count(); ++i) site.out().set(i, sums[size_t(i)]);
}

Steps lower(const LowerSite& site) {
  const Slide<Dim> slide = slide_of(site.attrs(), site.in(0).shape);
  Dispatch dispatch = pool_dispatch(site, "max_pool_gradient", slide, count(site.out().shape));
  dispatch.operands = {site.read("dy", 0), site.read("indices", 1), site.write("dx")};
  dispatch.params.emplace_back("index_strides", max_pool_index_strides(site.attrs(), slide));
  return dispatch;
}

// Indices by columns are those by rows of the planes with their axes reversed.
Gradients gradient(const GradientSite& site) {
  Value dx = site.dy();
  Ints order = {0, 1};
  for (int64_t d = rank(dx.type()) - 1; d > 1; --d) order.push_back(d);
  if (site.attrs().get<int64_t>("storage_order") == 1) dx = transpose(dx, order);
  return {gather(reshape(dx, {count(dx.shape())}), site.in(1)), std::nullopt};
}

}  // namespace

const OpDef& max_pool_gradient_op() {
  static const OpDef op{
      .name = "max_pool_gradient",
      .family = "pooling",
      .inputs = {2, 2, {"dy", "indices"}},
      .attrs = pool_attrs({{"storage_order", 0}, {"shape"}}),
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
  };
  return op;
}

}  // namespace rlx
