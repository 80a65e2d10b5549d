// ONNX operators on quantised numbers.

#include "rlx/import/onnx/site.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_integer.h"
#include "rlx/ops/ops_quantise.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

std::optional<DType> output_dtype(Site site) {
  const int64_t given = site.integer("output_dtype", 0);
  if (given == 0) return std::nullopt;
  const std::optional<DType> dtype = dtype_of(static_cast<int>(given));
  if (!dtype)
    site.fail_node("output_dtype is ", elem_type_name(static_cast<int>(given)),
                   ", which rlx has no tensors of");
  return dtype;
}

QuantiseOptions options_of(Site site) {
  QuantiseOptions options;
  options.axis = site.integer("axis", 1);
  options.block = site.integer("block_size", 0);
  if (const auto dtype = output_dtype(site)) options.to = *dtype;
  return options;
}

Items quantise_operator(Site site) {
  return {quantise(site.in(0), site.in(1), site.maybe(2), options_of(site))};
}
Items dequantise_operator(Site site) {
  Value scale = site.in(1);
  const DType to = output_dtype(site).value_or(scale.dtype());
  if (!is_float(to)) site.fail_node("output_dtype is ", to, ", it gives floats");
  if (bytes_of(to) > bytes_of(scale.dtype())) scale = cast(scale, to);  // not to round before
  const Value y = dequantise(site.in(0), scale, site.maybe(2), options_of(site));
  return {y.dtype() == to ? y : cast(y, to)};
}
Items dynamic(Site site) {
  const DynamicallyQuantised result = dynamic_quantise(site.in(0));
  return {result.y, result.scale, result.zero_point};
}
Items matmul_integer_operator(Site site) {
  return {matmul_integer(site.in(0), site.in(1), site.maybe(2), site.maybe(3))};
}
Items qlinear_matmul_operator(Site site) {
  return {qlinear_matmul({site.in(0), site.in(1), site.in(2)}, {site.in(3), site.in(4), site.in(5)},
                         site.in(6), site.in(7))};
}

}  // namespace

std::span<const Operator> quantised_operators() {
  static constexpr Operator kOperators[] = {
      {"DequantizeLinear", dequantise_operator},  {"DynamicQuantizeLinear", dynamic},
      {"MatMulInteger", matmul_integer_operator}, {"QLinearMatMul", qlinear_matmul_operator},
      {"QuantizeLinear", quantise_operator},
  };
  return kOperators;
}

}  // namespace rlx::onnx
