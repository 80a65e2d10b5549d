#include "rlx/ops/norm.h"

namespace rlx {
namespace {

constexpr const char* kNames[] = {"x", "gamma", "beta"};

}  // namespace

Types infer_norm(const InferSite& site) {
  const TensorType& x = site.in(0);
  require(is_float(x.dtype), site.op.name, ": takes floats, got ", x);
  const size_t axis = axis_of(site.op.name, site.attrs.get<int64_t>("axis"), x);
  for (size_t i = 1; i < site.inputs.size(); ++i) {
    if (!site.has(i)) continue;
    const TensorType& operand = site.in(i);
    require(operand.dtype == x.dtype && operand.shape.size() == x.shape.size() - axis, site.op.name,
            ": ", kNames[i], " is ", operand, ", x is ", x, " normalised from axis ", axis, " on");
    for (size_t d = axis; d < x.shape.size(); ++d)
      site.equal(x.shape[d], operand.shape[d - axis],
                 text(kNames[i], " differs from x in axis ", d));
  }
  return {x};
}

NormRows::NormRows(const Dims& shape, size_t axis) {
  for (size_t d = 0; d < shape.size(); ++d)
    (d < axis ? count : length) = (d < axis ? count : length) * shape[d];
}

Dispatch norm_dispatch(const LowerSite& site, std::string_view file) {
  const NormRows rows(site.in(0).shape,
                      axis_of(file, site.attrs().get<int64_t>("axis"), site.in(0)));
  Dispatch dispatch{
      .kernel = kernel(file, {"numbers", "reduce"}),
      .operands = {site.read("x", 0)},
      .params = {{"row_count", rows.count},
                 {"row_length", rows.length},
                 {"epsilon", site.attrs().get<double>("epsilon")}},
      .prelude = {site.has(1) ? "fn scale(i: u32) -> f32 { return load_gamma(i); }"
                              : "fn scale(i: u32) -> f32 { return 1.0; }",
                  site.has(2) ? "fn shift(i: u32) -> f32 { return load_beta(i); }"
                              : "fn shift(i: u32) -> f32 { return 0.0; }"},
      .workgroups = rows.count,
  };
  for (size_t i = 1; i < site.inputs.size(); ++i)
    if (site.has(i)) dispatch.operands.push_back(site.read(kNames[i], i));
  dispatch.operands.push_back(site.write("y"));
  return dispatch;
}

Ints trailing_axes(const GradientSite& site) {
  const TensorType& x = site.in(0).type();
  Ints axes;
  for (size_t d = axis_of(site.node.op->name, site.attrs().get<int64_t>("axis"), x);
       d < x.shape.size(); ++d)
    axes.push_back(static_cast<int64_t>(d));
  return axes;
}

}  // namespace rlx
