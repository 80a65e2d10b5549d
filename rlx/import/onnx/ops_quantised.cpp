// ONNX operators on quantised numbers.

#include "rlx/import/onnx/site.h"
#include "rlx/ops/ops.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

QuantiseOptions options_of(Site site) {
  QuantiseOptions options;
  options.axis = site.integer("axis", 1);
  options.block = site.integer("block_size", 0);
  if (site.attribute("output_dtype") && site.integer("output_dtype") != 0)
    if (const auto dtype = dtype_of(static_cast<int>(site.integer("output_dtype"))))
      options.to = *dtype;
  return options;
}

Items quantise_operator(Site site) {
  return {quantise(site.in(0), site.in(1), site.maybe(2), options_of(site))};
}
Items dequantise_operator(Site site) {
  return {dequantise(site.in(0), site.in(1), site.maybe(2), options_of(site))};
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
