#include <cmath>
#include <limits>

#include "rlx/ops/ops_attention.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_fill.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLow = -3.4028234663852886e38;

// As PyTorch writes scaled_dot_product_attention with is_causal: a triangle of ones.
TEST(FindCausal, ATriangleIsAFlag) {
  EXPECT_EQ(after_pass(find_causal, R"(%0 = input @"q" : f32[b, 2, s, 4]
%1 = constant value=f32[]{1} : f32[]
%2 = constant value=f32[]{0} : f32[]
%3 = constant value=f32[]{-inf} : f32[]
%4 = expand %1 shape=dims[s, s] : f32[s, s]
%5 = trilu %4 k=0 upper=false : f32[s, s]
%6 = eq %5, %2 : bool[s, s]
%7 = where %6, %3, %2 : f32[s, s]
%8 = attention %0, %0, %0, %7 causal=false empty_row="nan" heads=1 kv_heads=0 layout="bhsd" scale=0.5 softcap=0.0 window=-1 : f32[b, 2, s, 4]
output "y" %8
)"),
            R"(%0 = input @"q" : f32[b, 2, s, 4]
%1 = attention %0, %0, %0 causal=true empty_row="nan" heads=1 kv_heads=0 layout="bhsd" scale=0.5 softcap=0.0 window=-1 : f32[b, 2, s, 4]
output "y" %1
)");
}

// Queries of one layer, with a cache of keys where there is one.
struct Layer {
  Graph graph;
  Value q, k;
  explicit Layer(bool cached = false) : q(graph.input("q", f32({"b", 2, "s", 4}))), k(q) {
    if (cached) k = concat({graph.input("past", f32({"b", 2, "p", 4})), q}, 2);
  }
  Value number(double value) { return scalar(q, value); }
  Value whole(int64_t value) { return graph.constant(Tensor::of(DType::i64, {}, {double(value)})); }
  Value extent(Value x, int64_t axis = 2) { return squeeze(shape_of(x, axis, axis + 1), {0}); }
  Value queries() { return range(whole(0), extent(q), whole(1)); }
  Value keys() { return range(whole(0), extent(k), whole(1)); }
  Value column(Value rows) { return unsqueeze(rows, {1}); }
  Value attended(Value bias, Value mask = {}) {
    return attention(q, k, k, bias, {.empty_row = "nan"}, mask);
  }
  // The ops that are left, and the attributes of attention.
  struct Left {
    OpNames ops;
    bool causal;
    int64_t window;
  };
  Left left(Value y) {
    graph.output("y", y);
    const Graph known = dead_code.run(known_shapes.run(graph).graph).graph;
    const Graph after = after_pass(find_causal, known);
    for (const Node& node : after.nodes())
      if (node.op->name == "attention")
        return {ops_after(find_causal, known), node.attrs.get<bool>("causal"),
                node.attrs.get<int64_t>("window")};
    return {};
  }
  void expect_flag(Value y, const OpNames& ops, int64_t window = -1) {
    const Left found = left(y);
    EXPECT_EQ(found.ops, ops);
    EXPECT_TRUE(found.causal);
    EXPECT_EQ(found.window, window);
  }
  void expect_none(Value y) {
    const Left found = left(y);
    EXPECT_FALSE(found.causal);
    EXPECT_GT(found.ops.size(), 1u);
  }
};

TEST(FindCausal, RangesAreCompared) {
  Layer seen;
  seen.expect_flag(seen.attended(less_equal(seen.keys(), seen.column(seen.queries()))),
                   OpNames("attention"));
  Layer hidden;  // as transformers has it: lower than any score where a key comes later
  const Value later = less(hidden.keys(), hidden.column(hidden.queries() + hidden.whole(1)));
  hidden.expect_flag(hidden.attended(where(later, hidden.number(0), hidden.number(kLow))),
                     OpNames("attention"));
  Layer turned;
  turned.expect_flag(turned.attended(logical_not(greater(unsqueeze(turned.keys(), {0, 1, 2}),
                                                         unsqueeze(turned.queries(), {0, 1, 3})))),
                     OpNames("attention"));
}

TEST(FindCausal, ACacheMovesTheDiagonal) {
  Layer positions(true);
  const Value own = positions.queries() + positions.extent(positions.graph.value(1));
  positions.expect_flag(positions.attended(greater_equal(positions.column(own), positions.keys())),
                        OpNames("concat attention"));
  Layer joined(true);  // nothing is hidden of the past
  const Value square = expand(joined.number(kLow), Dims{"s", "s"}),
              past = expand(joined.number(0), Dims{"s", "p"});
  joined.expect_flag(joined.attended(concat({past, trilu(square, true, 1)}, -1)),
                     OpNames("concat attention"));
}

TEST(FindCausal, AConstantTableMayBeCut) {
  Layer layer;
  Tensor table(DType::boolean, {1, 1, 8, 8});
  for (int64_t i = 0; i < table.count(); ++i) table.set(i, i % 8 <= i / 8 ? 1 : 0);
  const auto part = [&](Value of) {
    const Value to = reshape(layer.extent(layer.q), Dims{1}),
                zero = layer.graph.constant(Tensor::of(DType::i64, {1}, {0}));
    return slice(slice(of, zero, to, {2}), zero, to, {3});
  };
  Layer fixed;
  fixed.q = fixed.k = fixed.graph.input("eight", f32({"b", 2, 8, 4}));
  fixed.expect_flag(fixed.attended(fixed.graph.constant(table)), OpNames("attention"));
  layer.expect_none(layer.attended(part(layer.graph.weight("bias", table))));
}

TEST(FindCausal, AWeightSaysThatItIsNoConstant) {
  Layer layer;
  layer.q = layer.k = layer.graph.input("two", f32({"b", 2, 2, 4}));
  const Value bias = layer.graph.weight("bias", Tensor::of(DType::boolean, {2, 2}, {1, 0, 1, 1}));
  layer.graph.output("y", layer.attended(bias));
  NearMisses misses;
  find_causal.run(layer.graph, {&misses});
  const std::vector<NearMiss> said = misses.take();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].reason.find("'bias', a weight"), std::string::npos) << said[0].reason;
}

TEST(FindCausal, OtherMasksStay) {
  Layer added;
  const Value triangle = trilu(expand(added.number(-kInfinity), Dims{"s", "s"}), true, 1);
  added.expect_flag(added.attended(triangle + added.graph.input("bias", f32({"b", 1, 1, "s"}))),
                    OpNames("attention"));
  Layer both;
  const Value causal = less_equal(both.keys(), both.column(both.queries()));
  both.expect_flag(
      both.attended(where(logical_and(causal, both.graph.input("seen", boolean({"b", 1, 1, "s"}))),
                          both.number(0), both.number(-kInfinity))),
      OpNames("attention"));
  Layer beside;
  const Value rest = beside.graph.input("bias", f32({2, "s", "s"}));
  const Value later = greater(beside.keys(), beside.column(beside.queries()));
  beside.expect_flag(beside.attended(where(later, beside.number(-kInfinity), rest)),
                     OpNames("attention"));
}

TEST(FindCausal, AWindowIsOneToo) {
  Layer layer(true);
  const Value own = layer.column(layer.queries() + layer.extent(layer.graph.value(1)));
  const Value near = greater(layer.keys(), own - layer.whole(3));
  layer.expect_flag(layer.attended(logical_and(less_equal(layer.keys(), own), near)),
                    OpNames("concat attention"), 2);
}

TEST(FindCausal, AMaskThatHidesNothingGoes) {
  Layer layer;
  const Layer::Left found = layer.left(layer.attended(expand(layer.number(0), Dims{"s", "s"})));
  EXPECT_EQ(found.ops, OpNames("attention"));
  EXPECT_FALSE(found.causal);
}

TEST(FindCausal, AnotherDiagonalStays) {
  Layer from_the_first(true);  // query i sees keys up to i, however long the cache is
  from_the_first.expect_none(from_the_first.attended(
      less_equal(from_the_first.keys(), from_the_first.column(from_the_first.queries()))));
  Layer strictly;
  strictly.expect_none(
      strictly.attended(less(strictly.keys(), strictly.column(strictly.queries()))));
  Layer before;
  before.expect_none(
      before.attended(greater_equal(before.keys(), before.column(before.queries()))));
}

// A row whose keys are all hidden by numbers is their mean, which differs by what is hidden.
TEST(FindCausal, AFiniteNumberBesideAnotherMaskStays) {
  Layer layer;
  const Value triangle = trilu(expand(layer.number(kLow), Dims{"s", "s"}), true, 1);
  layer.expect_none(layer.attended(triangle + layer.graph.input("bias", f32({"b", 1, 1, "s"}))));
}

TEST(FindCausal, ASinkStays) {
  for (const bool beside_bias : {false, true}) {
    Layer layer;
    Value mask = trilu(expand(layer.number(-kInfinity), Dims{"s", "s"}), true, 1);
    if (beside_bias) mask = mask + layer.graph.input("bias", f32({"b", 1, 1, "s"}));
    const Value sink = layer.graph.input("sink", f32({2}));
    layer.expect_flag(attention(layer.q, layer.k, layer.k, mask, {.empty_row = "nan"}, {}, sink),
                      OpNames("attention"));
  }
}

TEST(FindCausal, ANumberThatScoresMayReachIsNoMask) {
  Layer layer;
  layer.expect_none(layer.attended(trilu(expand(layer.number(-10000), Dims{"s", "s"}), true, 1)));
}

}  // namespace
}  // namespace rlx
