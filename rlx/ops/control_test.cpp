#include <gtest/gtest.h>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/bodies.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_control.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_loop.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

Tensor list(std::initializer_list<double> values) {
  return Tensor::of(DType::f32, {static_cast<int64_t>(values.size())}, values);
}

void expect_values(const Tensor& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.count(), static_cast<int64_t>(wanted.size()));
  for (int64_t i = 0; i < got.count(); ++i) EXPECT_EQ(got.at(i), wanted[size_t(i)]) << "at " << i;
}

// state + row, and that sum as a row.
Graph adding_body() {
  Graph body;
  const Value state = body.input("state", f32({}));
  const Value next = state + body.input("row", f32({}));
  body.output("next", next);
  body.output("sum", next);
  return body;
}

TensorMap scanned(const ScanOptions& options) {
  Graph graph;
  const Values out =
      scan({graph.input("start", f32({}))}, {graph.input("x", f32({"n"}))}, adding_body(), options);
  graph.output("last", out[0]);
  graph.output("sums", out[1]);
  return evaluate(graph, {{"start", Tensor::scalar(DType::f32, 10)}, {"x", list({1, 2, 3})}})
      .outputs;
}

TEST(Scan, StatesGoOnAndRowsAreStacked) {
  const TensorMap out = scanned({});
  EXPECT_EQ(out.at("last").at(0), 16);
  expect_values(out.at("sums"), {11, 13, 16});
}

TEST(Scan, DirectionsTurnInputsAndOutputsRound) {
  ScanOptions backwards;
  backwards.input_directions = {1};
  expect_values(scanned(backwards).at("sums"), {13, 15, 16});
  backwards.output_directions = {1};
  expect_values(scanned(backwards).at("sums"), {16, 15, 13});
}

TEST(Scan, AxesMayBeAny) {
  Graph body, graph;
  const Value state = body.input("state", f32({2}));
  body.output("next", state);
  body.output("row", body.input("row", f32({2})) + state);
  ScanOptions options;
  options.input_axes = {1};
  options.output_axes = {-1};
  const Values out =
      scan({graph.input("start", f32({2}))}, {graph.input("x", f32({2, 3}))}, body, options);
  graph.output("y", out[1]);
  const Tensor x = Tensor::of(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor y = evaluate(graph, {{"start", list({10, 20})}, {"x", x}}).outputs.at("y");
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
  expect_values(y, {11, 12, 13, 24, 25, 26});
}

TEST(Loop, ReverseCountsDownAndStacksWhereItReads) {
  Graph body, graph;
  const Value iteration = body.input("iteration", i64({}));
  const Value sum = body.input("sum", f32({})), row = body.input("row", f32({}));
  body.output("sum", sum + row * cast(iteration, DType::f32));
  body.output("seen", sum);
  LoopOptions options;
  options.scanned = {graph.input("x", f32({3}))};
  options.reverse = true;
  const Values out =
      loop(graph.input("n", i64({})), {graph.input("start", f32({}))}, std::move(body), options);
  graph.output("last", out[0]);
  graph.output("seen", out[1]);
  const TensorMap outputs = evaluate(graph, {{"n", Tensor::scalar(DType::i64, 3)},
                                             {"start", Tensor::scalar(DType::f32, 0)},
                                             {"x", list({5, 7, 11})}})
                                .outputs;
  EXPECT_EQ(outputs.at("last").at(0), 29);
  expect_values(outputs.at("seen"), {29, 22, 0});
}

// Adds 3 to x until it is beyond 10.
Values past_ten(Value most, Value condition, Value start) {
  Graph body;
  body.input("iteration", i64({}));
  body.input("condition", boolean({}));
  const Value x = body.input("x", f32({}));
  const Value next = x + scalar(x, 3);
  body.output("condition", less(next, scalar(next, 10)));
  body.output("next", next);
  body.output("row", next);
  return while_loop(most, condition, {start}, std::move(body));
}

TEST(WhileLoop, EndsByItsConditionOrItsCount) {
  for (const int64_t most : {10, 2, 0}) {
    Graph graph;
    const Values out = past_ten(graph.input("most", i64({})), graph.input("go", boolean({})),
                                graph.input("x", f32({})));
    graph.output("x", out[0]);
    graph.output("rows", out[1]);
    const TensorMap outputs =
        evaluate(graph, {{"most", Tensor::scalar(DType::i64, static_cast<double>(most))},
                         {"go", Tensor::scalar(DType::boolean, 1)},
                         {"x", Tensor::scalar(DType::f32, 0)}})
            .outputs;
    const int64_t runs = std::min<int64_t>(most, 4);
    EXPECT_EQ(outputs.at("x").at(0), static_cast<double>(3 * runs));
    EXPECT_EQ(outputs.at("rows").shape(), (Shape{runs}));
  }
}

TEST(WhileLoop, StacksHaveAnExtentThatTheRunTells) {
  Graph graph;
  const Values out = past_ten(graph.input("most", i64({})), {}, graph.input("x", f32({})));
  ASSERT_TRUE(out[1].shape()[0].symbol());
  EXPECT_EQ(text(out[0].type()), "f32[]");
}

TEST(IfElse, ExtentsInWhichBodiesDifferGetASymbol) {
  const auto body = [](int64_t rows) {
    Graph graph;
    const Value x = graph.input("x", f32({"n", 3}));
    graph.output("y", rows < 0 ? x : slice(x, Ints{0}, Ints{rows}));
    return graph;
  };
  Graph graph;
  const Value y = if_else(graph.input("c", boolean({})), {graph.input("x", f32({"m", 3}))},
                          body(-1), body(2))[0];
  graph.output("y", y);
  EXPECT_TRUE(y.shape()[0].symbol());
  EXPECT_NE(y.shape()[0], Dim("m"));
  EXPECT_EQ(y.shape()[1], Dim(3));
  for (const bool then : {true, false}) {
    const Tensor got = evaluate(graph, {{"c", Tensor::scalar(DType::boolean, then)},
                                        {"x", Tensor(DType::f32, {5, 3})}})
                           .outputs.at("y");
    EXPECT_EQ(got.shape(), (Shape{then ? 5 : 2, 3}));
  }
}

TEST(IfElse, ResultsSpeakTheSymbolsOfTheOperands) {
  const auto body = [] {
    Graph graph;
    graph.output("y", neg(graph.input("x", f32({"n"}))));
    return graph;
  };
  Graph graph;
  const Value y =
      if_else(graph.input("c", boolean({})), {graph.input("x", f32({"m"}))}, body(), body())[0];
  EXPECT_EQ(text(y.type()), "f32[m]");
}

TEST(ControlFlow, ErrorsNameTheBodysPart) {
  const auto with_body = [](const TensorType& in, const TensorType& operand) {
    return error_of([&] {
      Graph body, graph;
      body.input("iteration", i64({}));
      body.output("next", sum(body.input("x", in), {0}));
      loop(graph.input("n", i64({})), {graph.input("x", operand)}, std::move(body));
    });
  };
  EXPECT_EQ(with_body(f32({3}), f32({3})),
            "loop: carried value 0 enters as f32[3] and leaves as f32[]");
  EXPECT_EQ(with_body(f32({3}), i32({3})),
            "loop: input 'x' of body 'body' is f32[3], the operand is i32[3]");
  EXPECT_EQ(error_of([] {
              Graph graph;
              const Value x = graph.input("x", f32({3}));
              scan({x}, {}, adding_body());
            }),
            "scan: nothing to scan");
  EXPECT_EQ(
      error_of([] {
        Graph a, b, graph;
        a.output("y", neg(a.input("x", f32({3}))));
        b.output("y", sum(b.input("x", f32({3}))));
        if_else(graph.input("c", boolean({})), {graph.input("x", f32({3}))}, std::move(a),
                std::move(b));
      }),
      "if_else: the bodies must have outputs of the same dtypes and ranks, got f32[3] and f32[]");
}

// Counts come from files: none may reach beyond the operands there are, whatever it adds up to.
TEST(ControlFlow, CountsBeyondTheOperandsAreRefused) {
  const auto with_counts = [](int64_t scanned, int64_t captured) {
    return error_of([&] {
      Graph body, graph;
      body.output("y", body.input("i", i64({})));
      const Attrs attrs{{"body", std::make_shared<const Graph>(std::move(body))},
                        {"scanned", scanned},
                        {"captured", captured}};
      graph.add(catalog().at("loop"), {graph.input("n", i64({})), graph.input("x", f32({3}))},
                attrs);
    });
  };
  EXPECT_EQ(with_counts(0, -1),
            "loop: there are 2 operands, 0 scanned and -1 captured ones among them");
  EXPECT_EQ(with_counts(-1, 1),
            "loop: there are 2 operands, -1 scanned and 1 captured ones among them");
  EXPECT_EQ(with_counts(1, 1),
            "loop: there are 2 operands, 1 scanned and 1 captured ones among them");
  EXPECT_EQ(with_counts(INT64_MAX, INT64_MAX),
            "loop: there are 2 operands, 9223372036854775807 scanned and 9223372036854775807 "
            "captured ones among them");
}

TEST(ControlFlow, AnAbsentOperandIsRefused) {
  Graph graph, body, conditional;
  body.input("i", i64({}));
  body.output("y", body.input("x", f32({3})));
  conditional.input("i", i64({}));
  conditional.output("again", conditional.input("go", boolean({})));
  conditional.output("y", conditional.input("x", f32({3})));
  const Value count = graph.input("n", i64({})), condition = graph.input("c", boolean({}));
  EXPECT_EQ(error_of([&] { loop(count, {Value{}}, std::move(body)); }),
            "loop: input 1 ('values') is missing");
  EXPECT_EQ(error_of([&] { while_loop(count, condition, {Value{}}, std::move(conditional)); }),
            "while_loop: input 2 ('values') is missing");
  const Value row = graph.input("row", f32({}));
  EXPECT_EQ(error_of([&] {
              if_else(condition, {Value{}, row}, adding_body(), adding_body());
            }),
            "if_else: input 1 ('inputs') is missing");
}

}  // namespace
}  // namespace rlx
