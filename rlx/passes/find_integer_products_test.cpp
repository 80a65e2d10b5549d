#include "rlx/ops/ops_convolution.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_quantise.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

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
  Value input(const Dims& shape) { return graph.input(text('x', graph.nodes().size()), {DType::u8, shape}); }
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
  const Value x = dequantise(net.input({2, 3, 5, 5}), net.floats({}), net.bytes({}, DType::u8)),
              w = dequantise(net.bytes({4, 3, 3, 3}), net.floats({4}), net.bytes({4}), {.axis = 0});
  EXPECT_EQ(net.found(relu(conv(x, w, net.floats({4}), {.pads = {1, 1, 1, 1}}))),
            OpNames("conv_integer dequantise add relu"));
}

TEST(FindIntegerProducts, WeightsMayLieAsRows) {
  Net net, turned;
  EXPECT_EQ(net.found(linear(dequantise(net.input({2, 4}), net.floats({})),
                             dequantise(net.bytes({5, 4}), net.floats({5}), {}, {.axis = 0}),
                             net.floats({5}), "", true)),
            OpNames("matmul_integer dequantise add"));
  const Value w = dequantise(turned.bytes({5, 4}), turned.floats({5}), {}, {.axis = 0});
  EXPECT_EQ(turned.found(matmul(dequantise(turned.input({2, 4}), turned.floats({1})),
                                transpose(w, {1, 0}))),
            OpNames("matmul_integer dequantise"));
}

TEST(FindIntegerProducts, OtherScalesStay) {
  Net along_k, of_x, data, long_sums;
  EXPECT_EQ(along_k.found(matmul(dequantise(along_k.input({2, 4}), along_k.floats({})),
                                 dequantise(along_k.bytes({4, 5}), along_k.floats({4}), {},
                                            {.axis = 0}))),
            OpNames("dequantise matmul"));
  EXPECT_EQ(of_x.found(matmul(dequantise(of_x.input({2, 4}), of_x.floats({4})),
                              dequantise(of_x.bytes({4, 5}), of_x.floats({})))),
            OpNames("dequantise matmul"));
  const Value scale = data.graph.input("scale", f32({}));
  EXPECT_EQ(data.found(matmul(dequantise(data.input({2, 4}), scale),
                              dequantise(data.bytes({4, 5}), data.floats({})))),
            OpNames("dequantise matmul"));
  const int64_t most = 33025;  // 255 * 255 of these still fit
  EXPECT_EQ(long_sums.found(matmul(dequantise(long_sums.input({1, most + 1}), long_sums.floats({})),
                                   dequantise(long_sums.bytes({most + 1, 1}),
                                              long_sums.floats({})))),
            OpNames("dequantise dequantise matmul"));
}

}  // namespace
}  // namespace rlx
