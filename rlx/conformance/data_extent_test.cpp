// Extents that only the data tells: a device goes on with what the host found, run after run.

#include <gtest/gtest.h>

#include "rlx/conformance/runner.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_loop.h"
#include "rlx/ops/ops_reduction.h"
#include "rlx/ops/ops_search.h"
#include "rlx/ops/ops_vision.h"

namespace rlx {
namespace {

Tensor row(std::initializer_list<double> values) {
  return Tensor::of(DType::f32, {static_cast<int64_t>(values.size())}, values);
}

std::vector<double> elements(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.count(); ++i) values.push_back(tensor.at(i));
  return values;
}

TEST(DataExtent, IsNewInEveryRun) {
  Graph graph;
  const Value x = graph.input("x", f32({"n"}));
  const Unique found = unique(x + x);
  graph.output("doubled", found.values + found.values);
  graph.output("highest", reduce_max(found.values));
  graph.output("again", gather(found.values, found.inverse));
  using Numbers = std::vector<double>;
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    const Program program = compile(graph, {.device = device});
    TensorMap run = program.run({{"x", row({3, 1, 3, 2})}});
    EXPECT_EQ(elements(run.at("doubled")), (Numbers{4, 8, 12}));
    EXPECT_EQ(elements(run.at("again")), (Numbers{6, 2, 6, 4}));
    run = program.run({{"x", row({5, 5, 5, 5})}});  // of the same extent, with fewer different ones
    EXPECT_EQ(elements(run.at("doubled")), Numbers{20});
    run = program.run({{"x", row({1, 2, 3, 4, 5, 6})}});
    EXPECT_EQ(elements(run.at("doubled")), (Numbers{4, 8, 12, 16, 20, 24}));
    EXPECT_EQ(elements(run.at("highest")), Numbers{12});
  }
}

// Passes drop nodes and merge equal ones; what attributes say of their extents comes along.
TEST(DataExtent, IsTheSameAfterNodesWent) {
  Graph graph;
  graph.constant(row({1}));
  const Value x = graph.input("x", f32({4})), count = graph.input("a count", i64({}));
  non_zero(x + x);
  const Value found = non_zero(x), again = non_zero(x);
  graph.output("found", reshape(found, Dims{found.shape()[1], 1}));
  graph.output("again", reshape(again, Dims{again.shape()[1], 1}));
  const Value counted = range(scalar(count, 0), count, scalar(count, 1));
  graph.output("zeros", expand(scalar(x, 0), counted.shape()));  // nothing else needs the range
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    const TensorMap run =
        compile(graph, {.device = device})
            .run({{"x", row({-1, 0, 0, 4})}, {"a count", Tensor::scalar(DType::i64, 5)}});
    EXPECT_EQ(run.at("found").shape(), (Shape{2, 1}));
    EXPECT_EQ(run.at("again").shape(), (Shape{2, 1}));
    EXPECT_EQ(run.at("zeros").shape(), Shape{5});
  }
}

// The product of a shape is the host's, but what has the shape is not computed there for it.
TEST(DataExtent, MayBePartOfShapeArithmetic) {
  Graph graph;
  const Value found = unique(graph.input("x", f32({"n"}))).values;
  graph.output("y", reshape(found, prod(shape_of(found), {}, true)));
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    const TensorMap run = compile(graph, {.device = device}).run({{"x", row({3, 1, 3, 2})}});
    EXPECT_EQ(elements(run.at("y")), (std::vector<double>{1, 2, 3}));
  }
}

// Only how many there are comes back: strict mode takes no tensor compute on the host.
TEST(DataExtent, IsFoundOnTheDevice) {
  Graph graph;
  const Value x = graph.input("x", f32({"n"})), boxes = graph.input("boxes", f32({1, "n", 4}));
  Tensor all(DType::i64, {1});
  all.set_integer(0, INT64_MAX);  // as exporters write it
  const Value kept = non_max_suppression(boxes, reshape(x, Dims{1, 1, -1}), graph.constant(all),
                                         graph.constant(row({0.5})));
  const Value found = non_zero(greater(x, scalar(x, 1)));
  const Unique values = unique(x);
  graph.output("kept", kept);
  graph.output("found", found);
  graph.output("values", values.values);
  graph.output("counts", values.counts);
  // Whether there is anything is asked of the shape.
  const Value size = prod(shape_of(found));
  graph.output("empty", where(equal(size, scalar(size, 0)), scalar(x, 1), scalar(x, 0)));
  Tensor corners(DType::f32, {1, 4, 4});
  for (int64_t i = 0; i < 16; ++i) corners.set(i, static_cast<double>(i / 8 * 10 + i % 4 / 2));
  using Numbers = std::vector<double>;
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    const Program program = compile(graph, {.device = device, .strict = true});
    const TensorMap run = program.run({{"x", row({3, 1, 3, 2})}, {"boxes", corners}});
    EXPECT_EQ(elements(run.at("kept")), (Numbers{0, 0, 0, 0, 0, 2}));
    EXPECT_EQ(elements(run.at("found")), (Numbers{0, 2, 3}));
    EXPECT_EQ(elements(run.at("values")), (Numbers{1, 2, 3}));
    EXPECT_EQ(elements(run.at("counts")), (Numbers{1, 1, 2}));
    EXPECT_EQ(run.at("empty").at(0), 0);
  }
}

TEST(DataExtent, OfALoopWithoutABoundIsTold) {
  Graph body, graph;
  body.input("iteration", i64({}));
  body.input("condition", boolean({}));
  const Value x = body.input("x", f32({}));
  body.output("goes_on", less(x, scalar(x, 10)));
  for (const char* name : {"next", "row"}) body.output(name, x + x);
  Tensor most(DType::i64, {});
  most.set_integer(0, INT64_MAX);
  const Values out = while_loop(graph.constant(most), graph.input("go", boolean({})),
                                {graph.input("x", f32({}))}, std::move(body));
  graph.output("last", out[0]);
  graph.output("rows", out[1] + out[1]);
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    const Program program = compile(graph, {.device = device});
    TensorMap inputs{{"x", Tensor::scalar(DType::f32, 3)},
                     {"go", Tensor::scalar(DType::boolean, 1)}};
    EXPECT_EQ(elements(program.run(inputs).at("rows")), (std::vector<double>{12, 24, 48}));
    inputs.at("x") = Tensor::scalar(DType::f32, 8);
    EXPECT_EQ(elements(program.run(inputs).at("rows")), (std::vector<double>{32, 64}));
    inputs.at("go") = Tensor::scalar(DType::boolean, 0);
    EXPECT_EQ(program.run(inputs).at("rows").shape(), Shape{0});
    EXPECT_EQ(program.run(inputs).at("last").at(0), 8);
  }
}

TEST(DataExtent, MayBeNothing) {
  Graph graph;
  const Value x = graph.input("x", f32({4}));
  const Value found = non_zero(greater(x, scalar(x, 0)));
  graph.output("sum", sum(gather(x, reshape(found, Dims{-1}))));
  graph.output("found", found);
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    const Program program = compile(graph, {.device = device});
    TensorMap run = program.run({{"x", row({-1, -2, -3, -4})}});
    EXPECT_EQ(run.at("found").shape(), (Shape{1, 0}));
    EXPECT_EQ(run.at("sum").at(0), 0);
    run = program.run({{"x", row({-1, 2, -3, 4})}});
    EXPECT_EQ(elements(run.at("found")), (std::vector<double>{1, 3}));
    EXPECT_EQ(run.at("sum").at(0), 6);
  }
}

}  // namespace
}  // namespace rlx
