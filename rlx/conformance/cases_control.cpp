// Rows for if_else and loop.

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops.h"

namespace rlx {
namespace {

GraphPtr shared(Graph graph) { return std::make_shared<const Graph>(std::move(graph)); }

// x -> f(x), for a body of one operand.
template <class F>
GraphPtr body_of(const TensorType& x, const F& f) {
  Graph graph;
  graph.output("y", f(graph.input("x", x)));
  return shared(std::move(graph));
}

Attrs tanh_or_double(const TensorType& x) {
  return {{"then", body_of(x, [](Value v) { return tanh(v); })},
          {"else", body_of(x, [](Value v) { return v + v; })}};
}

// Two operands in, their sum and their difference out.
GraphPtr two_results(const TensorType& x, bool swapped) {
  Graph graph;
  const Value a = graph.input("a", x), b = graph.input("b", x);
  graph.output("first", swapped ? a - b : a + b);
  graph.output("second", swapped ? a + b : a - b);
  return shared(std::move(graph));
}

// carried -> f(carried, iteration)
template <class F>
Attrs loop_of(const TensorType& x, const F& f) {
  Graph graph;
  const Value iteration = graph.input("iteration", i64({}));
  graph.output("next", f(graph.input("x", x), iteration));
  return {{"body", shared(std::move(graph))}};
}

CaseInput condition(bool value) { return given(Tensor::scalar(DType::boolean, value)); }
CaseInput times(int64_t n) { return given(Tensor::scalar(DType::i64, static_cast<double>(n))); }

}  // namespace

std::vector<OpCase> control_cases() {
  const TensorType x = f32({3, 65}), half = f16({5, 7}), symbolic = f32({"n", 3});
  const auto halve = [](Value v, Value) { return v * scalar(v, 0.5); };
  const auto add_iteration = [](Value v, Value i) { return v + cast(i, v.dtype()); };
  const Attrs two = {{"then", two_results(x, false)}, {"else", two_results(x, true)}};
  std::vector<OpCase> cases = {
      {"if_else", {condition(true), normal(x)}, tanh_or_double(x), "the first body", 1, 2},
      {"if_else", {condition(false), normal(x)}, tanh_or_double(x), "the second body", 1, 2},
      {"if_else", {condition(true), normal(half)}, tanh_or_double(half), "f16", 1, 2},
      {"if_else", {condition(false), normal(x), normal(x)}, two, "two operands, two results"},
      {"if_else", {condition(true), normal(f32({0}))}, tanh_or_double(f32({0})), "nothing to do"},
      {"loop", {times(5), normal(x)}, loop_of(x, halve), "five times"},
      {"loop", {times(0), normal(x)}, loop_of(x, halve), "not once"},
      {"loop", {times(1), normal(half)}, loop_of(half, halve), "once, f16"},
      {"loop", {times(4), normal(x)}, loop_of(x, add_iteration), "the iteration is a number", 4},
      {"loop", {times(3), normal(i32({7}))}, loop_of(i32({7}), add_iteration), "integers"},
      {"loop", {times(3), normal(symbolic)}, loop_of(symbolic, halve), "symbolic"},
  };
  cases.back().symbols = {{"n", 5}};
  return cases;
}

}  // namespace rlx
