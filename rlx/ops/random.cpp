// random_uniform(seed) and random_normal(seed): tensors of random numbers. Elements 4 n to 4 n + 3
// are made of the words of Philox at the counter (n, 0, 0, 0), normal ones two by two (Box and
// Muller).

#include <cmath>

#include "rlx/ops/elementwise_row.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_random.h"
#include "rlx/ops/philox.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& random_uniform_op();
const OpDef& random_normal_op();

namespace {

Types infer(const InferSite& site) {
  require_seed(site.op.name, site.in(0));
  const DType dtype = site.attrs.get<DType>("dtype");
  require(is_float(dtype), site.op.name, ": makes floats, not ", dtype);
  return {{dtype, dims_attr(site.attrs, "shape")}};
}

std::array<double, 4> uniform_of(const PhiloxCounter& words, double low, double high) {
  std::array<double, 4> values{};
  for (size_t k = 0; k < 4; ++k) values[k] = low + (high - low) * unit_uniform(words[k]);
  return values;
}

std::array<double, 4> normal_of(const PhiloxCounter& words, double mean, double deviation) {
  constexpr double kTurn = 6.283185307179586;
  std::array<double, 4> values{};
  for (size_t k = 0; k < 4; k += 2) {
    const double radius = std::sqrt(-2 * std::log(1 - unit_uniform(words[k])));
    const double angle = kTurn * unit_uniform(words[k + 1]);
    values[k] = mean + deviation * radius * std::cos(angle);
    values[k + 1] = mean + deviation * radius * std::sin(angle);
  }
  return values;
}

template <std::array<double, 4> (*kValues)(const PhiloxCounter&, double, double)>
void reference(const ReferenceSite& site) {
  const PhiloxKey key = key_of(site.in(0));
  const double a = site.attrs.get<double>(site.op.attrs[0].name),
               b = site.attrs.get<double>(site.op.attrs[1].name);
  for (int64_t i = 0; i < site.out().count(); ++i)
    site.out().set(i, kValues(philox({uint32_t(i / 4), 0, 0, 0}, key), a, b)[size_t(i % 4)]);
}

// `four` makes four elements of four words, with the op's two numbers in params.a and params.b.
Steps lower_four(const LowerSite& site, const char* four) {
  const Dim elements = count(site.out().shape);
  return Dispatch{
      .kernel = kernel("random", {"numbers", "functions", "trig", "philox"}),
      .operands = {site.read("seed", 0), site.write("y")},
      .params = {{"count", elements},
                 {"a", site.attrs().get<double>(site.node.op->attrs[0].name)},
                 {"b", site.attrs().get<double>(site.node.op->attrs[1].name)}},
      .prelude = {key_function(site.in(0)), four},
      .workgroups = ceil_div(elements, 4 * 64),
  };
}

Steps lower_uniform(const LowerSite& site) {
  return lower_four(
      site,
      "fn four(words: vec4<u32>) -> vec4<f32> {\n"
      "  return params.a + (params.b - params.a) * (vec4<f32>(words >> vec4<u32>(8u)) * 0x1p-24);\n}");
}

Steps lower_normal(const LowerSite& site) {
  return lower_four(
      site,
      "fn two(radius: u32, angle: u32) -> vec2<f32> {\n"
      "  let turned = 6.28318531 * unit_uniform(angle);\n"
      "  let away = params.b * sqrt_f32(-2.0 * log_f32(1.0 - unit_uniform(radius)));\n"
      "  return params.a + away * vec2<f32>(cos_f32(turned), sin_f32(turned));\n}\n"
      "fn four(words: vec4<u32>) -> vec4<f32> {\n"
      "  return vec4<f32>(two(words.x, words.y), two(words.z, words.w));\n}");
}

Value make(const OpDef& op, Value seed, const Dims& shape, double a, double b, DType dtype) {
  return seed.apply(
      op, {seed},
      {{op.attrs[0].name, a}, {op.attrs[1].name, b}, {"shape", shape}, {"dtype", dtype}});
}

}  // namespace

const OpDef& random_uniform_op() {
  static const OpDef op{
      .name = "random_uniform",
      .family = "random",
      .inputs = {1, 1, {"seed"}},
      .attrs = {{"low", 0.0}, {"high", 1.0}, {"shape"}, {"dtype", DType::f32}},
      .infer = infer,
      .reference = reference<uniform_of>,
      .lower = lower_uniform,
      .never_fails = true,
      .accuracy = {2},
      .gradient_reason = "its operand is an integer",
      .onnx = "RandomUniform",
  };
  return op;
}

const OpDef& random_normal_op() {
  static const OpDef op{
      .name = "random_normal",
      .family = "random",
      .inputs = {1, 1, {"seed"}},
      .attrs = {{"mean", 0.0}, {"deviation", 1.0}, {"shape"}, {"dtype", DType::f32}},
      .infer = infer,
      .reference = reference<normal_of>,
      .lower = lower_normal,
      .never_fails = true,
      .accuracy = {16, 0x1p-19},  // of the angle, times the radius
      .gradient_reason = "its operand is an integer",
      .onnx = "RandomNormal",
  };
  return op;
}

Value random_uniform(Value seed, const Dims& shape, double low, double high, DType dtype) {
  return make(random_uniform_op(), seed, shape, low, high, dtype);
}
Value random_normal(Value seed, const Dims& shape, double mean, double deviation, DType dtype) {
  return make(random_normal_op(), seed, shape, mean, deviation, dtype);
}

}  // namespace rlx
