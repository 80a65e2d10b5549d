#include "rlx/ops/ops_core.h"
#include "rlx/passes/testing.h"

namespace rlx {
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
