// Extents that only the data tells: a device goes on with what the host found, run after run.

#include <gtest/gtest.h>

#include "rlx/conformance/runner.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/ops/ops.h"

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
