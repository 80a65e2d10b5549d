// Rows for products of bytes.

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_convolution.h"
#include "rlx/ops/ops_integer.h"

namespace rlx {
namespace {

// Bytes of the whole range.
CaseInput bytes(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_integer(i, (i * 101 + 37) % 256 - (dtype == DType::i8 ? 128 : 0));
  return given(tensor);
}

std::vector<OpCase> matmul_integer_cases() {
  const auto row = [](std::vector<CaseInput> inputs, const char* why) {
    return OpCase{"matmul_integer", std::move(inputs), {}, why};
  };
  std::vector<OpCase> cases = {
      row({normal(i8({3, 5})), normal(i8({5, 4}))}, "no zero points"),
      row({bytes(DType::u8, {9, 70}), bytes(DType::i8, {70, 35}), normal(u8({})), normal(i8({}))},
          "u8 times i8, one zero point each"),
      row({bytes(DType::u8, {65, 33}), bytes(DType::u8, {33, 63}), normal(u8({65})),
           normal(u8({63}))},
          "a zero point per row and per column"),
      row({normal(u8({5, 7})), normal(i8({7, 3})), absent(), normal(i8({3}))}, "only b's"),
      row({normal(i8({5, 7})), normal(u8({7, 3})), normal(i8({1}))}, "only a's, a list of one"),
      row({normal(u8({2, 3, 5})), normal(i8({5, 4})), normal(u8({3})), normal(i8({4}))},
          "a batch with one b: rows merge, their zero points repeat"),
      row({normal(u8({2, 3, 5})), normal(i8({2, 5, 4})), normal(u8({2, 3, 1})),
           normal(i8({2, 1, 4}))},
          "zero points of each matrix"),
      row({normal(u8({2, 1, 3, 5})), normal(i8({3, 5, 4})), normal(u8({})), normal(i8({4}))},
          "batch dims broadcast"),
      row({bytes(DType::i8, {3, 1031}), bytes(DType::i8, {1031, 5})}, "a long inner dim"),
      row({bytes(DType::u8, {9, 519}), bytes(DType::i8, {519, 33}), normal(u8({})),
           normal(i8({33}))},
          "many rows and a long inner dim, a zero point per column"),
      row({normal(i8({0, 3})), normal(i8({3, 4}))}, "no rows"),
      row({normal(i8({2, 0})), normal(i8({0, 4})), normal(i8({})), normal(i8({4}))},
          "an empty sum"),
      row({normal(u8({"n", 5})), normal(i8({5, 7})), normal(u8({"n"}))}, "symbolic rows"),
  };
  cases.back().symbols = {{"n", 6}};
  return cases;
}

std::vector<OpCase> conv_integer_cases() {
  const auto row = [](std::vector<CaseInput> inputs, const Attrs& attrs, const char* why) {
    return OpCase{"conv_integer", std::move(inputs), attrs, why};
  };
  std::vector<OpCase> cases = {
      row({normal(u8({1, 2, 5, 5})), normal(i8({3, 2, 3, 3}))}, {}, "no zero points"),
      row({bytes(DType::u8, {2, 3, 9, 7}), bytes(DType::i8, {5, 3, 3, 3}), normal(u8({})),
           normal(i8({}))},
          {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 1}}}, "the padding is x's zero point"),
      row({normal(u8({1, 4, 9})), normal(u8({6, 2, 3})), normal(u8({1})), normal(u8({6}))},
          {{"groups", 2}, {"dilations", Ints{2}}}, "1 dim in groups, a zero point per channel"),
      row({normal(i8({1, 5, 4, 4})), normal(i8({5, 1, 2, 2})), absent(), normal(i8({5}))},
          {{"groups", 5}, {"auto_pad", "same_lower"}}, "depthwise, only w's zero points"),
      row({normal(u8({0, 2, 5})), normal(i8({3, 2, 3}))}, {}, "an empty batch"),
      row({bytes(DType::u8, {1, 33, 7, 6}), bytes(DType::i8, {18, 33, 3, 3}), normal(u8({}))},
          {{"pads", Ints{1, 1, 1, 1}}}, "many channels in windows of 3 x 3"),
      row({normal(u8({"b", 2, "h"})), normal(i8({3, 2, 3})), normal(u8({}))},
          {{"strides", Ints{2}}}, "symbolic"),
  };
  cases.back().symbols = {{"b", 2}, {"h", 8}};
  return cases;
}

CaseInput number(double value) { return given(Tensor::scalar(DType::f32, value)); }
CaseInput byte(DType dtype, double value) { return given(Tensor::scalar(dtype, value)); }

std::vector<OpCase> qlinear_matmul_cases() {
  const auto row = [](std::vector<CaseInput> inputs, const char* why) {
    const auto compose = [](const Values& v) {
      return Values{qlinear_matmul({v[0], v[1], v[2]}, {v[3], v[4], v[5]}, v[6], v[7])};
    };
    return OpCase{"qlinear_matmul", std::move(inputs), {}, why, 1, 1, {}, false, compose};
  };
  return {
      row({bytes(DType::u8, {5, 33}), number(0.013), byte(DType::u8, 113),
           bytes(DType::u8, {33, 9}), number(0.017), byte(DType::u8, 114), number(0.31),
           byte(DType::u8, 118)},
          "one scale each"),
      row({bytes(DType::i8, {4, 7}), given(Tensor::of(DType::f32, {4}, {0.01, 0.02, 0.03, 0.007})),
           given(Tensor::of(DType::i8, {4}, {1, -2, 3, 0})), bytes(DType::i8, {7, 3}),
           given(Tensor::of(DType::f32, {3}, {0.011, 0.4, 0.02})),
           given(Tensor::of(DType::i8, {3}, {0, 5, -7})), number(0.21), byte(DType::i8, -3)},
          "a scale per row and column; some saturate"),
      row({bytes(DType::u8, {2, 3, 5}), number(0.25), byte(DType::u8, 128),
           bytes(DType::i8, {5, 4}), number(0.125), byte(DType::i8, 0), number(2),
           byte(DType::u8, 10)},
          "a batch; halves are rounded to even"),
      row({bytes(DType::u8, {0, 33}), number(0.013), byte(DType::u8, 113),
           bytes(DType::u8, {33, 9}), number(0.017), byte(DType::u8, 114), number(0.31),
           byte(DType::u8, 118)},
          "nothing in it"),
  };
}

std::vector<OpCase> qlinear_conv_cases() {
  const auto row = [](std::vector<CaseInput> inputs, const ConvOptions& options, const char* why) {
    const auto compose = [options](const Values& v) {
      const Value bias = v.size() > 8 ? v[8] : Value{};
      return Values{
          qlinear_conv({v[0], v[1], v[2]}, {v[3], v[4], v[5]}, v[6], v[7], bias, options)};
    };
    return OpCase{"qlinear_conv", std::move(inputs), {}, why, 1, 1, {}, false, compose};
  };
  const CaseInput bias = given(Tensor::of(DType::i32, {3}, {1000, -2000, 30}));
  return {
      row({bytes(DType::u8, {1, 2, 7, 5}), number(0.0037), byte(DType::u8, 132),
           bytes(DType::u8, {3, 2, 3, 3}), number(0.0017), byte(DType::u8, 120), number(0.0161),
           byte(DType::u8, 123)},
          {.pads = {1, 1, 1, 1}}, "one scale each"),
      row({bytes(DType::u8, {2, 2, 7}), number(0.0037), byte(DType::u8, 132),
           bytes(DType::i8, {3, 2, 3}),
           given(Tensor::of(DType::f32, {3}, {0.0011, 0.0023, 0.0101})),
           given(Tensor::of(DType::i8, {3}, {0, 3, -4})), number(0.0161), byte(DType::i8, 1), bias},
          {.strides = {2}}, "a scale per channel, and a bias"),
      row({bytes(DType::u8, {1, 3, 5, 5}), number(0.01), byte(DType::u8, 0),
           bytes(DType::i8, {3, 1, 2, 2}), number(0.02), byte(DType::i8, 0), number(0.07),
           byte(DType::u8, 128), bias},
          {.groups = 3}, "depthwise"),
      row({bytes(DType::u8, {0, 2, 7}), number(0.0037), byte(DType::u8, 132),
           bytes(DType::u8, {3, 2, 3}), number(0.0017), byte(DType::u8, 120), number(0.0161),
           byte(DType::u8, 123)},
          {}, "an empty batch"),
      row({bytes(DType::u8, {2, 2, 27, 25}), number(0.0037), byte(DType::u8, 132),
           bytes(DType::i8, {3, 2, 3, 3}), number(0.0017), byte(DType::i8, 2), number(0.0161),
           byte(DType::u8, 123), bias},
          {.strides = {2, 1}}, "more than a workgroup"),
  };
}

std::vector<OpCase> requantise_cases() {
  const auto row = [](std::vector<CaseInput> inputs, const char* why) {
    const auto compose = [](const Values& v) { return Values{requantise(v[0], v[1], v[2])}; };
    return OpCase{"requantise", std::move(inputs), {}, why, 1, 1, {}, false, compose};
  };
  const CaseInput sums =
      given(Tensor::of(DType::i32, {7}, {1, 3, 5, -3, 100000, -100000, 2147483647}));
  return {
      row({sums, number(0.5), byte(DType::u8, 10)}, "halves, and both ends of u8"),
      row({sums, number(0.25), byte(DType::i8, -1)}, "quarters, and both ends of i8"),
      row({normal(i32({0, 3})), number(1), byte(DType::i8, 0)}, "an empty tensor"),
      row({normal(i32({31, 65})), number(0.3), byte(DType::u8, 2)}, "more than a workgroup"),
  };
}

}  // namespace

std::vector<OpCase> integer_cases() {
  std::vector<OpCase> all;
  for (const auto& cases : {matmul_integer_cases(), conv_integer_cases(), qlinear_matmul_cases(),
                            qlinear_conv_cases(), requantise_cases()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

}  // namespace rlx
