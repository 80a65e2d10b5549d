// max_pool(x): the largest element of each window and where it is in x, counted through the whole
// of it. A NaN is larger than any number; padding is never chosen.

#include "rlx/ops/max_pool.h"

#include <cmath>

#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_pool.h"
#include "rlx/ops/pooling.h"

namespace rlx {

Dims max_pool_index_strides(const Attrs& attrs, const Slide<Dim>& slide) {
  if (attrs.get<int64_t>("storage_order") == 0) return {slide.in[1] * slide.in[2], slide.in[2], 1};
  return {1, slide.in[0], slide.in[0] * slide.in[1]};
}

int64_t max_pool_index(bool by_columns, const Slide<int64_t>& slide, int64_t element) {
  if (!by_columns) return element;
  const int64_t x = element % slide.in[2], y = element / slide.in[2] % slide.in[1],
                z = element / slide.in[2] / slide.in[1];
  return z + slide.in[0] * (y + slide.in[1] * x);
}

namespace {

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  const size_t axes = spatial_axes("max_pool", x);
  require(is_float(x.dtype) || is_integer(x.dtype), "max_pool: needs numbers, got ", x);
  const int64_t order = site.attrs.get<int64_t>("storage_order");
  require(order == 0 || order == 1, "max_pool: storage_order ", order, " is neither 0 nor 1");
  const Dims shape = Pool("max_pool", site.attrs, axes).shape("max_pool", x);
  return {{x.dtype, shape}, {DType::i64, shape}};
}

template <class Number, class Get>
std::optional<int64_t> largest(const Slide<int64_t>& slide, int64_t place, int64_t first, Get get) {
  std::optional<int64_t> best;
  Number most = 0;
  for_each_tap(slide, place, [&](int64_t, int64_t at) {
    const Number value = get(first + at);
    if (best && !(value > most) && !(value != value && most == most)) return;
    best = at;
    most = value;
  });
  return best;
}

void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const Slide<int64_t> slide = pool_slide(site);
  const int64_t places = slide.places(), plane = slide.in[0] * slide.in[1] * slide.in[2];
  const bool by_columns = site.attrs.get<int64_t>("storage_order") == 1;
  for (int64_t i = 0; i < site.out().count(); ++i) {
    const int64_t first = i / places * plane;
    std::optional<int64_t> best;
    if (is_float(x.dtype()))
      best = largest<double>(slide, i % places, first, [&](int64_t at) { return x.at(at); });
    else if (x.dtype() == DType::u64)
      best = largest<uint64_t>(slide, i % places, first,
                               [&](int64_t at) { return static_cast<uint64_t>(x.integer_at(at)); });
    else
      best =
          largest<int64_t>(slide, i % places, first, [&](int64_t at) { return x.integer_at(at); });
    if (!best)
      site.out().set(i, -INFINITY);  // the lowest, for integers
    else if (is_float(x.dtype()))
      site.out().set(i, x.at(first + *best));
    else
      site.out().set_integer(i, x.integer_at(first + *best));
    site.out(1).set_integer(i, first + (best ? max_pool_index(by_columns, slide, *best) : 0));
  }
}

std::string lowest(DType dtype) {
  if (is_float(dtype)) return "-infinity()";
  if (!is_signed_integer(dtype)) return "0u";
  if (dtype == DType::i8) return "-128";
  return dtype == DType::i16 ? "-32768" : "bitcast<i32>(0x80000000u)";
}

Steps lower(const LowerSite& site) {
  const Dims &x = site.in(0).shape, &y = site.out().shape;
  const Slide<Dim> slide = Pool("max_pool", site.attrs(), x.size() - 2).slide_over(x, y);
  Dispatch dispatch = pool_dispatch(site, "max_pool", slide, count(y));
  dispatch.operands = {site.read("x", 0), site.write("y", 0), site.write("indices", 1)};
  dispatch.params.emplace_back("index_strides", max_pool_index_strides(site.attrs(), slide));
  const DType dtype = site.in(0).dtype;
  const std::string type = site.compute_type(dtype);
  dispatch.prelude = {
      text("alias T = ", type, ";"), text("fn lowest() -> T { return ", lowest(dtype), "; }"),
      text("fn is_larger(v: T, than: T) -> bool { return ",
           is_float(dtype) ? "!is_nan(than) && (is_nan(v) || order(v) > order(than))" : "v > than",
           "; }")};
  return dispatch;
}

// Each dy goes to the element that was chosen; the indices know.
Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), dy = site.dy();
  const Pool pool("max_pool", site.attrs(), x.shape().size() - 2);
  return {dy.apply(max_pool_gradient_op(), {dy, site.y(1)},
                   {{"window", site.attrs().get<Ints>("window")},
                    {"strides", pool.windows.strides},
                    {"dilations", pool.windows.dilations},
                    {"pads", pool.pads(x.shape())},
                    {"storage_order", site.attrs().get<int64_t>("storage_order")},
                    {"shape", x.shape()}})};
}

}  // namespace

const OpDef& max_pool_op() {
  static const OpDef op{
      .name = "max_pool",
      .family = "pooling",
      .inputs = {1, 1, {"x"}},
      .results = {2, 2, {"values", "indices"}},
      .attrs = pool_attrs({{"storage_order", 0}}),
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .onnx = "MaxPool",
  };
  return op;
}

TopK max_pool(Value x, const Ints& window, const PoolOptions& options) {
  const Value values = x.apply(max_pool_op(), {x},
                               {{"window", window},
                                {"strides", options.strides},
                                {"dilations", options.dilations},
                                {"pads", options.pads},
                                {"auto_pad", options.auto_pad},
                                {"ceil_mode", options.ceil_mode},
                                {"storage_order", options.storage_order}});
  return {values, values.of(1)};
}

}  // namespace rlx
