// im2col(x): the elements under each window as columns, [B, C * taps, places]; zeros in the
// padding.

#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_pool.h"
#include "rlx/ops/pooling.h"

namespace rlx {

const OpDef& conv_transpose_op();

namespace {

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  const size_t axes = spatial_axes("im2col", x);
  require(is_float(x.dtype) || is_integer(x.dtype), "im2col: needs numbers, got ", x);
  const Pool pool("im2col", site.attrs, axes);
  const Dims shape = pool.shape("im2col", x);
  return {{x.dtype, {x.shape[0], x.shape[1] * count(pool.window), count(spatial_dims(shape))}}};
}

Slide<Dim> slide_of(const Attrs& attrs, const TensorType& x) {
  const Pool pool("im2col", attrs, x.shape.size() - 2);
  return pool.slide_over(x.shape, pool.shape("im2col", x));
}

void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const Slide<int64_t> slide = bound(slide_of(site.attrs, x.type()), site.symbols);
  const int64_t places = slide.places(), taps = slide.taps(),
                plane = slide.in[0] * slide.in[1] * slide.in[2];
  const int64_t planes = x.shape()[0] * x.shape()[1];
  site.out() = Tensor(x.dtype(), site.out().shape());  // padding is zeros
  for (int64_t p = 0; p < planes; ++p)
    for (int64_t place = 0; place < places; ++place)
      for_each_tap(slide, place, [&](int64_t tap, int64_t at) {
        const int64_t to = (p * taps + tap) * places + place;
        if (is_float(x.dtype()))
          site.out().set(to, x.at(p * plane + at));
        else
          site.out().set_integer(to, x.integer_at(p * plane + at));
      });
}

Steps lower(const LowerSite& site) {
  Dispatch dispatch =
      pool_dispatch(site, "im2col", slide_of(site.attrs(), site.in(0)), count(site.out().shape));
  dispatch.operands = {site.read("x", 0), site.write("y")};
  dispatch.prelude = {text("alias T = ", site.compute_type(site.out().dtype), ";")};
  return dispatch;
}

// Each tap is a channel whose window has a one in its own place.
Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), dy = site.dy();
  const size_t axes = x.shape().size() - 2;
  const Pool pool("im2col", site.attrs(), axes);
  const int64_t taps = count(pool.window).number();
  Dims columns = {x.shape()[0] * x.shape()[1], taps};
  Dims shape = {taps, 1};
  for (const Dim& places : spatial_dims(pool.shape("im2col", x.type()))) columns.push_back(places);
  for (const Dim& extent : pool.window) shape.push_back(extent);
  const Value numbers = counting(dy, taps);
  const Value own = equal(unsqueeze(numbers, {0}), unsqueeze(numbers, {1}));
  const Value weights = reshape(cast(own, dy.dtype()), shape);
  const Value dx = dy.apply(conv_transpose_op(), {reshape(dy, columns), weights},
                            {{"strides", pool.windows.strides},
                             {"dilations", pool.windows.dilations},
                             {"pads", pool.pads(x.shape())},
                             {"extents", spatial_dims(x.shape())}});
  return {reshape(dx, x.shape())};
}

}  // namespace

const OpDef& im2col_op() {
  static const OpDef op{
      .name = "im2col",
      .family = "convolution",
      .inputs = {1, 1, {"x"}},
      .attrs = pool_attrs(),
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
  };
  return op;
}

Value im2col(Value x, const Ints& window, const PoolOptions& options) {
  return x.apply(im2col_op(), {x},
                 {{"window", window},
                  {"strides", options.strides},
                  {"dilations", options.dilations},
                  {"pads", options.pads},
                  {"auto_pad", options.auto_pad},
                  {"ceil_mode", options.ceil_mode}});
}

}  // namespace rlx
