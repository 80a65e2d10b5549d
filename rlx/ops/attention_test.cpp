#include <gtest/gtest.h>

#include <cmath>

#include "rlx/autodiff/gradient.h"
#include "rlx/compile/lower_graph.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_attention.h"
#include "rlx/ops/ops_core.h"

namespace rlx {

using namespace detail;
namespace {

// Keys that are all alike, so that a query's result is the mean of the values it sees.
Tensor mean_of_seen(int64_t queries, int64_t keys, const AttentionOptions& options,
                    const Tensor* bias = nullptr) {
  Graph graph;
  Tensor q(DType::f32, {1, 1, queries, 2}), k(DType::f32, {1, 1, keys, 2});
  Tensor v(DType::f32, {1, 1, keys, 1});
  for (int64_t i = 0; i < keys; ++i) v.set(i, static_cast<double>(1 << i));
  TensorMap inputs = {{"q", q}, {"k", k}, {"v", v}};
  if (bias) inputs.emplace("bias", *bias);
  graph.output("y", attention(graph.input("q", q.type()), graph.input("k", k.type()),
                              graph.input("v", v.type()),
                              bias ? graph.input("bias", bias->type()) : Value{}, options));
  return evaluate(graph, inputs).outputs.at("y");
}

// One query, two keys with scores s and 0 before anything is done to them; the weight of the first.
double weight_of_first(double score, const AttentionOptions& options) {
  Graph graph;
  const Tensor q = Tensor::of(DType::f32, {1, 1, 1, 1}, {score});
  const Tensor k = Tensor::of(DType::f32, {1, 1, 2, 1}, {1, 0});
  graph.output("y", attention(graph.input("q", q.type()), graph.input("k", k.type()),
                              graph.input("v", k.type()), {}, options));
  return evaluate(graph, {{"q", q}, {"k", k}, {"v", k}}).outputs.at("y").at(0);
}

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

// One query, keys of score 0 and values 1, 2, 4 .., and a sink of the given score.
Tensor beside_sink(double sink, int64_t keys, const AttentionOptions& options = {}) {
  Graph graph;
  const Tensor q(DType::f32, {1, 1, 1, 2}), k(DType::f32, {1, 1, keys, 2});
  Tensor v(DType::f32, {1, 1, keys, 1});
  for (int64_t i = 0; i < keys; ++i) v.set(i, static_cast<double>(1 << i));
  graph.output("y", attention(graph.constant(q), graph.constant(k), graph.constant(v), {}, options,
                              {}, graph.constant(Tensor::of(DType::f32, {1}, {sink}))));
  return evaluate(graph, {}).outputs.at("y");
}

std::string error_of(const TensorType& q, const TensorType& k, const TensorType& v,
                     const AttentionOptions& options = {},
                     const std::optional<TensorType>& sink = {}) {
  Graph graph;
  try {
    attention(graph.input("q", q), graph.input("k", k), graph.input("v", v), {}, options, {},
              sink ? graph.input("sink", *sink) : Value{});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Attention, EqualScoresGiveTheMean) { EXPECT_EQ(mean_of_seen(1, 2, {}).at(0), 1.5); }

TEST(Attention, CausalQueriesSeeUpToTheirPosition) {
  const Tensor y = mean_of_seen(2, 2, {.causal = true});
  EXPECT_EQ(y.at(0), 1);
  EXPECT_EQ(y.at(1), 1.5);
}

TEST(Attention, WithACacheQueriesAreTheLastPositions) {
  const Tensor y = mean_of_seen(2, 4, {.causal = true});
  EXPECT_FLOAT_EQ(static_cast<float>(y.at(0)), 7.0f / 3);
  EXPECT_EQ(y.at(1), 15.0 / 4);
}

TEST(Attention, ARowThatSeesNothingIsZeroOrNaN) {
  EXPECT_EQ(mean_of_seen(3, 2, {.causal = true}).at(0), 0);
  EXPECT_TRUE(std::isnan(mean_of_seen(3, 2, {.causal = true, .empty_row = "nan"}).at(0)));
  const Tensor none = Tensor::of(DType::f32, {2}, {-INFINITY, -INFINITY});
  EXPECT_EQ(mean_of_seen(1, 2, {}, &none).at(0), 0);
}

TEST(Attention, ABoolMaskKeepsWhatIsTrue) {
  const Tensor mask = Tensor::of(DType::boolean, {1, 3}, {1, 0, 1});
  EXPECT_EQ(mean_of_seen(1, 3, {}, &mask).at(0), 2.5);
}

TEST(Attention, AWindowLooksBackFromTheQuerysPosition) {
  const Tensor y = mean_of_seen(2, 4, {.window = 1});
  EXPECT_EQ(y.at(0), 3);  // keys 1 and 2
  EXPECT_EQ(y.at(1), 6);  // keys 2 and 3
  EXPECT_EQ(mean_of_seen(2, 4, {.window = 0}).at(1), 8);
  EXPECT_EQ(mean_of_seen(1, 4, {.window = 100}).at(0), 15.0 / 4);
}

TEST(Attention, AMaskBesideABiasHidesWhateverTheBiasIs) {
  Graph graph;
  const Tensor q(DType::f32, {1, 1, 1, 2}), k(DType::f32, {1, 1, 3, 2});
  const Tensor v = Tensor::of(DType::f32, {1, 1, 3, 1}, {1, 2, 4});
  const Tensor bias = Tensor::of(DType::f32, {3}, {0, INFINITY, std::log(3.0)}),
               mask = Tensor::of(DType::boolean, {3}, {1, 0, 1});
  graph.output("y", attention(graph.constant(q), graph.constant(k), graph.constant(v),
                              graph.constant(bias), {}, graph.constant(mask)));
  EXPECT_NEAR(evaluate(graph, {}).outputs.at("y").at(0), 13.0 / 4, 1e-6);
}

TEST(Attention, ABiasIsAddedToTheScores) {
  const Tensor bias = Tensor::of(DType::f32, {2}, {std::log(3.0), 0});
  EXPECT_FLOAT_EQ(static_cast<float>(mean_of_seen(1, 2, {}, &bias).at(0)), 1.25f);
}

TEST(Attention, ASinkTakesItsShareAndGivesNothing) {
  EXPECT_NEAR(beside_sink(0, 2).at(0), 1.0, 1e-6);  // 3 / 3
  EXPECT_NEAR(beside_sink(std::log(4.0), 3, {.scale = 9, .softcap = 0.1}).at(0), 1.0, 1e-6);
  EXPECT_EQ(beside_sink(-INFINITY, 2).at(0), 1.5);
  EXPECT_EQ(beside_sink(2, 0, {.empty_row = "nan"}).at(0), 0);
}

// Of one key of score 0 and value 1, beside a sink: y = sigmoid(-sink), as often as there are
// queries.
TEST(Attention, TheGradientOfASinkIsAddedUpOverItsHead) {
  Graph graph;
  const Value sink = graph.input("sink", f32({2}));
  const Value q = graph.constant(Tensor(DType::f32, {3, 2, 5, 1}));
  const Value k = graph.constant(Tensor(DType::f32, {3, 2, 1, 1}));
  Tensor ones(DType::f32, {3, 2, 1, 1});
  for (int64_t i = 0; i < ones.count(); ++i) ones.set(i, 1);
  const Value y = attention(q, k, graph.constant(ones), {}, {}, {}, sink);
  graph.output("dsink", gradient(sum(y), {sink})[0]);
  const Tensor at = Tensor::of(DType::f32, {2}, {0.5, -1});
  const Tensor dsink = evaluate(graph, {{"sink", at}}).outputs.at("dsink");
  for (int64_t head = 0; head < 2; ++head) {
    const double p = sigmoid_of(-at.at(head));
    EXPECT_NEAR(dsink.at(head), -15 * p * (1 - p), 1e-5);
  }
}

TEST(Attention, ScaleComesBeforeSoftcap) {
  EXPECT_NEAR(weight_of_first(2, {}), sigmoid_of(2), 1e-6);
  EXPECT_NEAR(weight_of_first(2, {.scale = 0.5}), sigmoid_of(1), 1e-6);
  EXPECT_NEAR(weight_of_first(100, {.scale = 0.5, .softcap = 3}), sigmoid_of(3), 1e-6);
}

TEST(Attention, GroupedHeadsShareKeysInOrder) {
  Graph graph;
  const Tensor q(DType::f32, {1, 4, 1, 1}), k(DType::f32, {1, 2, 1, 1});
  const Tensor v = Tensor::of(DType::f32, {1, 2, 1, 1}, {5, 7});
  graph.output("y", attention(graph.input("q", q.type()), graph.input("k", k.type()),
                              graph.input("v", v.type())));
  const Tensor y = evaluate(graph, {{"q", q}, {"k", k}, {"v", v}}).outputs.at("y");
  const double wanted[] = {5, 5, 7, 7};
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.at(i), wanted[i]);
}

TEST(Attention, TransposedHeadsAreReadInPlace) {
  Graph graph;
  const auto heads = [&](const char* name) {
    return transpose(reshape(graph.input(name, f32({2, "s", 24})), Dims{2, "s", 3, 8}),
                     {0, 2, 1, 3});
  };
  graph.output("y", attention(heads("q"), heads("k"), heads("v")));
  for (const DeviceClass device_class : {DeviceClass::software, DeviceClass::discrete}) {
    DeviceTraits traits;
    traits.device_class = device_class;
    EXPECT_EQ(lower_graph(graph, traits).steps.list.size(), 1u);
  }
}

TEST(Attention, HeadsSideBySideAreTheSameAsTransposedOnes) {
  Graph graph;
  const Value q = graph.input("q", f32({1, 3, 4})), k = graph.input("k", f32({1, 5, 4}));
  const auto heads = [](Value x) {
    return transpose(reshape(x, Dims{1, x.shape()[1], 2, 2}), {0, 2, 1, 3});
  };
  graph.output("packed", attention(q, k, k, {}, {.heads = 2}));
  const Value apart = attention(heads(q), heads(k), heads(k));
  graph.output("apart", reshape(transpose(apart, {0, 2, 1, 3}), Dims{1, 3, 4}));
  Tensor a(DType::f32, {1, 3, 4}), b(DType::f32, {1, 5, 4});
  for (int64_t i = 0; i < a.count(); ++i) a.set(i, std::sin(static_cast<double>(i)));
  for (int64_t i = 0; i < b.count(); ++i) b.set(i, std::cos(static_cast<double>(i)));
  const TensorMap outputs = evaluate(graph, {{"q", a}, {"k", b}}).outputs;
  EXPECT_TRUE(same_bytes(outputs.at("packed"), outputs.at("apart")));
}

TEST(Attention, PackedQkvIsReadInPlace) {
  Graph graph;
  graph.output("y", packed_attention(graph.input("qkv", f32({2, "s", 3, 4, 8}))));
  DeviceTraits traits;
  traits.device_class = DeviceClass::discrete;
  EXPECT_EQ(lower_graph(graph, traits).steps.list.size(), 1u);
  EXPECT_EQ(text(graph.outputs()[0].value.type()), "f32[2, s, 4, 8]");
}

TEST(Attention, DecodingSplitsTheKeysOfALargeDevice) {
  Graph graph;
  const Value k = graph.input("k", f32({1, 2, "past", 8}));
  graph.output("y", attention(graph.input("q", f32({1, 2, 1, 8})), k, k, {}, {.causal = true}));
  DeviceTraits traits;
  traits.device_class = DeviceClass::discrete;
  EXPECT_EQ(lower_graph(graph, traits).steps.list.size(), 2u);
  traits.device_class = DeviceClass::software;
  EXPECT_EQ(lower_graph(graph, traits).steps.list.size(), 1u);
}

TEST(Attention, PositionsBeforeHeadsAreTheSameAsTransposedOnes) {
  Graph graph;
  const Value q = graph.input("q", f32({1, 3, 2, 4})), k = graph.input("k", f32({1, 5, 2, 4}));
  graph.output("inside", attention(q, k, k, {}, {.layout = "bshd", .causal = true}));
  const auto heads = [](Value x) { return transpose(x, {0, 2, 1, 3}); };
  graph.output("apart", heads(attention(heads(q), heads(k), heads(k), {}, {.causal = true})));
  Tensor a(DType::f32, {1, 3, 2, 4}), b(DType::f32, {1, 5, 2, 4});
  for (int64_t i = 0; i < a.count(); ++i) a.set(i, std::sin(static_cast<double>(i)));
  for (int64_t i = 0; i < b.count(); ++i) b.set(i, std::cos(static_cast<double>(i)));
  const TensorMap outputs = evaluate(graph, {{"q", a}, {"k", b}}).outputs;
  EXPECT_TRUE(same_bytes(outputs.at("inside"), outputs.at("apart")));
}

TEST(CausalMask, QueriesAreTheLastPositions) {
  Graph graph;
  graph.output("y", causal_mask(graph.constant(Tensor(DType::f32, {2, 4})), 1));
  const Tensor y = evaluate(graph, {}).outputs.at("y");
  const double wanted[] = {0, 1, 1, 0, 0, 0, 1, 1};
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(y.at(i), wanted[i]) << i;
}

TEST(Attention, TheGradientHasNoMatrixOfAllScores) {
  for (const bool causal : {false, true}) {
    Graph graph;
    constexpr int64_t kLength = 512;
    const Value q = graph.input("q", f32({1, 2, kLength, 4})),
                k = graph.input("k", f32({1, 2, kLength, 4})),
                v = graph.input("v", f32({1, 2, kLength, 4}));
    const Value y = attention(q, k, v, {}, {.causal = causal});
    gradient(sum(y), {q, k, v});
    for (const Node& node : graph.data()->nodes)
      for (const TensorType& type : node.types)
        EXPECT_LE(count(type.shape).number(), int64_t{256} * kLength)
            << node.op->name << ' ' << type;
  }
}

TEST(Attention, AWindowBeyondAllKeysHidesNone) {
  const Tensor all = mean_of_seen(4, 2, {.causal = true}),
               y = mean_of_seen(4, 2, {.window = INT64_MAX});
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.at(i), all.at(i)) << i;
}

TEST(Attention, ErrorsNameTheOperands) {
  EXPECT_EQ(error_of(f32({1, 2, 3, 4}), f32({1, 2, 3, 5}), f32({1, 2, 3, 4})),
            "attention: the head sizes of q f32[1, 2, 3, 4] and k f32[1, 2, 3, 5] differ: 4 and 5");
  EXPECT_EQ(error_of(f32({1, 3, 3, 4}), f32({1, 2, 3, 4}), f32({1, 2, 3, 4})),
            "attention: 3 heads of q are no multiple of 2 heads of k and v");
  EXPECT_EQ(error_of(f32({1, 3, 5}), f32({1, 3, 5}), f32({1, 3, 5}), {.heads = 2}),
            "attention: f32[1, 3, 5] cannot be parted into 2 heads");
  EXPECT_EQ(error_of(f32({1, 1, 1, 1}), f32({1, 1, 1, 1}), f32({1, 1, 1, 1}), {.empty_row = "no"}),
            "attention: empty_row 'no' is neither zero nor nan");
  const TensorType one = f32({1, 1, 1, 1});
  EXPECT_EQ(error_of(one, one, one, {.layout = "bdsh"}),
            "attention: layout 'bdsh' is neither bhsd nor bshd");
  EXPECT_EQ(error_of(one, one, one, {.window = -2}), "attention: window -2 is negative");
  const TensorType four = f32({1, 4, 2, 8}), two = f32({1, 2, 2, 8});
  EXPECT_EQ(error_of(four, two, two, {}, f32({2})),
            "attention: sink f32[2] is not one number for each head of q: 2 and 4");
  EXPECT_EQ(error_of(four, two, two, {}, TensorType{DType::i32, {4}}),
            "attention: sink is i32[4], it needs floats [H], one for each of 4 heads of q");
  EXPECT_EQ(error_of(four, two, two, {}, f32({4, 1})),
            "attention: sink is f32[4, 1], it needs floats [H], one for each of 4 heads of q");
}

}  // namespace
}  // namespace rlx
