#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_quantise.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

TEST(FindQuantisedProducts, AProductReadsTheBytesOfATable) {
  EXPECT_EQ(after_pass(find_quantised_products, R"(%0 = input @"x" : f32[n, 2]
%1 = weight value=u8[3, 2]{1, 2, 3, 4, 5, 6} @"w" : u8[3, 2]
%2 = constant value=f32[]{0.5} : f32[]
%3 = constant value=u8[]{3} : u8[]
%4 = transpose %1 order=[1, 0] : u8[2, 3]
%5 = dequantise %4, %2, %3 : f32[2, 3]
%6 = matmul %0, %5 transpose_a=false transpose_b=false : f32[n, 3]
output "y" %6
)"),
            R"(%0 = input @"x" : f32[n, 2]
%1 = weight value=u8[3, 2]{1, 2, 3, 4, 5, 6} @"w" : u8[3, 2]
%2 = constant value=f32[]{0.5} : f32[]
%3 = constant value=u8[]{3} : u8[]
%4 = reshape %2 allowzero=false shape=dims[1, 1] : f32[1, 1]
%5 = reshape %3 allowzero=false shape=dims[1, 1] : u8[1, 1]
%6 = quantised_matmul %0, %1, %4, %5 block=2 format="" transpose_w=true : f32[n, 3]
output "y" %6
)");
}

struct Net {
  Graph graph;
  Value x = graph.input("x", f32({2, 3, 4}));
  Value bytes(const Shape& shape, DType dtype = DType::i8) {
    return graph.weight(text('w', graph.nodes().size()), some_tensor(dtype, shape, 3));
  }
  Value floats(const Shape& shape) {
    return graph.weight(text('s', graph.nodes().size()), some_tensor(shape, 4));
  }
  OpNames found(Value y) {
    graph.output("y", y);
    return ops_after(find_quantised_products, graph);
  }
};

TEST(FindQuantisedProducts, EachColumnMayHaveItsScale) {
  Net net, turned, rows;
  EXPECT_EQ(net.found(matmul(net.x, dequantise(net.bytes({4, 5}), net.floats({5})))),
            OpNames("quantised_matmul"));
  EXPECT_EQ(
      turned.found(matmul(turned.x, transpose(dequantise(turned.bytes({5, 4}), turned.floats({5}),
                                                         turned.bytes({5}), {.axis = 0}),
                                              {1, 0}))),
      OpNames("quantised_matmul"));
  EXPECT_EQ(
      rows.found(matmul(rows.x, dequantise(rows.bytes({5, 4}), rows.floats({1})), false, true)),
      OpNames("quantised_matmul"));
}

TEST(FindQuantisedProducts, ABiasIsAddedBehind) {
  Net net;
  EXPECT_EQ(
      net.found(linear(net.x, dequantise(net.bytes({4, 5}), net.floats({})), net.floats({5}))),
      OpNames("quantised_matmul add"));
}

TEST(FindQuantisedProducts, EachBlockOfAColumnMayHaveItsScale) {
  Net net, turned;
  EXPECT_EQ(net.found(matmul(net.x, dequantise(net.bytes({4, 5}), net.floats({2, 5}),
                                               net.bytes({2, 5}), {.axis = 0, .block = 2}))),
            OpNames("quantised_matmul"));
  EXPECT_EQ(turned.found(matmul(turned.x,
                                dequantise(turned.bytes({5, 4}), turned.floats({5, 2}), {},
                                           {.axis = 1, .block = 2}),
                                false, true)),
            OpNames("quantised_matmul"));
  Net across;  // blocks of columns have scales along what is summed over
  EXPECT_EQ(across.found(matmul(across.x, dequantise(across.bytes({4, 6}), across.floats({4, 3}),
                                                     {}, {.axis = 1, .block = 2}))),
            OpNames("matmul"));
}

TEST(FindQuantisedProducts, OtherProductsStay) {
  Net along_k, sixteen, data;
  EXPECT_EQ(along_k.found(matmul(along_k.x, dequantise(along_k.bytes({4, 5}), along_k.floats({4}),
                                                       {}, {.axis = 0}))),
            OpNames("matmul"));
  EXPECT_EQ(sixteen.found(matmul(
                sixteen.x, dequantise(sixteen.bytes({4, 5}, DType::i16), sixteen.floats({})))),
            OpNames("matmul"));
  const Value given = data.graph.input("w", {DType::i8, {4, 5}});
  EXPECT_EQ(data.found(matmul(data.x, dequantise(given, data.floats({})))),
            OpNames("dequantise matmul"));
}

TEST(FindQuantisedProducts, AHalfThatIsAskedForIsRounded) {
  Net net;
  const Value half = cast(dequantise(net.bytes({4, 5}), net.floats({})), DType::f16);
  EXPECT_EQ(net.found(matmul(net.x, cast(half, DType::f32))), OpNames("matmul"));
}

}  // namespace
}  // namespace rlx
