#include <cmath>

#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_fill.h"
#include "rlx/ops/ops_logic.h"
#include "rlx/ops/ops_rearrange.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Heads made by a layer as exporters write it: x [B, S, H * D] to [B, H, S, D].
struct Layer {
  Graph graph;
  Value q, k, v;
  explicit Layer(const Dims& q_shape = {2, 3, 4, 5}, const Dims& k_shape = {2, 3, 6, 5},
                 DType dtype = DType::f32)
      : q(graph.input("q", {dtype, q_shape})),
        k(graph.input("k", {dtype, k_shape})),
        v(graph.input("v", {dtype, k_shape})) {}
  Value dots() {
    Ints order;
    for (int64_t axis = 0; axis < rank(k.type()); ++axis) order.push_back(axis);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return matmul(q, transpose(k, order));
  }
  Value number(double value) { return scalar(q, value); }
  OpNames found(Value scores) {
    graph.output("y", matmul(softmax(scores), v));
    return ops_after(find_attention, graph);
  }
};

TEST(FindAttention, IsOneOp) {
  EXPECT_EQ(after_pass(find_attention, R"(%0 = input @"q" : f32[b, 2, s, 4]
%1 = input @"k" : f32[b, 2, s, 4]
%2 = input @"v" : f32[b, 2, s, 4]
%3 = input @"bias" : f32[b, 1, 1, s]
%4 = constant value=f32[]{2} : f32[]
%5 = transpose %1 order=[0, 1, 3, 2] : f32[b, 2, 4, s]
%6 = matmul %0, %5 transpose_a=false transpose_b=false : f32[b, 2, s, s]
%7 = div %6, %4 : f32[b, 2, s, s]
%8 = add %7, %3 : f32[b, 2, s, s]
%9 = softmax %8 axis=-1 : f32[b, 2, s, s]
%10 = matmul %9, %2 transpose_a=false transpose_b=false : f32[b, 2, s, 4]
output "y" %10
)"),
            R"(%0 = input @"q" : f32[b, 2, s, 4]
%1 = input @"k" : f32[b, 2, s, 4]
%2 = input @"v" : f32[b, 2, s, 4]
%3 = input @"bias" : f32[b, 1, 1, s]
%4 = attention %0, %1, %2, %3 causal=false empty_row="nan" heads=1 kv_heads=0 layout="bhsd" scale=0.5 softcap=0.0 window=-1 : f32[b, 2, s, 4]
output "y" %4
)");
}

TEST(FindAttention, HeadsAreBroughtForwardAndBack) {
  Graph graph;
  const Value x = graph.input("x", f32({"b", "s", 12}));
  const auto heads = [&](const char* name, const Ints& order) {
    const Value w = graph.weight(name, some_tensor({12, 12}, std::string(name).size()));
    return transpose(reshape(matmul(x, w), Dims{"b", "s", 3, 4}), order);
  };
  const Value q = heads("q", {0, 2, 1, 3}), k = heads("ke", {0, 2, 3, 1}),
              v = heads("val", {0, 2, 1, 3});
  const Value y = matmul(softmax(matmul(q, k) * scalar(x, 0.5)), v);
  graph.output("y", reshape(transpose(y, {0, 2, 1, 3}), Dims{"b", "s", 12}));
  const OpNames forward(
      "matmul reshape transpose matmul reshape transpose matmul reshape transpose"),
      inside("matmul reshape matmul reshape matmul reshape attention reshape");
  OpNames found = forward;
  for (const char* name : {"attention", "transpose", "reshape"}) found.insert(name);
  EXPECT_EQ(ops_after(find_attention, graph), found);
  EXPECT_EQ(ops_after(keep_heads, after_pass(find_attention, graph)), inside);
}

// As PyTorch's own layers write it: x [S, B, E], heads beside the batch in one axis.
TEST(FindAttention, HeadsBesideTheBatchAreHeads) {
  enum class Mask { none, shared, each };
  for (const Mask mask : {Mask::none, Mask::shared, Mask::each}) {
    Graph graph;
    const auto heads = [](Value x) {
      return transpose(reshape(x, Dims{x.shape()[0], 6, 4}), {1, 0, 2});
    };
    const Value q = heads(graph.input("q", f32({5, 2, 12}))),
                k = heads(graph.input("k", f32({"t", 2, 12}))),
                v = heads(graph.input("v", f32({"t", 2, 12})));
    Value scores = matmul(q * scalar(q, 0.5), transpose(k, {0, 2, 1}));
    if (mask != Mask::none)
      scores =
          scores + graph.input("mask", f32(mask == Mask::shared ? Dims{5, "t"} : Dims{6, 1, "t"}));
    const Value y = transpose(matmul(softmax(scores), v), {1, 0, 2});
    graph.output("y", reshape(y, Dims{10, 12}));
    graph.symbol("t", 64, 1);
    const Graph found = after_pass(find_attention, after_pass(merge_transposes, graph));
    int64_t attentions = 0;
    for (const Node& node : found.nodes())
      if (node.op->name == "attention") {
        ++attentions;
        EXPECT_EQ(node.types[0].shape, (Dims{2, 3, 5, 4}));
        EXPECT_EQ(node.inputs[1].shape(), (Dims{2, 3, "t", 4}));
      }
    EXPECT_EQ(attentions, 1);
  }
}

TEST(FindAttention, HeadsThatAreNoPartsOfTheLastAxisStay) {
  Graph graph;  // a batch of 3, so that an axis of 6 is no number of whole heads for it
  const auto heads = [&](const char* name) {
    return transpose(reshape(graph.input(name, f32({5, 3, 8})), {5, 6, 4}), {1, 0, 2});
  };
  const Value q = heads("q"), k = heads("k"), v = heads("v");
  const Value mask = graph.input("mask", f32({6, 5, 5}));
  const Value y = matmul(softmax(matmul(q, transpose(k, {0, 2, 1})) + mask), v);
  graph.output("y", transpose(y, {1, 0, 2}));
  const Graph found = after_pass(find_attention, graph);
  for (const Node& node : found.nodes())
    if (node.op->name == "attention") EXPECT_EQ(node.types[0].shape[0], Dim(3));
}

TEST(FindAttention, AScaleMayBeAnywhere) {
  Layer both;
  both.q = both.q * both.number(0.7);
  both.k = both.k / both.number(2);
  EXPECT_EQ(both.found(both.dots()), OpNames("attention"));
  Layer none;
  EXPECT_EQ(none.found(none.dots()), OpNames("attention"));
  Layer of_a_dim;
  const Value size = cast(squeeze(shape_of(of_a_dim.q, 3, 4), {0}), DType::f32);
  EXPECT_EQ(of_a_dim.found(of_a_dim.dots() / sqrt(size)), OpNames("attention"));
}

TEST(FindAttention, MasksAreBiasesOrBools) {
  Layer added;
  EXPECT_EQ(added.found(added.graph.input("mask", f32({4, 6})) + added.dots()),
            OpNames("attention"));
  Layer seen;
  const Value mask = seen.graph.input("mask", boolean({2, 1, 4, 6}));
  EXPECT_EQ(seen.found(where(mask, seen.dots(), seen.number(-kInfinity))), OpNames("attention"));
  Layer hidden;
  const Value not_seen = hidden.graph.input("mask", boolean({4, 6}));
  EXPECT_EQ(hidden.found(where(not_seen, hidden.number(-kInfinity), hidden.dots())),
            OpNames("not attention"));
  Layer low;
  const Value some = low.graph.input("mask", boolean({1, 1, 4, 6}));
  EXPECT_EQ(low.found(where(some, low.dots(), low.number(-3.4028235e38))),
            OpNames("where attention"));
}

TEST(FindAttention, KeysMayBeHiddenBesideABias) {
  Layer behind;
  const Value seen = behind.graph.input("seen", boolean({4, 6}));
  EXPECT_EQ(behind.found(where(seen, behind.dots(), behind.number(-3.4028235e38)) +
                         behind.graph.input("bias", f32({2, 1, 1, 6}))),
            OpNames("where add attention"));
  Layer before;
  const Value not_seen = before.graph.input("hidden", boolean({4, 6}));
  EXPECT_EQ(before.found(where(not_seen, before.number(-kInfinity),
                               before.dots() + before.graph.input("bias", f32({3, 1, 6})))),
            OpNames("not attention"));
}

// GPT-2 cuts its mask out of a table: as many rows as there are queries, as far as the table goes.
TEST(FindAttention, AMaskMayBeAPartOfATable) {
  Graph graph;
  const Value q = graph.input("q", f32({"b", 3, "s", 5})),
              past = graph.input("past", f32({"b", 3, "p", 5}));
  const Value k = concat({past, q}, 2), v = concat({q, past}, 2);
  const Value table = graph.input("table", boolean({1, 1, 8, 8}));
  const Value queries = shape_of(q, 2, 3), keys = shape_of(k, 2, 3);
  const Value rows = slice(table, keys - queries, keys, {2}),
              seen = slice(rows, graph.constant(Tensor::of(DType::i64, {1}, {0})), keys, {3});
  const Value scores = where(seen, matmul(q, k, false, true), scalar(q, -3.4028235e38));
  graph.output("y", matmul(softmax(scores + graph.input("padding", f32({"b", 1, 1, 1}))), v));
  const Graph known = dead_code.run(known_shapes.run(graph).graph).graph;
  EXPECT_EQ(ops_after(find_attention, known),
            OpNames("concat concat slice slice where add attention"));
}

TEST(FindAttention, ANumberThatIsNotLowEnoughIsNoMask) {
  Layer layer;
  const Value mask = layer.graph.input("mask", boolean({4, 6}));
  EXPECT_EQ(layer.found(where(mask, layer.dots(), layer.number(-10000))),
            OpNames("transpose matmul where softmax matmul"));
}

TEST(FindAttention, ScoresMayBeCapped) {
  Layer layer;
  EXPECT_EQ(layer.found(tanh(layer.dots() / layer.number(30)) * layer.number(30) +
                        layer.graph.input("mask", f32({4, 6}))),
            OpNames("attention"));
}

TEST(FindAttention, SoftmaxMayBeWider) {
  Layer layer({2, 3, 4, 5}, {2, 3, 6, 5}, DType::f16);
  const Value weights = softmax(cast(layer.dots() * layer.number(0.4), DType::f32));
  layer.graph.output("y", matmul(cast(weights, DType::f16), layer.v));
  EXPECT_EQ(ops_after(find_attention, layer.graph), OpNames("attention"));
}

TEST(FindAttention, BatchesMayBeOneAxisOrNone) {
  Layer three({6, 4, 5}, {6, 7, 5});
  EXPECT_EQ(three.found(three.dots() + three.graph.input("mask", f32({6, 1, 7}))),
            OpNames("unsqueeze unsqueeze unsqueeze unsqueeze attention squeeze"));
  Layer two({4, 5}, {7, 5});
  EXPECT_EQ(two.found(two.dots()), OpNames("unsqueeze unsqueeze unsqueeze attention squeeze"));
}

TEST(FindAttention, RepeatedHeadsAreGroups) {
  Layer layer({2, 6, 4, 5}, {2, 3, 4, 5});
  const auto repeated = [](Value x) {
    return reshape(expand(unsqueeze(x, {2}), {2, 3, 2, 4, 5}), Dims{2, 6, 4, 5});
  };
  layer.k = repeated(layer.k);
  layer.v = repeated(layer.v);
  EXPECT_EQ(layer.found(layer.dots()), OpNames("attention"));
}

TEST(FindAttention, RepeatedHeadsMayLieInside) {
  const auto repeated = [](Value x, bool tiles) {
    const Value single = unsqueeze(x, {3});
    return reshape(tiles ? tile(single, Dims{1, 1, 1, 2, 1}) : expand(single, {2, 4, 3, 2, 5}),
                   Dims{2, 4, 6, 5});
  };
  for (const bool tiles : {false, true}) {
    Graph graph;
    const Value q = graph.input("q", f32({2, 6, 4, 5})),
                k = repeated(graph.input("k", f32({2, 4, 3, 5})), tiles),
                v = repeated(graph.input("v", f32({2, 4, 3, 5})), tiles);
    const Value scores = matmul(q, transpose(k, {0, 2, 3, 1}));
    graph.output("y", matmul(softmax(scores), transpose(v, {0, 2, 1, 3})));
    EXPECT_EQ(ops_after(find_attention, graph), OpNames("transpose transpose attention"));
  }
}

TEST(FindAttention, HeadsMayBeRepeatedByTheirNumbers) {
  const auto names = [](bool inside, const std::vector<int64_t>& places) {
    Graph graph;
    const Shape of = inside ? Shape{2, 4, 3, 5} : Shape{2, 3, 4, 5};
    const auto repeated = [&](const char* name) {
      const Value x = graph.input(name, {DType::f32, Dims(of.begin(), of.end())});
      Tensor tensor(DType::i64, {static_cast<int64_t>(places.size())});
      for (size_t i = 0; i < places.size(); ++i)
        tensor.set(static_cast<int64_t>(i), static_cast<double>(places[i]));
      const Value y = gather(x, graph.constant(tensor), inside ? 2 : 1);
      return inside ? transpose(y, {0, 2, 1, 3}) : y;
    };
    const Value q = graph.input("q", f32({2, static_cast<int64_t>(places.size()), 4, 5})),
                k = repeated("k"), v = repeated("v");
    graph.output("y", matmul(softmax(matmul(q, k, false, true)), v));
    return ops_after(find_attention, graph);
  };
  for (const bool inside : {false, true}) {
    const OpNames found(inside ? "transpose transpose attention" : "attention");
    EXPECT_EQ(names(inside, {0, 0, 1, 1, 2, 2}), found);
    EXPECT_EQ(names(inside, {0, 0, 1, -2, -1, 2}), found) << "counted from the end";
    EXPECT_EQ(names(inside, {0, 1, 2}), found) << "each head once";
    for (const auto& other : {std::vector<int64_t>{0, 1, 2, 0, 1, 2},
                              {0, 0, 1, 1, 2, 1},
                              {0, 0, 1, 1},
                              {0, 0, 1, 1, 2}})
      EXPECT_EQ(names(inside, other).count("gather"), 2u) << joined(other);
  }
}

// As newer exporters write it, for rows that see no key.
TEST(FindAttention, WeightsThatAreNoNumbersMayBeMadeZero) {
  Layer layer;
  const Value mask = layer.graph.input("mask", boolean({2, 1, 4, 6}));
  const Value weights =
      softmax(layer.dots() + where(mask, layer.number(0), layer.number(-kInfinity)));
  layer.graph.output("y", matmul(where(is_nan(weights), layer.number(0), weights), layer.v));
  EXPECT_EQ(ops_after(find_attention, layer.graph), OpNames("where attention"));
  Layer other;
  const Value some = softmax(other.dots());
  other.graph.output("y", matmul(where(is_nan(some), other.number(1), some), other.v));
  EXPECT_EQ(ops_after(find_attention, other.graph).count("attention"), 0u);
}

// As gpt-oss is written: the sinks of its heads are a last column of scores.
TEST(FindAttention, ALastColumnThatGivesNothingIsASink) {
  const auto source = [](const char* sink_shape, int64_t first, int64_t end) {
    return text(R"(%0 = input @"q" : f32[b, 2, s, 4]
%1 = input @"k" : f32[b, 2, t, 4]
%2 = input @"v" : f32[b, 2, t, 4]
%3 = input @"bias" : f32[b, 1, s, t]
%4 = input @"sinks" : f32[)",
                sink_shape, R"(]
%5 = expand %4 shape=dims[b, 2, s, 1] : f32[b, 2, s, 1]
%6 = matmul %0, %1 transpose_a=false transpose_b=true : f32[b, 2, s, t]
%7 = constant value=f32[]{0.5} : f32[]
%8 = mul %6, %7 : f32[b, 2, s, t]
%9 = add %8, %3 : f32[b, 2, s, t]
%10 = concat %9, %5 axis=-1 : f32[b, 2, s, 1 + t]
%11 = reduce_max %10 axes=[-1] keep=true : f32[b, 2, s, 1]
%12 = sub %10, %11 : f32[b, 2, s, 1 + t]
%13 = softmax %12 axis=-1 : f32[b, 2, s, 1 + t]
%14 = slice %13 axes=[-1] ends=[)",
                end, R"(] starts=[)", first, R"(] steps=[1] : f32[b, 2, s, t]
%15 = matmul %14, %2 transpose_a=false transpose_b=false : f32[b, 2, s, 4]
output "y" %15
)");
  };
  EXPECT_EQ(after_pass(find_attention, source("1, 2, 1, 1", 0, -1)),
            R"(%0 = input @"q" : f32[b, 2, s, 4]
%1 = input @"k" : f32[b, 2, t, 4]
%2 = input @"v" : f32[b, 2, t, 4]
%3 = input @"bias" : f32[b, 1, s, t]
%4 = input @"sinks" : f32[1, 2, 1, 1]
%5 = reshape %4 allowzero=false shape=dims[2] : f32[2]
%6 = attention %0, %1, %2, %3, _, %5 causal=false empty_row="nan" heads=1 kv_heads=0 layout="bhsd" scale=0.5 softcap=0.0 window=-1 : f32[b, 2, s, 4]
output "y" %6
)");
  const std::string rows = after_pass(find_attention, source("1, 2, s, 1", 0, -1)),
                    other =
                        after_pass(find_attention, source("1, 2, 1, 1", 1, 9223372036854775807));
  EXPECT_EQ(rows.find("attention"), std::string::npos) << "a number for each row is no sink";
  EXPECT_EQ(other.find("attention"), std::string::npos) << "the first key is cut off, not the sink";
}

TEST(FindAttention, AMaskMayBeMultiplied) {
  Layer layer;
  const Value seen = cast(layer.graph.input("mask", boolean({4, 6})), DType::f32);
  EXPECT_EQ(layer.found(layer.dots() * seen + (layer.number(1) - seen) * layer.number(-1e38)),
            OpNames("where attention"));
  Layer high;
  const Value some = cast(high.graph.input("mask", boolean({4, 6})), DType::f32);
  EXPECT_EQ(high.found(high.dots() * some + (high.number(1) - some) * high.number(-1e4))
                .count("attention"),
            0u);
}

TEST(FindAttention, ALowNumberHidesKeysWhereEachRowSeesOne) {
  const auto found = [](DType dtype, double low, int64_t k) {
    Layer layer({2, 3, 4, 5}, {2, 3, 4, 5}, dtype);
    const Value triangle = trilu(expand(layer.number(1), {4, 4}), false, k);
    const Value seen = greater(triangle, layer.number(0));
    return layer.found(where(seen, layer.dots(), layer.number(low))).count("attention");
  };
  EXPECT_EQ(found(DType::f16, -65504, 0), 1u);
  EXPECT_EQ(found(DType::f32, -1e4, 0), 1u);
  EXPECT_EQ(found(DType::f16, -65504, -1), 0u);
  EXPECT_EQ(found(DType::f32, -1e4, -1), 0u);
  EXPECT_EQ(found(DType::f32, -9e3, 0), 0u);
}

// As GPT-2 was exported at first.
TEST(FindAttention, ATriangleOfNumbersMayBeMultiplied) {
  for (const bool folded : {false, true})
    for (const int64_t k : {0, -1}) {
      Layer layer({2, 3, 4, 5}, {2, 3, 4, 5});
      Tensor triangle(DType::f32, {1, 1, 4, 4}), lows(DType::f32, {1, 1, 4, 4});
      for (int64_t i = 0; i < 16; ++i) {
        const bool seen = i % 4 <= i / 4 + k;
        triangle.set(i, seen ? 1 : 0);
        lows.set(i, seen ? 0 : -1e4);
      }
      const Value seen = layer.graph.constant(triangle);
      const Value masked = layer.dots() * seen;
      const Value scores = folded ? masked + layer.graph.constant(lows)
                                  : masked - layer.number(1e4) * (layer.number(1) - seen);
      EXPECT_EQ(layer.found(scores).count("attention"), k == 0 ? 1u : 0u) << folded;
    }
}

TEST(FindAttention, WhatOnlyLooksLikeItStays) {
  Layer other_axis;
  other_axis.graph.output("y", matmul(softmax(other_axis.dots(), 2), other_axis.v));
  EXPECT_EQ(ops_after(find_attention, other_axis.graph),
            OpNames("transpose matmul softmax matmul"));
  Layer read_twice;
  const Value weights = softmax(read_twice.dots());
  read_twice.graph.output("weights", weights);
  read_twice.graph.output("y", matmul(weights, read_twice.v));
  EXPECT_EQ(ops_after(find_attention, read_twice.graph),
            OpNames("transpose matmul softmax matmul"));
  Layer broadcast({2, 3, 4, 5}, {1, 3, 6, 5});
  EXPECT_EQ(broadcast.found(broadcast.dots()), OpNames("transpose matmul softmax matmul"));
}

TEST(FindAttention, AnInfiniteNumberAmongTheTermsIsNotLeftOut) {
  Layer layer;
  const Value bias = layer.graph.input("bias", f32({6}));
  EXPECT_EQ(layer.found(layer.dots() + (layer.number(-kInfinity) + bias)),
            OpNames("add attention"));
}

TEST(FindAttention, ASymbolThatMayBe1ElsewhereStays) {
  Layer layer({"a", 3, 4, 5}, {"b", 3, 6, 5});  // a run may have b = 1
  EXPECT_EQ(layer.found(layer.dots()), OpNames("transpose matmul softmax matmul"));
}

}  // namespace
}  // namespace rlx
