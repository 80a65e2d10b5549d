#include "rlx/ops/norm.h"

#include <cmath>

#include "rlx/ops/ops_core.h"

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
      if (!(x.shape[d] == operand.shape[d - axis]))
        site.equal(x.shape[d], operand.shape[d - axis],
                   text(kNames[i], " differs from x in axis ", d));
  }
  return {x};
}

NormRows::NormRows(const Dims& shape, size_t axis) {
  for (size_t d = 0; d < shape.size(); ++d)
    (d < axis ? count : length) = (d < axis ? count : length) * shape[d];
}

Dispatch norm_dispatch(const LowerSite& site, std::string_view file, const NormRows& rows,
                       const std::string& place) {
  std::vector<Operand> operands = {site.read("x", 0), site.write("y")};
  for (size_t i = 1; i < site.inputs.size(); ++i)
    if (site.has(i)) operands.push_back(site.read(kNames[i], i));
  Dispatch dispatch =
      row_dispatch(site, file, {"numbers"}, Rows({rows.count, rows.length}, 1), operands);
  dispatch.params.emplace_back("epsilon", site.attrs().get<double>("epsilon"));
  const auto function = [&](const char* name, size_t operand, const char* otherwise) {
    const std::string value =
        site.has(operand) ? text("load_", kNames[operand], '(', place, ')') : otherwise;
    return text("fn ", name, "(row: u32, i: u32) -> f32 { return ", value, "; }");
  };
  dispatch.prelude = {function("scale", 1, "1.0"), function("shift", 2, "0.0")};
  return dispatch;
}

Dispatch norm_dispatch(const LowerSite& site, std::string_view file) {
  const size_t axis = axis_of(file, site.attrs().get<int64_t>("axis"), site.in(0));
  return norm_dispatch(site, file, NormRows(site.in(0).shape, axis), "i");
}

void norm_reference(const ReferenceSite& site, int64_t rows, int64_t length,
                    const std::function<int64_t(int64_t row, int64_t i)>& place) {
  const Tensor& x = site.in(0);
  for (int64_t row = 0; row < rows; ++row) {
    double total = 0, squares = 0;
    for (int64_t i = 0; i < length; ++i) total += x.at(row * length + i);
    const double mean = total / static_cast<double>(length);
    for (int64_t i = 0; i < length; ++i) squares += std::pow(x.at(row * length + i) - mean, 2);
    const double variance = squares / static_cast<double>(length);
    const double inverse = 1 / std::sqrt(variance + site.attrs.get<double>("epsilon"));
    for (int64_t i = 0; i < length; ++i) {
      const int64_t at = place(row, i);
      const double scale = site.has(1) ? site.in(1).at(at) : 1,
                   shift = site.has(2) ? site.in(2).at(at) : 0;
      site.out().set(row * length + i, (x.at(row * length + i) - mean) * inverse * scale + shift);
    }
  }
}

NormGradient norm_gradient(Value x, Value g, const Ints& axes, double epsilon) {
  const Value centred = x - mean(x, axes, true);
  const Value variance = mean_square(centred, axes, true);
  const Value inverse = rsqrt(variance + scalar(x, epsilon));
  const Value normal = centred * inverse;
  return {inverse * (g - mean(g, axes, true) - normal * mean(g * normal, axes, true)), normal};
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
