#include "rlx/ops/ops_core.h"
#include "rlx/passes/testing.h"

namespace rlx {

const OpDef& conv_op();
const OpDef& dequantise_op();

namespace {

// Scale and zero point broadcast to x.
Value floats_of(Value x, Value scale, Value zero = {}) {
  return x.apply(dequantise_op(), {x, scale, zero});
}

TEST(FindIntegerProducts, SumsOfBytesAreDequantised) {
  EXPECT_EQ(after_pass(find_integer_products, R"(%0 = input @"x" : u8[n, 2]
%1 = weight value=i8[2, 3]{1, 2, 3, 4, 5, 6} @"w" : i8[2, 3]
%2 = constant value=f32[]{0.5} : f32[]
%3 = constant value=u8[]{3} : u8[]
%4 = constant value=f32[3]{1, 2, 3} : f32[3]
%5 = dequantise %0, %2, %3 : f32[n, 2]
%6 = dequantise %1, %4 : f32[2, 3]
%7 = matmul %5, %6 transpose_a=false transpose_b=false : f32[n, 3]
output "y" %7
)"),
            R"(%0 = input @"x" : u8[n, 2]
%1 = weight value=i8[2, 3]{1, 2, 3, 4, 5, 6} @"w" : i8[2, 3]
%2 = constant value=f32[]{0.5} : f32[]
%3 = constant value=u8[]{3} : u8[]
%4 = constant value=f32[3]{1, 2, 3} : f32[3]
%5 = mul %2, %4 : f32[3]
%6 = matmul_integer %0, %1, %3, _ : i32[n, 3]
%7 = dequantise %6, %5 : f32[n, 3]
output "y" %7
)");
}

struct Net {
  Graph graph;
  Value input(const Dims& shape) {
    return graph.input(text('x', graph.nodes().size()), {DType::u8, shape});
  }
  Value bytes(const Shape& shape, DType dtype = DType::i8) {
    return graph.weight(text('w', graph.nodes().size()), some_tensor(dtype, shape, 3));
  }
  Value floats(const Shape& shape) {
    return graph.weight(text('s', graph.nodes().size()), some_tensor(shape, 4));
  }
  OpNames found(Value y) {
    graph.output("y", y);
    return ops_after(find_integer_products, graph);
  }
};

TEST(FindIntegerProducts, AConvolutionIsOne) {
  Net net;
  const Value x = floats_of(net.input({2, 3, 5, 5}), net.floats({}), net.bytes({}, DType::u8)),
              w = floats_of(net.bytes({4, 3, 3, 3}), net.floats({4, 1, 1, 1}),
                            net.bytes({4, 1, 1, 1}));
  EXPECT_EQ(
      net.found(relu(x.apply(conv_op(), {x, w, net.floats({4})}, {{"pads", Ints{1, 1, 1, 1}}}))),
      OpNames("conv_integer dequantise add relu"));
}

TEST(FindIntegerProducts, WeightsMayLieAsRows) {
  Net net, turned;
  EXPECT_EQ(net.found(linear(floats_of(net.input({2, 4}), net.floats({})),
                             floats_of(net.bytes({5, 4}), net.floats({5, 1})), net.floats({5}), "",
                             true)),
            OpNames("matmul_integer dequantise add"));
  const Value w = floats_of(turned.bytes({5, 4}), turned.floats({5, 1}));
  EXPECT_EQ(turned.found(
                matmul(floats_of(turned.input({2, 4}), turned.floats({1})), transpose(w, {1, 0}))),
            OpNames("matmul_integer dequantise"));
}

TEST(FindIntegerProducts, OtherScalesStay) {
  Net along_k, of_x, data, long_sums;
  EXPECT_EQ(along_k.found(matmul(floats_of(along_k.input({2, 4}), along_k.floats({})),
                                 floats_of(along_k.bytes({4, 5}), along_k.floats({4, 1})))),
            OpNames("dequantise matmul"));
  EXPECT_EQ(of_x.found(matmul(floats_of(of_x.input({2, 4}), of_x.floats({4})),
                              floats_of(of_x.bytes({4, 5}), of_x.floats({})))),
            OpNames("dequantise matmul"));
  const Value scale = data.graph.input("scale", f32({}));
  EXPECT_EQ(data.found(matmul(floats_of(data.input({2, 4}), scale),
                              floats_of(data.bytes({4, 5}), data.floats({})))),
            OpNames("dequantise matmul"));
  const int64_t most = 33025;  // 255 * 255 of these still fit
  EXPECT_EQ(
      long_sums.found(matmul(floats_of(long_sums.input({1, most + 1}), long_sums.floats({})),
                             floats_of(long_sums.bytes({most + 1, 1}), long_sums.floats({})))),
      OpNames("dequantise dequantise matmul"));
}

}  // namespace
}  // namespace rlx
