// An image that went through a file runs as the program that was compiled directly.

#include "rlx/image/image.h"

#include <gtest/gtest.h>

#include <cmath>

#include "rlx/conformance/device_test.h"
#include "rlx/image/file.h"
#include "rlx/import/test_folder.h"
#include "rlx/ir/graph.h"
#include "rlx/ir/text.h"
#include "rlx/lower/references.h"
#include "rlx/lower/site.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_core.h"
#include "rlx/runtime/image.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

Tensor floats(const Shape& shape, double first) {
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set(i, std::sin(first + static_cast<double>(i)));
  return tensor;
}

class ImagesInFiles : public DeviceTest {
 protected:
  // Through a file, whose name is gone when the program runs.
  Program reloaded(const Graph& graph, const OpSet& ops,
                   const image::WriteOptions& options = {}) const {
    const TestFolder folder;
    const std::string path = folder.path("image.rlxi");
    write_image(path, compile_image(graph, {.device = device()}), options);
    return prepare(device(), read_image(path), ops);
  }
  void expect_same(const Graph& graph, const OpSet& ops, const std::vector<TensorMap>& runs) const {
    const Program direct = compile(graph, {.device = device()}), read = reloaded(graph, ops);
    for (const TensorMap& inputs : runs) {
      const TensorMap expected = direct.run(inputs), outputs = read.run(inputs);
      ASSERT_EQ(outputs.size(), expected.size());
      for (const auto& [name, tensor] : expected)
        EXPECT_TRUE(same_bytes(outputs.at(name), tensor)) << name;
    }
    for (const Description& state : direct.states())
      EXPECT_TRUE(same_bytes(read.read_state(state.name), direct.read_state(state.name)));
    EXPECT_EQ(to_text(read.image()), to_text(direct.image()));
  }
};
INSTANTIATE_TEST_SUITE_P(EveryDevice, ImagesInFiles, every_device(), device_name);

Graph layer() {
  Graph graph;
  const Dim batch = graph.symbol("batch", 64, 1);
  const Value x = graph.input("x", f32({batch, 24})), x2 = graph.input("x2", f32({batch, 16}));
  const Value scale = graph.weight("scale", floats({24, 1}, 1));
  const Value w = graph.weight("w", floats({24, 16}, 2)), b = graph.weight("b", floats({16}, 3));
  graph.output("y", gelu(matmul(x, scale * w) + b) + x2);
  return graph;
}
TensorMap layer_inputs(int64_t rows) {
  return {{"x", floats({rows, 24}, 4)}, {"x2", floats({rows, 16}, 5)}};
}

TEST_P(ImagesInFiles, ReadFromAFileGiveTheSameBytes) {
  expect_same(layer(), catalog(), {layer_inputs(3), layer_inputs(64), layer_inputs(1)});
}

TEST_P(ImagesInFiles, HaveControlFlowAndStates) {
  const Graph graph = parse(R"(rlx 1
%0 = input @"n" : i64[]
%1 = input @"x" : f32[4]
%2 = input @"c" : bool[]
%3 = loop %0, %1 body={
  %0 = input @"i" : i64[]
  %1 = input @"v" : f32[4]
  %2 = non_zero %1 @"nz" : i64[1, s0]
  %3 = cast %2 to=f32 @"c" : f32[1, s0]
  %4 = sum %3 axes=[0, 1] keep=false @"r" : f32[]
  %5 = sub %1, %4 @"sub" : f32[4]
  %6 = relu %5 @"relu" : f32[4]
  output "o" %6
} captured=0 reverse=false scanned=0 @"loop" : f32[4]
%4 = if_else %2, %3 else={
  %0 = input @"v" : f32[4]
  output "o" %0
} then={
  %0 = input @"v" : f32[4]
  %1 = neg %0 : f32[4]
  output "o" %1
} @"if" : f32[4]
%5 = state @"s" : f32[4]
%6 = add %5, %4 @"next" : f32[4]
update %5 <- %6
output "y" %6
)",
                            catalog());
  const auto inputs = [](double times, bool condition) {
    return TensorMap{{"n", Tensor::scalar(DType::i64, times)},
                     {"x", Tensor::of(DType::f32, {4}, {1, 2, 7, 13})},
                     {"c", Tensor::scalar(DType::boolean, condition)}};
  };
  expect_same(graph, catalog(), {inputs(2, false), inputs(0, true), inputs(3, true)});
}

// As in examples/own_op.cpp.
OpRef squash() {
  OpDef op;
  op.name = "mine.squash";
  op.inputs = {1, 1, {"x"}};
  op.attrs = {{"slope"}};
  op.infer = [](const InferSite& site) { return Types{site.in(0)}; };
  op.reference = [](const ReferenceSite& site) {
    const double slope = site.attrs.get<double>("slope");
    for (int64_t i = 0; i < site.in(0).count(); ++i) {
      const double x = site.in(0).at(i);
      site.out().set(i, x / (1 + std::fabs(x * slope)));
    }
  };
  op.lower = [](const LowerSite& site) -> Steps {
    const Dim size = count(site.in(0).shape);
    return Dispatch{
        .kernel = {"mine.squash", {"squash.wgsl", R"(
@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.size) { return; }
  let x = load_x(i);
  store_y(i, x / (1 + abs(x * params.slope)));
}
)"}},
        .operands = {site.read("x", 0), site.write("y")},
        .params = {{"size", size}, {"slope", site.attrs().get<double>("slope")}},
        .workgroups = ceil_div(size, 64),
    };
  };
  return std::make_shared<const OpDef>(std::move(op));
}

TEST_P(ImagesInFiles, HaveAUsersOwnOpFromItsOpSet) {
  Graph graph;
  const Value x = graph.input("x", f32({"rows", 3}));
  graph.output("y", relu(graph.add(squash(), {transpose(x, {1, 0})}, {{"slope", 0.5}})));
  OpSet ops = catalog();
  ops.add(squash());
  expect_same(graph, ops, {{{"x", floats({5, 3}, 0)}}, {{"x", floats({2, 3}, 1)}}});
  if (!device().is_cpu()) return;  // its kernel is in the image; only calls need the op
  const std::string missing = error_of([&] { reloaded(graph, catalog()); });
  EXPECT_EQ(missing.substr(0, missing.find('\n')), "there is no implementation of 'mine.squash'");
}

TEST_P(ImagesInFiles, WithoutAWeightTakeItLater) {
  const Program direct = compile(layer(), {.device = device()});
  Program read = reloaded(layer(), catalog(), {.without = {"w"}});
  const std::string missing = error_of([&] { read.run(layer_inputs(2)); });
  EXPECT_NE(missing.find("weight 'w'"), std::string::npos) << missing;
  read.set_weight("w", floats({24, 16}, 2));
  EXPECT_TRUE(same_bytes(read.run(layer_inputs(2)).at("y"), direct.run(layer_inputs(2)).at("y")));
}

}  // namespace
}  // namespace rlx
