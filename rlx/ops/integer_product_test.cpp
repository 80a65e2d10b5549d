#include <gtest/gtest.h>

#include "rlx/ops/ops_convolution.h"
#include "rlx/ops/ops_integer.h"
#include "rlx/ops/testing.h"

namespace rlx {
namespace {

Tensor u8(Shape shape, std::initializer_list<double> values) {
  return Tensor::of(DType::u8, std::move(shape), values);
}

void expect_tensor(const Tensor& got, DType dtype, const Shape& shape,
                   const std::vector<int64_t>& wanted) {
  EXPECT_EQ(got.dtype(), dtype);
  EXPECT_EQ(got.shape(), shape);
  ASSERT_EQ(got.count(), static_cast<int64_t>(wanted.size()));
  for (int64_t i = 0; i < got.count(); ++i)
    EXPECT_EQ(got.integer_at(i), wanted[size_t(i)]) << "at " << i;
}

// The operator's own example.
TEST(MatmulInteger, TakesZeroPointsOffFirst) {
  const Tensor a = u8({4, 3}, {11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0});
  const Tensor b = u8({3, 2}, {1, 4, 2, 5, 3, 6});
  const Tensor y = result_of({a, b, u8({1}, {12}), u8({1}, {0})}, [](const Values& v) {
    return matmul_integer(v[0], v[1], v[2], v[3]);
  });
  expect_tensor(y, DType::i32, {4, 2}, {-38, -83, -44, -98, -50, -113, -56, -128});
}

TEST(MatmulInteger, ZeroPointsMayVaryByRowAndColumn) {
  const Tensor y =
      result_of({u8({2, 1}, {10, 20}), u8({1, 2}, {3, 5}), u8({2}, {1, 2}), u8({2}, {1, 2})},
                [](const Values& v) { return matmul_integer(v[0], v[1], v[2], v[3]); });
  expect_tensor(y, DType::i32, {2, 2}, {18, 27, 36, 54});
}

TEST(MatmulInteger, VectorsAreDroppedFromTheResult) {
  const Tensor v = u8({2}, {1, 2});
  const auto product = [](const Values& x) { return matmul_integer(x[0], x[1]); };
  expect_tensor(result_of({v, v}, product), DType::i32, {}, {5});
  expect_tensor(result_of({v, u8({2, 1}, {3, 4})}, product), DType::i32, {1}, {11});
  expect_tensor(result_of({u8({1, 2}, {3, 4}), v}, product), DType::i32, {1}, {11});
}

TEST(ConvInteger, ThePaddingIsTheZeroPoint) {
  const Tensor x = u8({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10});
  const Tensor w = u8({1, 1, 2, 2}, {1, 1, 1, 1});
  const auto convolved = [&](const Ints& pads) {
    return result_of({x, w, u8({}, {1})}, [&](const Values& v) {
      return conv_integer(v[0], v[1], v[2], {}, {.pads = pads});
    });
  };
  expect_tensor(convolved({}), DType::i32, {1, 1, 2, 2}, {12, 16, 24, 28});
  expect_tensor(convolved({1, 1, 1, 1}), DType::i32, {1, 1, 4, 4},
                {1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9});
}

TEST(Requantise, RoundsHalvesToEvenAndSaturates) {
  const Tensor sums = Tensor::of(DType::i32, {6}, {1, 3, 5, -3, 1000, -1000});
  const auto bytes = [&](DType dtype, double zero) {
    return result_of({sums, Tensor::scalar(DType::f32, 0.5), Tensor::scalar(dtype, zero)},
                     [](const Values& v) { return requantise(v[0], v[1], v[2]); });
  };
  expect_tensor(bytes(DType::u8, 10), DType::u8, {6}, {10, 12, 12, 8, 255, 0});
  expect_tensor(bytes(DType::i8, -1), DType::i8, {6}, {-1, 1, 1, -3, 127, -128});
}

// The operator's own example.
TEST(QlinearMatmul, MultipliesWhatBytesStandFor) {
  const auto number = [](double value) { return Tensor::scalar(DType::f32, value); };
  const Tensor y =
      result_of({u8({2, 4}, {208, 236, 0, 238, 3, 214, 255, 29}), number(0.0066), u8({}, {113}),
                 u8({4, 3}, {152, 51, 244, 60, 26, 255, 0, 127, 246, 127, 254, 247}),
                 number(0.00705), u8({}, {114}), number(0.0107), u8({}, {118})},
                [](const Values& v) {
                  return qlinear_matmul({v[0], v[1], v[2]}, {v[3], v[4], v[5]}, v[6], v[7]);
                });
  expect_tensor(y, DType::u8, {2, 3}, {168, 115, 255, 1, 66, 151});
}

TEST(IntegerProducts, ErrorsNameOpAndOperands) {
  const auto error = [](const std::vector<TensorType>& types, bool convolution) {
    return error_of([&] {
      Graph graph;
      Values v;
      for (size_t i = 0; i < types.size(); ++i)
        v.push_back(graph.input("x" + std::to_string(i), types[i]));
      v.resize(4);
      convolution ? conv_integer(v[0], v[1], v[2], v[3]) : matmul_integer(v[0], v[1], v[2], v[3]);
    });
  };
  const auto bytes = [](Dims shape) { return TensorType{DType::u8, std::move(shape)}; };
  EXPECT_EQ(error({f32({2, 3}), bytes({3, 2})}, false),
            "matmul_integer: needs i8 or u8, got f32[2, 3] and u8[3, 2]");
  EXPECT_EQ(error({bytes({2, 3}), bytes({4, 2})}, false),
            "matmul_integer: the inner dims of u8[2, 3] and u8[4, 2] differ: 3 and 4");
  EXPECT_EQ(error({bytes({2, 3}), bytes({3, 2}), bytes({3})}, false),
            "matmul_integer: a_zero u8[3] does not fit u8[2, 3]: 3 and 2");
  EXPECT_EQ(error({bytes({1, 2, 3}), bytes({4, 2, 2}), bytes({2})}, true),
            "conv_integer: x_zero is u8[2], it needs to be one u8");
  EXPECT_EQ(error({bytes({1, 2, 3}), bytes({4, 2, 2}), bytes({}), bytes({3})}, true),
            "conv_integer: w_zero u8[3] does not fit w u8[4, 2, 2]: 3 and 4");
}

}  // namespace
}  // namespace rlx
