// ONNX operators on single elements, and products of matrices.

#include "rlx/ops/ops_math.h"

#include <cmath>

#include "rlx/import/onnx/site.h"
#include "rlx/ops/ops_activation.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_einsum.h"
#include "rlx/ops/ops_logic.h"
#include "rlx/ops/ops_text.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

template <Value (*kFunction)(Value)>
Items unary(Site site) {
  return {kFunction(site.in(0))};
}
template <Value (*kFunction)(Value, Value)>
Items binary(Site site) {
  return {kFunction(site.in(0), site.in(1))};
}

Value add(Value x, Value y) { return x + y; }
Value subtract(Value x, Value y) { return x - y; }
Value multiply(Value x, Value y) { return x * y; }
Value divide(Value x, Value y) { return x / y; }

// Before opset 7 the second operand was fitted to the first by attributes.
Value fitted(Site site) {
  const Value x = site.in(0), y = site.in(1);
  if (site.opset >= 7 || !site.flag("broadcast")) return y;
  const int64_t rank_x = rank(x.type()), rank_y = rank(y.type());
  const int64_t given = site.integer("axis", rank_x - rank_y);
  const int64_t axis = given < 0 ? given + rank_x : given;
  if (axis < 0 || axis > rank_x - rank_y)
    site.fail_node("axis ", given, " does not fit ", y.type(), " to ", x.type());
  Ints trailing;
  for (int64_t d = axis + rank_y; d < rank_x; ++d) trailing.push_back(d - axis);
  return trailing.empty() ? y : unsqueeze(y, trailing);
}
template <Value (*kFunction)(Value, Value)>
Items arithmetic(Site site) {
  return {kFunction(site.in(0), fitted(site))};
}

template <Value (*kFunction)(Value, Value)>
Items variadic(Site site) {
  Value result = site.in(0);
  for (const Value next : site.all_inputs(1)) result = kFunction(result, next);
  return {result};
}
Items mean_of(Site site) {
  const Value total = variadic<add>(site)[0].value;
  return {total / site.scalar(total.dtype(), static_cast<double>(site.inputs.size()))};
}

Items clip_operator(Site site) {
  Value x = site.in(0);
  if (site.opset < 11) return {clip(x, site.real("min", -INFINITY), site.real("max", INFINITY))};
  if (site.has(1)) x = maximum(x, site.in(1));
  if (site.has(2)) x = minimum(x, site.in(2));
  return {x};
}

// The base decides the dtype.
Items power(Site site) {
  const Value x = site.in(0), y = fitted(site);
  if (x.dtype() == y.dtype()) return {pow(x, y)};
  if (is_float(x.dtype())) return {pow(x, cast(y, x.dtype()))};
  if (is_integer(y.dtype())) return {pow(x, cast(y, x.dtype()))};
  return {cast(pow(cast(x, y.dtype()), y), x.dtype())};
}

Items modulus(Site site) {
  const bool truncated = site.flag("fmod") || is_float(site.in(0).dtype());
  return {truncated ? fmod(site.in(0), site.in(1)) : mod(site.in(0), site.in(1))};
}

Items shift(Site site) {
  const std::string direction = site.string("direction");
  if (direction != "LEFT" && direction != "RIGHT") site.fail_node("direction is '", direction, "'");
  return {direction == "LEFT" ? shift_left(site.in(0), site.in(1))
                              : shift_right(site.in(0), site.in(1))};
}

// torch.isinf widens to doubles first, which no device has: what is infinite or no number stays so.
Value before_widening(Value x) {
  const rlx::Node& producer = x.producer();
  const bool widened = x.dtype() == DType::f64 && producer.op->conversion;
  return widened && is_float(producer.inputs[0].dtype()) ? producer.inputs[0] : x;
}
Items not_a_number(Site site) { return {is_nan(before_widening(site.in(0)))}; }
Items infinite(Site site) {
  return {is_inf(before_widening(site.in(0)), site.flag("detect_positive", true),
                 site.flag("detect_negative", true))};
}

Items to_text(Site site) {
  return {tensor_item(site.is_text(0) ? site.text_in(0) : numbers_to_text(site.in(0)), true)};
}
Items cast_operator(Site site) {
  int64_t to = 0;
  if (site.opset < 6) {
    const std::string name = site.string("to");
    for (int type = 1; type <= 16; ++type) {
      std::string upper = elem_type_name(type);
      for (char& c : upper) c = static_cast<char>(std::toupper(c));
      if (upper == name) to = type;
    }
  } else {
    to = site.integer("to");
  }
  if (to == kStringType) return to_text(site);
  const std::optional<DType> dtype = dtype_of(static_cast<int>(to));
  if (!dtype) site.fail_node("does not cast to ", elem_type_name(static_cast<int>(to)));
  if (site.is_text(0)) return {text_to_numbers(site.text_in(0), *dtype)};
  Item result = cast(site.in(0), *dtype);
  if (is_float(*dtype) && is_integer(site.in(0).dtype())) result.integers = site.in(0);
  return {result};
}
Items cast_like(Site site) {
  if (site.is_text(1)) return to_text(site);
  if (site.is_text(0)) return {text_to_numbers(site.text_in(0), site.in(1).dtype())};
  return {cast(site.in(0), site.in(1).dtype())};
}

Items gelu_operator(Site site) {
  return {site.string("approximate", "none") == "tanh" ? gelu_tanh(site.in(0)) : gelu(site.in(0))};
}

Items prelu_operator(Site site) {
  const Value x = site.in(0);
  Value slope = site.in(1);
  // Before opset 7 the slope had one element per channel.
  if (site.opset < 7 && rank(slope.type()) == 1 && rank(x.type()) > 2) {
    Ints trailing;
    for (int64_t d = 1; d < rank(x.type()) - 1; ++d) trailing.push_back(d);
    slope = unsqueeze(slope, trailing);
  }
  return {prelu(x, slope)};
}

Items shrink(Site site) {
  const Value x = site.in(0);
  const auto number = [&](double v) { return site.scalar(x.dtype(), v); };
  const double lambda = site.real("lambd", 0.5), bias = site.real("bias", 0);
  const Value above = greater(x, number(lambda)), below = less(x, number(-lambda));
  return {where(above, x - number(bias), where(below, x + number(bias), number(0)))};
}

Items identity(Site site) { return {site.inputs.at(0)}; }

// Two-dim products with everything an old framework wanted of them.
Items gemm(Site site) {
  Value a = site.in(0);
  const Value b = site.in(1);
  Value y = matmul(a, b, site.flag("transA"), site.flag("transB"));
  const double alpha = site.real("alpha", 1), beta = site.real("beta", 1);
  const auto scaled = [&](Value v, double factor) {
    return factor == 1 ? v : v * site.scalar(v.dtype(), factor);
  };
  y = scaled(y, alpha);
  return {site.has(2) ? y + scaled(site.in(2), beta) : y};
}

Items matmul_operator(Site site) { return {matmul(site.in(0), site.in(1))}; }
Items einsum_operator(Site site) { return {einsum(site.string("equation"), site.all_inputs())}; }

Items leaky(Site site) { return {leaky_relu(site.in(0), site.real("alpha", 0.01))}; }
Items elu_operator(Site site) { return {elu(site.in(0), site.real("alpha", 1))}; }
Items celu_operator(Site site) { return {celu(site.in(0), site.real("alpha", 1))}; }
Items selu_operator(Site site) {
  return {selu(site.in(0), site.real("alpha", 1.67326319217681884765625),
               site.real("gamma", 1.05070102214813232421875))};
}
Items hard_sigmoid_operator(Site site) {
  return {hard_sigmoid(site.in(0), site.real("alpha", 0.2), site.real("beta", 0.5))};
}
Items thresholded(Site site) { return {thresholded_relu(site.in(0), site.real("alpha", 1))}; }
Items where_operator(Site site) { return {where(site.in(0), site.in(1), site.in(2))}; }

}  // namespace

std::span<const Operator> math_operators() {
  static constexpr Operator kOperators[] = {
      {"Abs", unary<abs>},
      {"Acos", unary<acos>},
      {"Acosh", unary<acosh>},
      {"Add", arithmetic<add>},
      {"And", arithmetic<logical_and>},
      {"Asin", unary<asin>},
      {"Asinh", unary<asinh>},
      {"Atan", unary<atan>},
      {"Atanh", unary<atanh>},
      {"BitShift", shift},
      {"BitwiseAnd", binary<bitwise_and>},
      {"BitwiseNot", unary<bitwise_not>},
      {"BitwiseOr", binary<bitwise_or>},
      {"BitwiseXor", binary<bitwise_xor>},
      {"Cast", cast_operator},
      {"CastLike", cast_like},
      {"Ceil", unary<ceil>},
      {"Celu", celu_operator},
      {"Clip", clip_operator},
      {"Cos", unary<cos>},
      {"Cosh", unary<cosh>},
      {"Div", arithmetic<divide>},
      {"Einsum", einsum_operator},
      {"Elu", elu_operator},
      {"Equal", arithmetic<equal>},
      {"Erf", unary<erf>},
      {"Exp", unary<exp>},
      {"Floor", unary<floor>},
      {"Gelu", gelu_operator},
      {"Gemm", gemm},
      {"Greater", arithmetic<greater>},
      {"GreaterOrEqual", arithmetic<greater_equal>},
      {"HardSigmoid", hard_sigmoid_operator},
      {"HardSwish", unary<hard_swish>},
      {"Identity", identity},
      {"IsInf", infinite},
      {"IsNaN", not_a_number},
      {"LeakyRelu", leaky},
      {"Less", arithmetic<less>},
      {"LessOrEqual", arithmetic<less_equal>},
      {"Log", unary<log>},
      {"MatMul", matmul_operator},
      {"Max", variadic<maximum>},
      {"Mean", mean_of},
      {"Min", variadic<minimum>},
      {"Mish", unary<mish>},
      {"Mod", modulus},
      {"Mul", arithmetic<multiply>},
      {"Neg", unary<neg>},
      {"Not", unary<logical_not>},
      {"Or", arithmetic<logical_or>},
      {"PRelu", prelu_operator},
      {"Pow", power},
      {"Reciprocal", unary<reciprocal>},
      {"Relu", unary<relu>},
      {"Round", unary<round>},
      {"Selu", selu_operator},
      {"Shrink", shrink},
      {"Sigmoid", unary<sigmoid>},
      {"Sign", unary<sign>},
      {"Sin", unary<sin>},
      {"Sinh", unary<sinh>},
      {"Softplus", unary<softplus>},
      {"Softsign", unary<softsign>},
      {"Sqrt", unary<sqrt>},
      {"Sub", arithmetic<subtract>},
      {"Sum", variadic<add>},
      {"Tan", unary<tan>},
      {"Tanh", unary<tanh>},
      {"ThresholdedRelu", thresholded},
      {"Where", where_operator},
      {"Xor", arithmetic<logical_xor>},
  };
  return kOperators;
}

}  // namespace rlx::onnx
