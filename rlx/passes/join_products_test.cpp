#include "rlx/ops/ops_blocks.h"
#include "rlx/ops/ops_core.h"
#include "rlx/passes/testing.h"
#include "rlx/tensor/blocks/format.h"

namespace rlx {

const OpDef& quantised_matmul_op();

namespace {

struct Net {
  Graph graph;
  Value x;
  Values outputs;
  explicit Net(const TensorType& type) : x(graph.input("x", type)) {}
  Value weight(const Shape& shape) {
    const std::string name = text('w', graph.nodes().size());
    return graph.weight(name, some_tensor(shape, graph.nodes().size()));
  }
  OpNames joined(const Values& results) {
    for (const Value& result : results) graph.output(text('y', result.node), result);
    return ops_after(join_products, graph);
  }
};

TEST(JoinProducts, ProductsOfOneValueAreOne) {
  EXPECT_EQ(after_pass(join_products, R"(%0 = input @"x" : f32[n, 2]
%1 = weight value=f32[2, 3]{1, 2, 3, 4, 5, 6} @"a" : f32[2, 3]
%2 = weight value=f32[2, 1]{7, 8} @"b" : f32[2, 1]
%3 = matmul %0, %1 transpose_a=false transpose_b=false : f32[n, 3]
%4 = matmul %0, %2 transpose_a=false transpose_b=false : f32[n, 1]
output "y" %3
output "z" %4
)"),
            R"(%0 = input @"x" : f32[n, 2]
%1 = weight value=f32[2, 3]{1, 2, 3, 4, 5, 6} @"a" : f32[2, 3]
%2 = weight value=f32[2, 1]{7, 8} @"b" : f32[2, 1]
%3 = concat %1, %2 axis=1 : f32[2, 4]
%4 = matmul %0, %3 transpose_a=false transpose_b=false : f32[n, 4]
%5 = slice %4 axes=[1] ends=dims[3] starts=dims[0] steps=ints[] : f32[n, 3]
%6 = slice %4 axes=[1] ends=dims[4] starts=dims[3] steps=ints[] : f32[n, 1]
output "y" %5
output "z" %6
)");
}

TEST(JoinProducts, BiasesAreJoinedToo) {
  Net net(f32({2, 3, 4}));
  const Value q = net.weight({4, 5}), k = net.weight({4, 5}), v = net.weight({4, 6});
  const Value a = net.weight({5}), b = net.weight({5}), c = net.weight({6});
  EXPECT_EQ(net.joined({matmul(net.x, q) + a, b + matmul(net.x, k), matmul(net.x, v) + c}),
            OpNames("matmul add slice slice slice"));
  Net rows(f32({3, 4}));
  const Value w = rows.weight({5, 4}), u = rows.weight({2, 4}), d = rows.weight({5}),
              e = rows.weight({2});
  EXPECT_EQ(rows.joined({linear(rows.x, w, d, "", true), linear(rows.x, u, e, "", true)}),
            OpNames("linear slice slice"));
}

// SwiGLU and GeGLU: the gate and what it opens for are views of one product.
TEST(JoinProducts, AGateAndWhatItOpensForAreOneProduct) {
  for (const bool is_gelu : {false, true}) {
    Net net(f32({2, 3, 4}));
    const Value gate = matmul(net.x, net.weight({4, 5})), up = matmul(net.x, net.weight({4, 5}));
    const Value open = (is_gelu ? gelu(gate) : gate * sigmoid(gate)) * up;
    EXPECT_EQ(net.joined({matmul(open, net.weight({5, 4}))}),
              OpNames(is_gelu ? "matmul slice slice gelu mul matmul"
                              : "matmul slice slice sigmoid mul mul matmul"));
  }
}

// Weights in blocks are rows of bytes, one behind the other.
TEST(JoinProducts, RowsOfBlocksArePutTogether) {
  for (const char* format : {"q8_0", "q4_0", "q4_k"}) {
    const int64_t inner = 256;
    Net net(f32({3, inner}));
    const auto rows = [&](int64_t count) {
      return net.graph.weight(
          text('w', net.graph.nodes().size()),
          encode_blocks(some_tensor({count, inner}, uint64_t(count)), block_format(format, 0)));
    };
    const Value q = quantised_matmul(net.x, rows(5), format),
                k = quantised_matmul(net.x, rows(3), format),
                v = quantised_matmul(net.x, rows(1), format);
    EXPECT_EQ(net.joined({q, k, v}), OpNames("quantised_matmul slice slice slice")) << format;
    Net biased(f32({3, inner}));
    const Value w = biased.graph.weight(
                    "a", encode_blocks(some_tensor({2, inner}, 1), block_format(format, 0))),
                u = biased.graph.weight(
                    "b", encode_blocks(some_tensor({7, inner}, 2), block_format(format, 0)));
    const Value c = biased.weight({2}), d = biased.weight({7});
    EXPECT_EQ(biased.joined({quantised_matmul(biased.x, w, format) + c,
                             d + quantised_matmul(biased.x, u, format)}),
              OpNames("quantised_matmul add slice slice"))
        << format;
  }
}

TEST(JoinProducts, BytesAreWithTheirScales) {
  EXPECT_EQ(after_pass(join_products, R"(%0 = input @"x" : f32[n, 2]
%1 = weight value=i8[2, 2]{1, 2, 3, 4} @"a" : i8[2, 2]
%2 = weight value=f32[2, 1]{0.5, 2} @"a scales" : f32[2, 1]
%3 = weight value=i8[2, 1]{1, -1} @"a zeros" : i8[2, 1]
%4 = weight value=i8[1, 2]{7, 8} @"b" : i8[1, 2]
%5 = weight value=f32[1, 1]{0.25} @"b scales" : f32[1, 1]
%6 = weight value=i8[1, 1]{3} @"b zeros" : i8[1, 1]
%7 = quantised_matmul %0, %1, %2, %3 block=2 format="" transpose_w=true : f32[n, 2]
%8 = quantised_matmul %0, %4, %5, %6 block=2 format="" transpose_w=true : f32[n, 1]
output "y" %7
output "z" %8
)"),
            R"(%0 = input @"x" : f32[n, 2]
%1 = weight value=i8[2, 2]{1, 2, 3, 4} @"a" : i8[2, 2]
%2 = weight value=f32[2, 1]{0.5, 2} @"a scales" : f32[2, 1]
%3 = weight value=i8[2, 1]{1, -1} @"a zeros" : i8[2, 1]
%4 = weight value=i8[1, 2]{7, 8} @"b" : i8[1, 2]
%5 = weight value=f32[1, 1]{0.25} @"b scales" : f32[1, 1]
%6 = weight value=i8[1, 1]{3} @"b zeros" : i8[1, 1]
%7 = concat %1, %4 axis=0 : i8[3, 2]
%8 = concat %2, %5 axis=0 : f32[3, 1]
%9 = concat %3, %6 axis=0 : i8[3, 1]
%10 = quantised_matmul %0, %7, %8, %9 block=2 format="" transpose_w=true : f32[n, 3]
%11 = slice %10 axes=[1] ends=dims[2] starts=dims[0] steps=ints[] : f32[n, 2]
%12 = slice %10 axes=[1] ends=dims[3] starts=dims[2] steps=ints[] : f32[n, 1]
output "y" %11
output "z" %12
)");
}

TEST(JoinProducts, QuantisedProductsThatDifferStayApart) {
  const auto kept = [](const auto& product) {
    Net net(f32({3, 4}));
    const Values results{product(net, 0), product(net, 1)};
    return net.joined(results).count("quantised_matmul");
  };
  const auto bytes = [](Net& net, const Shape& shape, DType dtype = DType::i8) {
    return net.graph.weight(text('w', net.graph.nodes().size()),
                            some_tensor(dtype, shape, net.graph.nodes().size()));
  };
  const auto multiplied = [](const Values& operands, int64_t block) {
    return operands[0].apply(quantised_matmul_op(), operands, {{"block", block}});
  };
  const auto of = [&](Net& net, int64_t scales, int64_t block, DType dtype) {
    return multiplied({net.x, bytes(net, {5, 4}, dtype), net.weight({scales, 4 / block})}, block);
  };
  EXPECT_EQ(kept([&](Net& net, int) { return of(net, 5, 2, DType::i8); }), 1u);
  EXPECT_EQ(kept([&](Net& net, int i) { return of(net, 5, 2 + 2 * i, DType::i8); }), 2u) << "block";
  EXPECT_EQ(kept([&](Net& net, int i) { return of(net, 5, 2, i ? DType::u8 : DType::i8); }), 2u);
  EXPECT_EQ(kept([&](Net& net, int i) { return of(net, i ? 1 : 5, 2, DType::i8); }), 2u)
      << "one scale for all rows";
  EXPECT_EQ(kept([&](Net& net, int i) {
              return multiplied(
                  {net.x, bytes(net, {5, 4}), net.weight({5, 1}), i ? bytes(net, {5, 1}) : Value{}},
                  4);
            }),
            2u)
      << "zero points";
  EXPECT_EQ(kept([&](Net& net, int i) {
              const Value scales = i ? net.graph.input("s", f32({5, 1})) : net.weight({5, 1});
              return multiplied({net.x, bytes(net, {5, 4}), scales}, 4);
            }),
            2u)
      << "scales of a run";
}

TEST(JoinProducts, AWeightMayBeWrittenDownBehindTheFirstProduct) {
  Net net(f32({3, 4}));
  const Value first = matmul(net.x, net.weight({4, 5}));
  EXPECT_EQ(net.joined({first, matmul(net.x, net.weight({4, 5}))}), OpNames("matmul slice slice"));
}

TEST(JoinProducts, ThoseThatDifferStayApart) {
  Net turned(f32({3, 4}));
  const Value a = turned.weight({4, 5}), b = turned.weight({5, 4});
  EXPECT_EQ(turned.joined({matmul(turned.x, a), matmul(turned.x, b, false, true)}),
            OpNames("matmul matmul"));
  Net half(f32({3, 4}));
  const Value c = half.weight({4, 5}), d = half.weight({4, 5}), e = half.weight({5});
  EXPECT_EQ(half.joined({matmul(half.x, c) + e, matmul(half.x, d)}), OpNames("matmul add matmul"));
  Net data(f32({3, 4}));
  const Value f = data.weight({4, 5}), g = data.graph.input("g", f32({4, 5}));
  EXPECT_EQ(data.joined({matmul(data.x, f), matmul(data.x, g)}), OpNames("matmul matmul"));
  Net values(f32({3, 4}));
  const Value h = values.weight({4, 5}), i = values.weight({4, 5});
  EXPECT_EQ(values.joined({matmul(values.x, h), matmul(exp(values.x), i)}),
            OpNames("matmul exp matmul"));
}

TEST(JoinProducts, AWeightThatIsReadElsewhereIsNotCopied) {
  Net net(f32({3, 4}));
  const Value a = net.weight({4, 5}), b = net.weight({4, 5});
  net.graph.output("weight", a);
  net.graph.output("sum", exp(a));
  EXPECT_EQ(net.joined({matmul(net.x, a), matmul(net.x, b)}), OpNames("matmul matmul"));
}

TEST(JoinProducts, AProductThatIsReadBesideItsBiasKeepsIt) {
  Net net(f32({3, 4}));
  const Value a = net.weight({4, 5}), b = net.weight({4, 5}), c = net.weight({5});
  const Value y = matmul(net.x, a);
  EXPECT_EQ(net.joined({y, y + c, matmul(net.x, b)}), OpNames("matmul slice slice add"));
}

}  // namespace
}  // namespace rlx
