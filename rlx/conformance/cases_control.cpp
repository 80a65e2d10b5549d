// Rows for if_else, loop, while_loop and scan.

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_control.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_loop.h"

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

// A row built from the operands' types, so that its gradient can be checked in f64.
OpCase composed(const char* name, std::vector<CaseInput> inputs, std::string why, int64_t terms,
                std::function<Values(const Values&)> compose) {
  OpCase row{name, std::move(inputs), {}, std::move(why), terms};
  row.compose = std::move(compose);
  return row;
}

// Rows of x are added to a state, one after the other; the sums are stacked.
Values running_sum(const Values& in, const ScanOptions& options) {
  Graph body;
  const Dims& shape = in[0].shape();
  const Value state = body.input("state", {in[0].dtype(), shape});
  const Value row = body.input("row", {in[0].dtype(), shape});
  const Value next = state * scalar(state, 0.5) + tanh(row);
  body.output("next", next);
  body.output("sum", next + state);
  return scan({in[0]}, {in[1]}, body, options);
}

// h = tanh(h . w + x_t) with w from outside.
Values recurrent(const Values& in) {
  Graph body;
  const Value state = body.input("state", in[0].type());
  const Value row = body.input("row", {in[1].dtype(), in[0].shape()});
  const Value w = body.input("w", in[2].type());
  const Value next = tanh(matmul(state, w) + row);
  body.output("next", next);
  body.output("y", next);
  ScanOptions options;
  options.captured = {in[2]};
  return scan({in[0]}, {in[1]}, body, options);
}

// Bags of rows of a table, as EmbeddingBag is exported: each iteration takes the mean of those from
// one offset to the next, and nothing is carried.
Values bags(const Values& in) {
  Graph body;
  const Value iteration = body.input("iteration", i64({}));
  const Value table = body.input("table", in[0].type()), ids = body.input("ids", in[1].type());
  const Value offsets = body.input("offsets", in[2].type());
  const auto offset = [&](Value at) { return unsqueeze(gather(offsets, at), {0}); };
  const Value bag = slice(ids, offset(iteration), offset(iteration + scalar(iteration, 1)), {0});
  body.output("mean", mean(gather(table, bag), {0}));
  return loop(shape_of(in[2], 0, 1) - scalar(in[2], 1), {}, std::move(body), {.captured = in});
}

std::vector<OpCase> scan_cases() {
  const auto sum_with = [](const ScanOptions& options) {
    return [options](const Values& in) { return running_sum(in, options); };
  };
  ScanOptions second_axis, backwards;
  second_axis.input_axes = second_axis.output_axes = {1};
  backwards.input_directions = backwards.output_directions = {1};
  std::vector<OpCase> cases = {
      composed("scan", {normal(f32({3})), normal(f32({4, 3}))}, "rows", 8, sum_with({})),
      composed("scan", {normal(f32({3})), normal(f32({3, 5}))}, "along axis 1", 8,
               sum_with(second_axis)),
      composed("scan", {normal(f32({65})), normal(f32({7, 65}))}, "backwards", 8,
               sum_with(backwards)),
      composed("scan", {normal(f16({3})), normal(f16({5, 3}))}, "f16", 8, sum_with({})),
      composed("scan", {normal(f32({3})), normal(f32({0, 3}))}, "no rows", 8, sum_with({})),
      composed("scan", {normal(f32({2, 3})), normal(f32({4, 2, 3})), normal(f32({3, 3}))},
               "a weight from outside", 16, recurrent),
      composed("scan", {normal(f32({"n"})), normal(f32({"t", "n"}))}, "symbolic", 8, sum_with({})),
  };
  cases.back().symbols = {{"n", 5}, {"t", 3}};
  cases.push_back(composed("loop", {normal(f32({7, 3})), list({1, 5, 0, 2, 2}), list({0, 3, 4, 5})},
                           "nothing carried: bags of a table", 3, bags));
  return cases;
}

// Doubles x and counts until the sum of squares is beyond `limit`; x is stacked.
Values until_large(const Values& in, double limit, bool stacks) {
  Graph body;
  body.input("iteration", i64({}));
  body.input("condition", boolean({}));
  const Value x = body.input("x", in[2].type());
  const Value next = x + x;
  body.output("condition", less(sum(next * next), scalar(next, limit)));
  body.output("next", next);
  if (stacks) body.output("row", next);
  return while_loop(in[0], in[1], {in[2]}, std::move(body));
}

// A count only: the condition is handed on.
Values counted(const Values& in) {
  Graph body;
  const Value iteration = body.input("iteration", i64({}));
  const Value condition = body.input("condition", boolean({}));
  const Value x = body.input("x", in[1].type()), step = body.input("step", in[2].type());
  const Value next = x + step * cast(iteration, x.dtype());
  body.output("condition", condition);
  body.output("next", next);
  body.output("row", step - x);
  return while_loop(in[0], {}, {in[1]}, std::move(body), {in[2]});
}

std::vector<OpCase> while_cases() {
  const auto run = [](double limit, bool stacks) {
    return [limit, stacks](const Values& in) { return until_large(in, limit, stacks); };
  };
  const auto no_most = [](const Values& in) {
    return until_large({Value{}, in[0], in[1]}, 1e6, false);
  };
  const TensorType x = f32({3, 65});
  std::vector<OpCase> cases = {
      composed("while_loop", {times(9), condition(true), normal(x)}, "the data ends it", 1,
               run(1e4, true)),
      composed("while_loop", {times(2), condition(true), normal(x)}, "the count ends it", 1,
               run(1e9, true)),
      composed("while_loop", {times(5), condition(false), normal(x)}, "not once", 1,
               run(1e4, true)),
      composed("while_loop", {times(0), condition(true), normal(x)}, "a count of 0", 1,
               run(1e4, false)),
      composed("while_loop", {times(3), normal(f32({0, 3})), normal(f32({0, 3}))}, "nothing in it",
               4, counted),
      composed("while_loop", {times(3), normal(f32({31, 65})), normal(f32({31, 65}))},
               "many elements", 4, counted),
      composed("while_loop", {condition(true), normal(x)}, "without a count", 1, no_most),
      composed("while_loop", {times(4), normal(f16({5, 7})), normal(f16({5, 7}))},
               "a count only, f16, stacked", 4, counted),
      composed("while_loop", {times(4), normal(f32({"n", 3})), normal(f32({"n", 3}))},
               "a count only, symbolic", 4, counted),
  };
  cases.back().symbols = {{"n", 5}};
  return cases;
}

// Bodies whose results differ in their extents.
Values first_rows_or_all(const Values& in) {
  const auto body = [&](bool all) {
    Graph graph;
    const Value x = graph.input("x", in[1].type());
    graph.output("y", all ? tanh(x) : slice(x, Ints{0}, Ints{2}) * scalar(x, 3));
    return graph;
  };
  return if_else(in[0], {in[1]}, body(true), body(false));
}

Values product_or_sum(const Values& in) {
  const auto body = [&](bool product) {
    Graph graph;
    const Value a = graph.input("a", in[1].type()), b = graph.input("b", in[2].type());
    graph.output("y", product ? a * b : a + a);
    graph.output("z", product ? a - b : sigmoid(b));
    return graph;
  };
  return if_else(in[0], {in[1], in[2]}, body(true), body(false));
}

std::vector<OpCase> branch_cases() {
  const TensorType x = f32({5, 7}), symbolic = f32({"n", 7});
  std::vector<OpCase> cases;
  for (const bool value : {true, false}) {
    cases.push_back(
        composed("if_else", {condition(value), normal(x)}, "extents differ", 4, first_rows_or_all));
    cases.back().gradient = false;
    cases.push_back(composed("if_else", {condition(value), normal(x), normal(x)},
                             "gradients of two results", 4, product_or_sum));
    cases.push_back(composed("if_else", {condition(value), normal(symbolic)},
                             "symbolic extents differ", 4, first_rows_or_all));
    cases.back().symbols = {{"n", 3}};
    cases.back().gradient = false;
  }
  return cases;
}

}  // namespace

std::vector<OpCase> control_cases() {
  const TensorType x = f32({3, 65}), half = f16({5, 7}), symbolic = f32({"n", 3});
  const TensorType none = f32({0, 3}), many = f32({31, 65});
  const auto halve = [](Value v, Value) { return v * scalar(v, 0.5); };
  const auto add_iteration = [](Value v, Value i) { return v + cast(i, v.dtype()); };
  const Attrs two = {{"then", two_results(x, false)}, {"else", two_results(x, true)}};
  std::vector<OpCase> cases = {
      {"if_else", {condition(true), normal(x)}, tanh_or_double(x), "the first body", 1, 2},
      {"if_else", {condition(false), normal(x)}, tanh_or_double(x), "the second body", 1, 2},
      {"if_else", {condition(true), normal(half)}, tanh_or_double(half), "f16", 1, 2},
      {"if_else", {condition(false), normal(x), normal(x)}, two, "two operands, two results"},
      {"if_else", {condition(true), normal(none)}, tanh_or_double(none), "nothing to do"},
      {"if_else", {condition(true), normal(many)}, tanh_or_double(many), "many elements", 1, 2},
      {"loop", {times(5), normal(x)}, loop_of(x, halve), "five times"},
      {"loop", {times(0), normal(x)}, loop_of(x, halve), "not once"},
      {"loop", {times(1), normal(half)}, loop_of(half, halve), "once, f16"},
      {"loop", {times(4), normal(x)}, loop_of(x, add_iteration), "the iteration is a number", 4},
      {"loop", {times(3), normal(i32({7}))}, loop_of(i32({7}), add_iteration), "integers"},
      {"loop", {times(2), normal(none)}, loop_of(none, halve), "nothing to do"},
      {"loop", {times(3), normal(many)}, loop_of(many, halve), "many elements"},
      {"loop", {times(3), normal(symbolic)}, loop_of(symbolic, halve), "symbolic"},
  };
  cases.back().symbols = {{"n", 5}};
  for (OpCase& row : cases) row.gradient = false;  // the bodies are f32, differences are of f64
  for (const auto rows : {branch_cases, scan_cases, while_cases})
    for (OpCase& row : rows()) cases.push_back(std::move(row));
  return cases;
}

}  // namespace rlx
