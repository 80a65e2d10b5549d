// resize_gradient(dy, shape): what resize's x, of that shape, gets of dy: each element the sum of
// the places that it was seen from, by weight.

#include "rlx/ir/graph.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/resizing.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& resize_op();
const OpDef& resize_gradient_op();

namespace {

Types infer(const InferSite& site) {
  const TensorType& dy = site.in(0);
  const Dims shape = dims_attr(site.attrs, "shape");
  require(is_float(dy.dtype) && shape.size() == dy.shape.size(), "resize_gradient: ", dy,
          " is not made of ", shape);
  check_resize("resize_gradient", {dy.dtype, shape}, site.attrs);
  const Ints& given = site.attrs.get<Ints>("axes");
  std::vector<bool> resized(shape.size(), given.empty());
  for (const int64_t axis : given) resized[axis_of("resize_gradient", axis, dy)] = true;
  for (size_t d = 0; d < shape.size(); ++d)
    if (resized[d])
      site.at_most(
          smaller(dy.shape[d], 1), shape[d],
          text("dim ", d, " of ", shape, " is empty, it cannot have become ", dy.shape[d]));
    else
      site.equal(dy.shape[d], shape[d],
                 text("dim ", d, " of ", dy, ", which is not resized, is not that of ", shape));
  return {{dy.dtype, shape}};
}

void reference(const ReferenceSite& site) {
  const Tensor& dy = site.in(0);
  Tensor& dx = site.out();
  const ResizeTaps taps(dx.shape(), dy.shape(), site.attrs);
  std::vector<double> sums(static_cast<size_t>(dx.count()));
  for (int64_t i = 0; i < dy.count(); ++i)
    taps.for_each(i, [&](int64_t at, double weight) {
      if (weight != 0) sums[static_cast<size_t>(at)] += weight * dy.at(i);
    });
  for (int64_t i = 0; i < dx.count(); ++i) dx.set(i, sums[static_cast<size_t>(i)]);
}

Steps lower(const LowerSite& site) {
  return lower_resize_gradient(site,
                               resized_axes(site.out().shape, site.in(0).shape, site.attrs()));
}

// It is linear: what dx is asked for is what resize makes of it.
Gradients gradient(const GradientSite& site) {
  Attrs attrs = site.attrs();
  attrs.erase("shape");
  attrs.set("outside_value", 0.0);
  const Ints& axes = attrs.get<Ints>("axes");
  Dims sizes;
  if (axes.empty()) sizes = site.in(0).shape();
  for (const int64_t axis : axes) {
    const int64_t at = axis < 0 ? axis + rank(site.in(0).type()) : axis;
    sizes.push_back(site.in(0).shape()[static_cast<size_t>(at)]);
  }
  attrs.set("sizes", sizes);
  return {site.dy().apply(resize_op(), {site.dy()}, attrs)};
}

std::vector<AttrSpec> attrs() {
  std::vector<AttrSpec> list = resize_attrs();
  list.push_back({"shape"});
  return list;
}

}  // namespace

const OpDef& resize_gradient_op() {
  static const OpDef op{
      .name = "resize_gradient",
      .family = "shape",
      .inputs = {1, 1, {"dy"}},
      .attrs = attrs(),
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .accuracy = {8},
  };
  return op;
}

}  // namespace rlx
