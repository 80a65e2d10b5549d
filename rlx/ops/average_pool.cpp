// average_pool(x): the mean of each window, of what lies in x or in x and its pads.
// lp_pool(x): the p-norm of each window.

#include <cmath>

#include "rlx/ops/lib/library.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_pool.h"
#include "rlx/ops/pooling.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  const size_t axes = spatial_axes(site.op.name, x);
  require(is_float(x.dtype), site.op.name, ": needs floats, got ", x);
  if (site.attrs.has("p"))
    require(site.attrs.get<double>("p") > 0, "lp_pool: p ", site.attrs.get<double>("p"),
            " is not positive");
  return {{x.dtype, Pool(site.op.name, site.attrs, axes).shape(site.op.name, x)}};
}

// How many taps of a window lie before the end of x's padding.
int64_t padded_taps(const Slide<int64_t>& slide, const std::array<int64_t, 3>& ends,
                    int64_t place) {
  const int64_t at[] = {place / slide.out[2] / slide.out[1], place / slide.out[2] % slide.out[1],
                        place % slide.out[2]};
  int64_t taps = 1;
  for (size_t d = 0; d < 3; ++d) {
    const int64_t room = ends[d] - (at[d] * slide.strides[d] - slide.before[d]);
    taps *= std::min(slide.window[d], (room + slide.dilations[d] - 1) / slide.dilations[d]);
  }
  return taps;
}

// Where the padding after x ends, by axis.
std::array<Dim, 3> padded_ends(const Pool& pool, const Dims& x) {
  const Dims pads = pool.pads(x);
  Dims ends;
  for (size_t d = 0; d < pool.window.size(); ++d)
    ends.push_back(x[d + 2] + pads[pool.window.size() + d]);
  return three(ends);
}

void average_reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const Slide<int64_t> slide = pool_slide(site);
  const int64_t places = slide.places(), plane = slide.in[0] * slide.in[1] * slide.in[2];
  const Pool pool("average_pool", site.attrs, x.shape().size() - 2);
  const std::array<Dim, 3> ends = padded_ends(pool, x.type().shape);
  const std::array<int64_t, 3> bound_ends = {
      ends[0].value(site.symbols), ends[1].value(site.symbols), ends[2].value(site.symbols)};
  const bool with_pads = site.attrs.get<bool>("count_include_pad");
  for (int64_t i = 0; i < site.out().count(); ++i) {
    double total = 0;
    int64_t taps = 0;
    for_each_tap(slide, i % places, [&](int64_t, int64_t at) {
      total += x.at(i / places * plane + at);
      ++taps;
    });
    if (with_pads) taps = padded_taps(slide, bound_ends, i % places);
    site.out().set(i, total / static_cast<double>(std::max<int64_t>(taps, 1)));
  }
}

void lp_reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const Slide<int64_t> slide = pool_slide(site);
  const int64_t places = slide.places(), plane = slide.in[0] * slide.in[1] * slide.in[2];
  const double p = site.attrs.get<double>("p");
  for (int64_t i = 0; i < site.out().count(); ++i) {
    double total = 0;
    for_each_tap(slide, i % places, [&](int64_t, int64_t at) {
      total += std::pow(std::abs(x.at(i / places * plane + at)), p);
    });
    site.out().set(i, std::pow(total, 1 / p));
  }
}

Steps lower_sum(const LowerSite& site, const std::string& term, const std::string& finish,
                std::vector<Param> params) {
  const Dims &x = site.in(0).shape, &y = site.out().shape;
  const Pool pool(site.node.op->name, site.attrs(), x.size() - 2);
  Dispatch dispatch = pool_dispatch(site, "sum_pool", pool.slide_over(x, y), count(y));
  for (const char* name : {"functions", "power"}) dispatch.kernel.includes.push_back(library(name));
  dispatch.operands = {site.read("x", 0), site.write("y")};
  const std::array<Dim, 3> ends = padded_ends(pool, x);
  dispatch.params.emplace_back("padded_end", Dims(ends.begin(), ends.end()));
  for (Param& param : params) dispatch.params.push_back(std::move(param));
  dispatch.prelude = {
      text("fn term(v: f32) -> f32 { return ", term, "; }"),
      text("fn finish(v: f32, taps: u32, padded: u32) -> f32 { return ", finish, "; }")};
  return dispatch;
}

Steps lower_average(const LowerSite& site) {
  const bool with_pads = site.attrs().get<bool>("count_include_pad");
  return lower_sum(site, "v", with_pads ? "v / f32(max(padded, 1u))" : "v / f32(max(taps, 1u))",
                   {});
}

Steps lower_lp(const LowerSite& site) {
  const double p = site.attrs().get<double>("p");
  if (p == 1) return lower_sum(site, "abs(v)", "v", {});
  if (p == 2) return lower_sum(site, "v * v", "sqrt(v)", {});
  return lower_sum(site, "pow_f32(abs(v), params.p)", "pow_f32(v, params.one_over_p)",
                   {{"p", p}, {"one_over_p", 1 / p}});
}

Gradients average_gradient(const GradientSite& site) {
  const Value x = site.in(0);
  const Pool pool("average_pool", site.attrs(), x.shape().size() - 2);
  const Value counts =
      window_counts(pool, x, site.y(), site.attrs().get<bool>("count_include_pad"));
  return {spread_over_windows(site.dy() / counts, pool, x)};
}

// dy * y^(1 - p) from each place, times sign(x) |x|^(p - 1) at each element.
Gradients lp_gradient(const GradientSite& site) {
  const Value x = site.in(0), y = site.y();
  const double p = site.attrs().get<double>("p");
  const Pool pool("lp_pool", site.attrs(), x.shape().size() - 2);
  if (p == 1) return {spread_over_windows(site.dy(), pool, x) * sign(x)};
  const Value none = equal(y, scalar(y, 0)), safe = where(none, scalar(y, 1), y);
  const Value scaled = where(none, scalar(y, 0), site.dy() * pow(safe, scalar(y, 1 - p)));
  const Value spread = spread_over_windows(scaled, pool, x);
  if (p == 2) return {spread * x};
  return {spread * sign(x) * pow(abs(x), scalar(x, p - 1))};
}

}  // namespace

const OpDef& average_pool_op() {
  static const OpDef op{
      .name = "average_pool",
      .family = "pooling",
      .inputs = {1, 1, {"x"}},
      .attrs = pool_attrs({{"count_include_pad", false}}),
      .infer = infer,
      .reference = average_reference,
      .lower = lower_average,
      .gradient = average_gradient,
      .never_fails = true,
      .accuracy = {8},
      .onnx = "AveragePool",
  };
  return op;
}

const OpDef& lp_pool_op() {
  static const OpDef op{
      .name = "lp_pool",
      .family = "pooling",
      .inputs = {1, 1, {"x"}},
      .attrs = pool_attrs({{"p", 2.0}}),
      .infer = infer,
      .reference = lp_reference,
      .lower = lower_lp,
      .gradient = lp_gradient,
      .never_fails = true,
      .accuracy = {16},
      .onnx = "LpPool",
  };
  return op;
}

namespace {

Attrs attrs_of(const Ints& window, const PoolOptions& options) {
  return {{"window", window},     {"strides", options.strides},   {"dilations", options.dilations},
          {"pads", options.pads}, {"auto_pad", options.auto_pad}, {"ceil_mode", options.ceil_mode}};
}

}  // namespace

Value average_pool(Value x, const Ints& window, const PoolOptions& options) {
  Attrs attrs = attrs_of(window, options);
  attrs.set("count_include_pad", options.count_include_pad);
  return x.apply(average_pool_op(), {x}, attrs);
}

Value lp_pool(Value x, const Ints& window, double p, const PoolOptions& options) {
  Attrs attrs = attrs_of(window, options);
  attrs.set("p", p);
  return x.apply(lp_pool_op(), {x}, attrs);
}

}  // namespace rlx
