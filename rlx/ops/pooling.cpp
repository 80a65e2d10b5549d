#include "rlx/ops/pooling.h"

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_pool.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& conv_op();
const OpDef& conv_transpose_op();

std::vector<AttrSpec> pool_attrs(std::vector<AttrSpec> more) {
  more.insert(more.begin(), {{"window"}, {"ceil_mode", false}});
  return window_attrs(std::move(more));
}

Pool::Pool(std::string_view op, const Attrs& attrs, size_t axes) : windows(op, attrs, axes) {
  const Ints& given = attrs.get<Ints>("window");
  require(given.size() == axes, op, ": window [", joined(given), "] is not ", axes,
          " numbers, one per spatial dim");
  for (const int64_t extent : given)
    require(extent > 0, op, ": the window [", joined(given), "] is empty");
  require_32_bits(op, "the extents of window", given);
  window.assign(given.begin(), given.end());
  count(window);  // an Error where its taps cannot be counted
}

Dims Pool::shape(std::string_view op, const TensorType& x) const {
  Dims shape = {x.shape[0], x.shape[1]};
  for (const Dim& places : window_places(op, windows, x, window)) shape.push_back(places);
  return shape;
}

Slide<Dim> Pool::slide_over(const Dims& x, const Dims& y) const {
  return slide(windows, spatial_dims(x), window, spatial_dims(y));
}

Dims Pool::pads(const Dims& x) const {
  Dims pads;
  for (size_t d = 0; d < window.size(); ++d)
    pads.push_back(windows.pad_before(x[d + 2], window[d], d));
  for (size_t d = 0; d < window.size(); ++d)
    pads.push_back(windows.pad_after(x[d + 2], window[d], d));
  return pads;
}

Slide<int64_t> pool_slide(const ReferenceSite& site) {
  const Dims x = site.in(0).type().shape;
  const Pool pool(site.op.name, site.attrs, x.size() - 2);
  Dims y = {x[0], x[1]};
  for (size_t d = 0; d < pool.window.size(); ++d)
    y.push_back(pool.windows.places(x[d + 2], pool.window[d], d));
  return bound(pool.slide_over(x, y), site.symbols);
}

Dispatch pool_dispatch(const LowerSite& site, std::string_view name, const Slide<Dim>& slide,
                       const Dim& elements) {
  Dispatch dispatch;
  dispatch.kernel = kernel(name, {"numbers", "windows"});
  dispatch.kernel.name = site.node.op->name;
  dispatch.params = slide_params(slide);
  dispatch.params.emplace_back("count", elements);
  dispatch.workgroups = ceil_div(elements, 64);
  return dispatch;
}

namespace {

Value ones(Value like, const Dims& shape) { return expand(scalar(like, 1), shape); }

Dims plane_dims(const Dims& first, const Dims& spatial) {
  Dims dims = first;
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return dims;
}

}  // namespace

Value spread_over_windows(Value dy, const Pool& pool, Value x) {
  const Dims in = spatial_dims(x.shape()), out = spatial_dims(dy.shape());
  const Dim planes = x.shape()[0] * x.shape()[1];
  const Value places = reshape(dy, plane_dims({planes, 1}, out));
  const Value weights = ones(dy, plane_dims({1, 1}, pool.window));
  const Value dx = dy.apply(conv_transpose_op(), {places, weights},
                            {{"strides", pool.windows.strides},
                             {"dilations", pool.windows.dilations},
                             {"pads", pool.pads(x.shape())},
                             {"extents", in}});
  return reshape(dx, x.shape());
}

Value window_counts(const Pool& pool, Value x, Value y, bool with_pads) {
  const size_t axes = pool.window.size();
  Dims pads = pool.pads(x.shape()), extents = spatial_dims(x.shape());
  for (size_t d = 0; d < axes; ++d) {
    if (with_pads) {
      extents[d] = extents[d] + pads[d] + pads[axes + d];
      pads[d] = 0;
    }
    // A last window over the edge counts what it meets.
    const Dim reach = (y.shape()[d + 2] - 1) * Dim(pool.windows.strides[d]) +
                      pool.windows.reach(pool.window[d], d);
    pads[axes + d] = larger(reach - extents[d] - pads[d], 0);
  }
  Value counts = x.apply(
      conv_op(), {ones(x, plane_dims({1, 1}, extents)), ones(x, plane_dims({1, 1}, pool.window))},
      {{"strides", pool.windows.strides}, {"dilations", pool.windows.dilations}, {"pads", pads}});
  for (size_t d = 2; d < axes + 2; ++d)
    if (!(counts.shape()[d] == y.shape()[d])) counts = slice_axis(counts, d, 0, y.shape()[d]);
  return maximum(counts, scalar(x, 1));
}

namespace {

Ints spatial_numbers(std::string_view op, Value x) {
  Ints axes;
  spatial_axes(op, x.type());
  for (int64_t d = 2; d < rank(x.type()); ++d) axes.push_back(d);
  return axes;
}

}  // namespace

Value global_max_pool(Value x) {
  return reduce_max(x, spatial_numbers("global_max_pool", x), true);
}

Value global_average_pool(Value x) {
  return mean(x, spatial_numbers("global_average_pool", x), true);
}

Value global_lp_pool(Value x, double p) {
  const Ints axes = spatial_numbers("global_lp_pool", x);
  require(p > 0, "global_lp_pool: p ", p, " is not positive");
  if (p == 1) return sum(abs(x), axes, true);
  if (p == 2) return sqrt(sum(x * x, axes, true));
  return pow(sum(pow(abs(x), scalar(x, p)), axes, true), scalar(x, 1 / p));
}

Value max_unpool(Value x, Value indices, const Dims& shape) {
  require(is_integer(indices.dtype()) && indices.shape() == x.shape(), "max_unpool: indices ",
          indices.type(), " do not fit ", x.type());
  const Dim elements = count(x.shape());
  const Value y =
      scatter(zeros(x, {count(shape)}), reshape(indices, {elements}), reshape(x, {elements}));
  return reshape(y, shape);
}

}  // namespace rlx
