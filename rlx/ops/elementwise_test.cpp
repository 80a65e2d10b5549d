#include "rlx/ops/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_activation.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_logic.h"
#include "rlx/ops/ops_math.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class F>
Tensor of_one(const Tensor& x, F f) {
  Graph graph;
  graph.output("y", f(graph.input("x", x.type())));
  return evaluate(graph, {{"x", x}}).outputs.at("y");
}

template <class F>
Tensor of_two(const Tensor& x, const Tensor& y, F f) {
  Graph graph;
  const Value a = graph.input("x", x.type());
  graph.output("z", f(a, graph.input("y", y.type())));
  return evaluate(graph, {{"x", x}, {"y", y}}).outputs.at("z");
}

Tensor f32_of(std::initializer_list<double> values) {
  return Tensor::of(DType::f32, {static_cast<int64_t>(values.size())}, values);
}

void expect_values(const Tensor& got, std::initializer_list<double> wanted) {
  ASSERT_EQ(got.count(), static_cast<int64_t>(wanted.size()));
  int64_t i = 0;
  for (const double value : wanted) {
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(got.at(i))) << "element " << i << " is " << got.at(i);
    else if (std::isinf(value))
      EXPECT_EQ(got.at(i), value) << "element " << i;
    else
      EXPECT_NEAR(got.at(i), value, 1e-6 * std::fmax(1, std::fabs(value))) << "element " << i;
    ++i;
  }
}

TEST(Elementwise, FunctionsKeepIeeesEnds) {
  expect_values(of_one(f32_of({0, -1, INFINITY, 1}), [](Value x) { return log(x); }),
                {-INFINITY, kNaN, INFINITY, 0});
  expect_values(of_one(f32_of({-1, 0, 4, INFINITY}), [](Value x) { return sqrt(x); }),
                {kNaN, 0, 2, INFINITY});
  expect_values(of_one(f32_of({1000, -1000, kNaN}), [](Value x) { return exp(x); }),
                {INFINITY, 0, kNaN});
  expect_values(of_one(f32_of({INFINITY, -INFINITY, 0}), [](Value x) { return erf(x); }),
                {1, -1, 0});
  expect_values(of_one(f32_of({INFINITY, kNaN, 0}), [](Value x) { return sin(x); }),
                {kNaN, kNaN, 0});
  expect_values(of_one(f32_of({kNaN, -3, 0, 5}), [](Value x) { return sign(x); }),
                {kNaN, -1, 0, 1});
  expect_values(of_one(f32_of({kNaN, -3, INFINITY}), [](Value x) { return relu(x); }),
                {kNaN, 0, INFINITY});
  expect_values(of_two(f32_of({-2, -2, 0, kNaN, 1}), f32_of({3, 0.5, 0, 0, kNaN}),
                       [](Value x, Value y) { return pow(x, y); }),
                {-8, kNaN, 1, 1, 1});
}

TEST(Elementwise, NumbersStandOnEitherSideOfAnOperator) {
  const auto number = [](Value x) { return (2 * x - 1) / 4 + 0.5 / (1 - x) * (x + 3.0); };
  expect_values(of_one(f32_of({2, 3, -1}), number), {-1.75, -0.25, -0.25});
  const Tensor whole = Tensor::of(DType::i32, {2}, {5, -7});
  expect_values(of_one(whole, [](Value x) { return 3 * x - 1; }), {14, -22});
  EXPECT_EQ(error_of([&] { of_one(whole, [](Value x) { return x * 0.5; }); }),
            "scalar: 0.5 is no i32");
}

TEST(Elementwise, MaximumAndMinimumPropagateNaN) {
  const Tensor x = f32_of({kNaN, 1, 2}), y = f32_of({1, kNaN, 3});
  expect_values(of_two(x, y, [](Value a, Value b) { return maximum(a, b); }), {kNaN, kNaN, 3});
  expect_values(of_two(x, y, [](Value a, Value b) { return minimum(a, b); }), {kNaN, kNaN, 2});
}

TEST(Elementwise, NaNComparesFalseButForNotEqual) {
  const Tensor x = f32_of({kNaN, 1}), y = f32_of({kNaN, 1});
  expect_values(of_two(x, y, [](Value a, Value b) { return equal(a, b); }), {0, 1});
  expect_values(of_two(x, y, [](Value a, Value b) { return not_equal(a, b); }), {1, 0});
  expect_values(of_two(x, y, [](Value a, Value b) { return less_equal(a, b); }), {0, 1});
  EXPECT_EQ(of_two(x, y, [](Value a, Value b) { return less(a, b); }).dtype(), DType::boolean);
}

TEST(Elementwise, RoundTakesHalvesToEven) {
  expect_values(of_one(f32_of({0.5, 1.5, 2.5, -0.5, -2.5, 2.6}), [](Value x) { return round(x); }),
                {0, 2, 2, 0, -2, 3});
}

TEST(Elementwise, ActivationsAreTheirFormulas) {
  const Tensor x = f32_of({-2, 0, 3});
  expect_values(of_one(x, [](Value v) { return gelu(v); }), {-0.04550026, 0, 2.99595031});
  expect_values(of_one(x, [](Value v) { return gelu_tanh(v); }), {-0.04540231, 0, 2.99636261});
  expect_values(of_one(x, [](Value v) { return silu(v); }), {-0.23840584, 0, 2.85772238});
  expect_values(of_one(x, [](Value v) { return softplus(v); }),
                {0.12692801, 0.69314718, 3.04858735});
  expect_values(of_one(x, [](Value v) { return leaky_relu(v, 0.1); }), {-0.2, 0, 3});
  expect_values(of_one(x, [](Value v) { return elu(v, 2); }), {-1.72932943, 0, 3});
  expect_values(of_one(x, [](Value v) { return activate(v, "sigmoid"); }),
                {0.11920292, 0.5, 0.95257413});
  expect_values(of_one(x, [](Value v) { return activate(v, ""); }), {-2, 0, 3});
}

TEST(Elementwise, MoreActivationsAreTheirFormulas) {
  const Tensor x = f32_of({-2, 0, 0.5, 3});
  expect_values(of_one(x, [](Value v) { return selu(v); }),
                {-1.52016647, 0, 0.52535049, 3.15210296});
  expect_values(of_one(x, [](Value v) { return celu(v, 2); }), {-1.26424112, 0, 0.5, 3});
  expect_values(of_one(x, [](Value v) { return hard_sigmoid(v); }), {0.1, 0.5, 0.6, 1});
  expect_values(of_one(x, [](Value v) { return hard_swish(v); }), {-0.33333333, 0, 0.29166667, 3});
  expect_values(of_one(x, [](Value v) { return mish(v); }),
                {-0.25250148, 0, 0.37524502, 2.98653500});
  expect_values(of_one(x, [](Value v) { return softsign(v); }), {-0.66666667, 0, 0.33333333, 0.75});
  expect_values(of_one(x, [](Value v) { return thresholded_relu(v, 0.5); }), {0, 0, 0, 3});
  expect_values(
      of_two(x, f32_of({0.1, 0.1, 0.1, 0.1}), [](Value v, Value s) { return prelu(v, s); }),
      {-0.2, 0, 0.5, 3});
}

TEST(Elementwise, ArcsAreNaNOutOfTheirDomain) {
  const Tensor x = f32_of({-2, -1, 0.5, 1, 2});
  expect_values(of_one(x, [](Value v) { return asin(v); }),
                {kNaN, -1.57079633, 0.52359878, 1.57079633, kNaN});
  expect_values(of_one(x, [](Value v) { return acos(v); }),
                {kNaN, 3.14159265, 1.04719755, 0, kNaN});
  expect_values(of_one(x, [](Value v) { return atanh(v); }),
                {kNaN, -INFINITY, 0.54930614, INFINITY, kNaN});
  expect_values(of_one(x, [](Value v) { return acosh(v); }), {kNaN, kNaN, kNaN, 0, 1.31695790});
  expect_values(of_two(f32_of({1, -1, 0}), f32_of({-1, -1, -1}),
                       [](Value a, Value b) { return atan2(a, b); }),
                {2.35619449, -2.35619449, 3.14159265});
}

TEST(Elementwise, RemaindersHaveTheSignOfTheDivisorOrOfTheDividend) {
  const Tensor x = Tensor::of(DType::i32, {6}, {7, -7, 7, -7, 5, -2147483648.0});
  const Tensor y = Tensor::of(DType::i32, {6}, {3, 3, -3, -3, 0, -1});
  expect_values(of_two(x, y, [](Value a, Value b) { return mod(a, b); }), {1, 2, -2, -1, 0, 0});
  expect_values(of_two(x, y, [](Value a, Value b) { return fmod(a, b); }), {1, -1, 1, -1, 0, 0});
  const Tensor u = f32_of({5.5, -5.5, 5.5, 1}), v = f32_of({2, 2, -2, 0});
  expect_values(of_two(u, v, [](Value a, Value b) { return mod(a, b); }), {1.5, 0.5, -0.5, kNaN});
  expect_values(of_two(u, v, [](Value a, Value b) { return fmod(a, b); }), {1.5, -1.5, 1.5, kNaN});
}

TEST(Elementwise, PowersOfIntegersAreExactAndGoTowardZero) {
  const Tensor x = Tensor::of(DType::i64, {6}, {3, -2, 2, -1, 0, 7});
  const Tensor y = Tensor::of(DType::i64, {6}, {39, 63, -1, -3, -2, 0});
  const Tensor z = of_two(x, y, [](Value a, Value b) { return pow(a, b); });
  EXPECT_EQ(z.integer_at(0), 4052555153018976267);
  EXPECT_EQ(z.integer_at(1), std::numeric_limits<int64_t>::min());
  for (int64_t i = 2; i < 6; ++i) EXPECT_EQ(z.integer_at(i), (Ints{0, -1, 0, 1})[size_t(i - 2)]);
}

TEST(Elementwise, ShiftsKeepTheSignAndForgetWhatLeaves) {
  const Tensor x = Tensor::of(DType::i8, {4}, {-8, 127, -1, 3}),
               y = Tensor::of(DType::i8, {4}, {1, 1, 9, 100});
  expect_values(of_two(x, y, [](Value a, Value b) { return shift_right(a, b); }), {-4, 63, -1, 0});
  expect_values(of_two(x, y, [](Value a, Value b) { return shift_left(a, b); }), {-16, -2, 0, 0});
  expect_values(of_two(x, y, [](Value a, Value b) { return bitwise_xor(a, b); }),
                {-7, 126, -10, 103});
  expect_values(of_one(x, [](Value a) { return bitwise_not(a); }), {7, -128, 0, -4});
}

TEST(Elementwise, InfinitiesAreToldApartBySign) {
  const Tensor x = f32_of({INFINITY, -INFINITY, kNaN, 1});
  expect_values(of_one(x, [](Value v) { return is_inf(v); }), {1, 1, 0, 0});
  expect_values(of_one(x, [](Value v) { return is_inf(v, false, true); }), {0, 1, 0, 0});
}

TEST(Elementwise, IntegersDivideTowardZeroAndByZeroToZero) {
  const Tensor x = Tensor::of(DType::i32, {5}, {7, -7, 7, 5, -2147483648.0});
  const Tensor y = Tensor::of(DType::i32, {5}, {2, 2, -2, 0, -1});
  expect_values(of_two(x, y, [](Value a, Value b) { return a / b; }),
                {3, -3, -3, 0, -2147483648.0});
}

TEST(Elementwise, IntegersWrapToTheirWidth) {
  const Tensor x = Tensor::of(DType::u8, {2}, {250, 3}), y = Tensor::of(DType::u8, {2}, {10, 5});
  expect_values(of_two(x, y, [](Value a, Value b) { return a + b; }), {4, 8});
  expect_values(of_two(x, y, [](Value a, Value b) { return a - b; }), {240, 254});
  expect_values(of_one(Tensor::of(DType::i8, {1}, {-128}), [](Value v) { return -v; }), {-128});
}

TEST(Elementwise, ClipKeepsNaNAndTakesIntegers) {
  expect_values(of_one(f32_of({kNaN, -5, 0.5, 5}), [](Value x) { return clip(x, -1, 1); }),
                {kNaN, -1, 0.5, 1});
  expect_values(of_one(Tensor::of(DType::i32, {3}, {-5, 0, 5}),
                       [](Value x) { return clip(x, -1, INFINITY); }),
                {-1, 0, 5});
  expect_values(
      of_one(Tensor::of(DType::u8, {2}, {1, 200}), [](Value x) { return clip(x, -3, 100); }),
      {1, 100});
}

TEST(Elementwise, OperandsBroadcastAsInNumPy) {
  const Tensor x = Tensor::of(DType::f32, {2, 1}, {10, 20}), y = f32_of({1, 2, 3});
  const Tensor z = of_two(x, y, [](Value a, Value b) { return a + b; });
  EXPECT_EQ(z.shape(), (Shape{2, 3}));
  expect_values(z, {11, 12, 13, 21, 22, 23});
}

TEST(Elementwise, WhereChoosesByElement) {
  Graph graph;
  const Value condition = graph.input("c", boolean({2, 1}));
  graph.output("y", where(condition, graph.input("x", i32({3})), graph.input("z", i32({}))));
  const Tensor y = evaluate(graph, {{"c", Tensor::of(DType::boolean, {2, 1}, {1, 0})},
                                    {"x", Tensor::of(DType::i32, {3}, {1, 2, 3})},
                                    {"z", Tensor::scalar(DType::i32, -1)}})
                       .outputs.at("y");
  expect_values(y, {1, 2, 3, -1, -1, -1});
}

TEST(Elementwise, EmptyTensorsGiveEmptyResults) {
  EXPECT_EQ(of_one(Tensor(DType::f32, {0, 3}), [](Value x) { return exp(x); }).shape(),
            (Shape{0, 3}));
  EXPECT_EQ(
      of_two(Tensor(DType::f32, {0, 3}), f32_of({1, 2, 3}), [](Value a, Value b) { return a * b; })
          .count(),
      0);
}

TEST(Elementwise, ShapeArithmeticStaysSymbolic) {
  Graph graph;
  const Value shape = shape_of(graph.input("x", f32({"n", 6})));
  const Value two = graph.constant(Tensor::of(DType::i64, {}, {2}));
  const Value half = (shape + two) / two;
  const auto& known = half.producer().host_values[0];
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->elements, (std::vector<Dim>{floor_div(Dim("n") + 2, 2), Dim(4)}));
}

TEST(Elementwise, ShapeArithmeticWrapsAsTheDtypeDoes) {
  Graph graph;
  const auto number = [&](DType dtype, int64_t value) {
    Tensor tensor(dtype, {});
    tensor.set_integer(0, value);
    return graph.constant(tensor);
  };
  const auto known = [](Value v) { return v.producer().host_values[0].has_value(); };
  const Value sum = number(DType::u8, 200) + number(DType::u8, 100);
  EXPECT_FALSE(known(sum));
  EXPECT_TRUE(known(number(DType::u8, 200) + number(DType::u8, 55)));
  EXPECT_FALSE(known(number(DType::u8, 3) - number(DType::u8, 5)));
  EXPECT_FALSE(known(less(number(DType::u64, -1), number(DType::u64, 1))));  // the largest
  const Value lowest = number(DType::i64, INT64_MIN) / number(DType::i64, -1);
  EXPECT_FALSE(known(lowest));
  graph.output("sum", sum);
  graph.output("lowest", lowest);
  const TensorMap outputs = evaluate(graph, {}).outputs;
  EXPECT_EQ(outputs.at("sum").integer_at(0), 44);
  EXPECT_EQ(outputs.at("lowest").integer_at(0), INT64_MIN);
}

TEST(Elementwise, DimsThatOnlyARunKnowsBecomeChecks) {
  Graph graph;
  const Value sum = graph.input("x", f32({"n"})) + graph.input("y", f32({"m"}));
  ASSERT_EQ(sum.producer().checks.size(), 1u);
  EXPECT_EQ(sum.producer().checks[0].what, "add: cannot broadcast [n] with [m]: n and m");
  EXPECT_EQ((graph.input("z", f32({"n"})) + graph.input("w", f32({4}))).shape(), (Dims{4}));
}

TEST(Elementwise, ErrorsNameTheOpAndTheOperands) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3})), i = graph.input("i", i32({3})),
              c = graph.input("c", boolean({3}));
  EXPECT_EQ(error_of([&] { x + i; }),
            "add: x is f32[2, 3] and y is i32[3]; cast one to the dtype of the other");
  EXPECT_EQ(error_of([&] { exp(i); }), "exp: takes floats, got i32[3]");
  EXPECT_EQ(error_of([&] { c + c; }), "add: takes floats or integers, got bool[3]");
  EXPECT_EQ(error_of([&] { logical_not(x); }), "not: takes bools, got f32[2, 3]");
  EXPECT_EQ(error_of([&] { where(x, x, x); }), "where: condition must be bool, got f32[2, 3]");
  EXPECT_EQ(error_of([&] { x* graph.input("y", f32({2})); }),
            "mul: cannot broadcast [2, 3] with [2]: 3 and 2");
  EXPECT_EQ(error_of([&] { activate(x, "swish"); }),
            "activate: activation 'swish' is none of relu, leaky_relu, elu, selu, celu, sigmoid, "
            "hard_sigmoid, silu, hard_swish, mish, tanh, softplus, softsign, gelu, gelu_tanh, "
            "thresholded_relu");
  EXPECT_EQ(error_of([&] { bitwise_and(x, x); }), "bitwise_and: takes integers, got f32[2, 3]");
}

TEST(Elementwise, UnbroadcastSumsWhatWasRepeated) {
  Graph graph;
  const Value dy = graph.input("dy", f32({2, 3, 4}));
  EXPECT_EQ(unbroadcast(dy, graph.input("a", f32({3, 1}))).shape(), (Dims{3, 1}));
  EXPECT_EQ(unbroadcast(dy, graph.input("b", f32({4}))).shape(), (Dims{4}));
  EXPECT_EQ(unbroadcast(dy, graph.input("c", f32({2, 1, 4}))).shape(), (Dims{2, 1, 4}));
  EXPECT_EQ(unbroadcast(dy, graph.input("d", f32({}))).shape(), (Dims{}));
  EXPECT_EQ(unbroadcast(dy, dy), dy);
}

}  // namespace
}  // namespace rlx
