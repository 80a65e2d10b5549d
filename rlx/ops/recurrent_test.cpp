#include <gtest/gtest.h>

#include <cmath>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_recurrent.h"

namespace rlx {
namespace {

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

Tensor filled(Shape shape, std::initializer_list<double> values) {
  return Tensor::of(DType::f32, std::move(shape), values);
}

using Net = Values (*)(Value, Value, Value, const RecurrentOptions&);

// The results of a net whose operands are constants of one graph.
std::vector<Tensor> run(Net net, const Tensor& x, const Tensor& w, const Tensor& r,
                        const std::function<void(Graph&, RecurrentOptions&)>& set = {}) {
  Graph graph;
  RecurrentOptions options;
  if (set) set(graph, options);
  const Values out = net(graph.constant(x), graph.constant(w), graph.constant(r), options);
  for (size_t i = 0; i < out.size(); ++i) graph.output(text(i), out[i]);
  const TensorMap outputs = evaluate(graph, {}).outputs;
  std::vector<Tensor> results;
  for (size_t i = 0; i < out.size(); ++i) results.push_back(outputs.at(text(i)));
  return results;
}

void expect_near(const Tensor& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.count(), static_cast<int64_t>(wanted.size()));
  for (int64_t i = 0; i < got.count(); ++i)
    EXPECT_NEAR(got.at(i), wanted[size_t(i)], 1e-6) << "at " << i;
}

const Tensor kX = filled({3, 1, 1}, {1, 2, 3});

TEST(Rnn, StatesFollowEachOther) {
  const auto out = run(rnn, kX, filled({1, 1, 1}, {0.5}), filled({1, 1, 1}, {2}));
  const double a = std::tanh(0.5), b = std::tanh(1 + 2 * a), c = std::tanh(1.5 + 2 * b);
  expect_near(out[0], {a, b, c});
  expect_near(out[1], {c});
  EXPECT_EQ(out[0].shape(), (Shape{3, 1, 1, 1}));
}

TEST(Rnn, ReverseStartsAtTheEnd) {
  const auto out = run(rnn, kX, filled({1, 1, 1}, {0.5}), filled({1, 1, 1}, {2}),
                       [](Graph&, RecurrentOptions& options) { options.direction = "reverse"; });
  const double c = std::tanh(1.5), b = std::tanh(1 + 2 * c), a = std::tanh(0.5 + 2 * b);
  expect_near(out[0], {a, b, c});
  expect_near(out[1], {a});
}

TEST(Rnn, AShorterSequenceKeepsItsLastState) {
  const Tensor x = filled({2, 2, 1}, {1, 1, 2, 2});
  const auto out =
      run(rnn, x, filled({1, 1, 1}, {1}), filled({1, 1, 1}, {0}),
          [](Graph& graph, RecurrentOptions& options) {
            options.sequence_lens = graph.constant(Tensor::of(DType::i32, {2}, {1, 2}));
          });
  expect_near(out[0], {std::tanh(1.0), std::tanh(1.0), 0, std::tanh(2.0)});
  expect_near(out[1], {std::tanh(1.0), std::tanh(2.0)});
}

TEST(Rnn, ReverseBeginsWhereASequenceEnds) {
  const Tensor x = filled({3, 1, 1}, {1, 2, 100});
  const auto out = run(rnn, x, filled({1, 1, 1}, {1}), filled({1, 1, 1}, {1}),
                       [](Graph& graph, RecurrentOptions& options) {
                         options.direction = "reverse";
                         options.activations = {"Affine"};
                         options.sequence_lens = graph.constant(Tensor::of(DType::i32, {1}, {2}));
                       });
  expect_near(out[0], {3, 2, 0});
  expect_near(out[1], {3});
}

TEST(Rnn, ClipBoundsWhatAnActivationSees) {
  const auto out = run(rnn, kX, filled({1, 1, 1}, {1}), filled({1, 1, 1}, {0}),
                       [](Graph&, RecurrentOptions& options) {
                         options.activations = {"Affine"};
                         options.activation_alpha = {2};
                         options.activation_beta = {0.5};
                         options.clip = 1.5;
                       });
  expect_near(out[0], {2.5, 3.5, 3.5});
}

// Gates i, o, f, c from one input of 1 with weights 1, 2, 3, 4, and a cell of 0.5.
TEST(Lstm, GatesAreInOnnxOrder) {
  const Tensor x = filled({1, 1, 1}, {1}), w = filled({1, 4, 1}, {1, 2, 3, 4}),
               r = filled({1, 4, 1}, {0, 0, 0, 0});
  const auto with_cell = [](Graph& graph, RecurrentOptions& options) {
    options.initial_h = graph.constant(filled({1, 1, 1}, {0}));
    options.initial_c = graph.constant(filled({1, 1, 1}, {0.5}));
  };
  const auto out = run(lstm, x, w, r, with_cell);
  const double c = sigmoid_of(3) * 0.5 + sigmoid_of(1) * std::tanh(4.0);
  expect_near(out[2], {c});
  expect_near(out[1], {sigmoid_of(2) * std::tanh(c)});

  const auto coupled = run(lstm, x, w, r, [&](Graph& graph, RecurrentOptions& options) {
    with_cell(graph, options);
    options.input_forget = true;
  });
  expect_near(coupled[2], {(1 - sigmoid_of(1)) * 0.5 + sigmoid_of(1) * std::tanh(4.0)});
}

TEST(Lstm, PeepholesSeeTheCellBeforeAndAfter) {
  const Tensor x = filled({1, 1, 1}, {0}), w = filled({1, 4, 1}, {0, 0, 0, 0});
  const auto out = run(lstm, x, w, w, [](Graph& graph, RecurrentOptions& options) {
    options.initial_c = graph.constant(filled({1, 1, 1}, {2}));
    options.peepholes = graph.constant(filled({1, 3}, {1, 3, 0.5}));
  });
  const double c = sigmoid_of(1) * 2;
  expect_near(out[2], {c});
  expect_near(out[1], {sigmoid_of(3 * c) * std::tanh(c)});
}

TEST(Gru, TheResetGateScalesTheStateOrTheSum) {
  const Tensor x = filled({1, 1, 1}, {0}), w = filled({1, 3, 1}, {0, 0, 0}),
               r = filled({1, 3, 1}, {0, 1, 2});
  for (const bool linear : {false, true}) {
    const auto out = run(gru, x, w, r, [&](Graph& graph, RecurrentOptions& options) {
      options.initial_h = graph.constant(filled({1, 1, 1}, {0.5}));
      options.bias = graph.constant(filled({1, 6}, {0, 0, 0, 0, 0, 3}));
      options.linear_before_reset = linear;
    });
    const double reset = sigmoid_of(0.5);
    const double sum = linear ? reset * (2 * 0.5 + 3) : 2 * (reset * 0.5) + 3;
    expect_near(out[1], {0.5 * std::tanh(sum) + 0.5 * 0.5});
  }
}

TEST(Recurrent, BatchesMayComeFirst) {
  const Tensor x = filled({2, 3, 1}, {1, 2, 3, 4, 5, 6}), w = filled({1, 1, 1}, {1});
  const auto out = run(rnn, x, w, filled({1, 1, 1}, {0}), [](Graph&, RecurrentOptions& options) {
    options.layout = 1;
    options.activations = {"Affine"};
  });
  EXPECT_EQ(out[0].shape(), (Shape{2, 3, 1, 1}));
  expect_near(out[0], {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(out[1].shape(), (Shape{2, 1, 1}));
  expect_near(out[1], {3, 6});
}

TEST(Recurrent, ExtentsMayBeSymbols) {
  Graph graph;
  const Values out = lstm(graph.input("x", f32({"s", "b", 3})), graph.input("w", f32({2, 16, 3})),
                          graph.input("r", f32({2, 16, 4})), {.direction = "bidirectional"});
  EXPECT_EQ(text(out[0].type()), "f32[s, 2, b, 4]");
  EXPECT_EQ(text(out[2].type()), "f32[2, b, 4]");
}

std::string error_of(const TensorType& x, const TensorType& w, const RecurrentOptions& options) {
  Graph graph;
  try {
    rnn(graph.input("x", x), graph.input("w", w), graph.input("r", f32({1, 2, 2})), options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Recurrent, ErrorsNameOperandsAndOptions) {
  const TensorType x = f32({3, 1, 4}), w = f32({1, 2, 4});
  EXPECT_EQ(error_of(x, f32({1, 2, 5}), {}), "rnn: w f32[1, 2, 5] does not fit [1, 2, 4]: 5 and 4");
  EXPECT_EQ(error_of(f32({3, 4}), w, {}), "rnn: x is f32[3, 4], it needs floats of rank 3");
  EXPECT_EQ(error_of(x, w, {.direction = "up"}),
            "rnn: direction 'up' is none of forward, reverse, bidirectional");
  EXPECT_EQ(error_of(x, w, {.layout = 2}), "rnn: layout 2 is neither 0 nor 1");
  EXPECT_EQ(error_of(x, w, {.activations = {"Sine"}}), "rnn: there is no activation 'Sine'");
  EXPECT_EQ(error_of(x, w, {.activations = {"Tanh", "Tanh"}}),
            "rnn: there are 2 activations, it takes 1 for each direction");
}

}  // namespace
}  // namespace rlx
