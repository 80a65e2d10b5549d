// Kernels in quads give what kernels of single elements give, bit for bit.
#include "rlx/codegen/quads.h"

#include <gtest/gtest.h>

#include <cstring>

#include "rlx/compile/build_image.h"
#include "rlx/conformance/case_data.h"
#include "rlx/conformance/device_test.h"
#include "rlx/conformance/kernels.h"
#include "rlx/conformance/runner.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_fused.h"

namespace rlx {

std::vector<OpCase> quads_cases();

namespace {

class QuadsOn : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, QuadsOn, every_device(), device_name);

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.bytes().size() == b.bytes().size() &&
         (a.count() == 0 || std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0);
}

TEST_P(QuadsOn, GiveTheBitsOfSingleElements) {
  const OpSet ops = catalog();
  for (const OpCase& row : quads_cases()) {
    SCOPED_TRACE(describe(row));
    const CaseGraph built = case_graph(row, ops);
    const auto run = [&](int64_t variant) {
      return compile(built.graph,
                     {.device = device(), .choices = {{quads_variants().key, variant}}})
          .run(built.inputs);
    };
    const TensorMap one_by_one = run(0), in_quads = run(1);
    for (const auto& [name, tensor] : one_by_one)
      EXPECT_TRUE(same_bits(tensor, in_quads.at(name))) << name;
  }
}

// One image serves extents of both kinds, and what it needs for either is there from the first run.
TEST_P(QuadsOn, AnExtentThatNoLongerDividesCreatesNothing) {
  Graph graph;
  const Dim n = graph.symbol("n", 64);
  const Value x = graph.input("x", f32({n})), y = graph.input("y", f32({n}));
  graph.output("sum", cast(tanh(x) + y, DType::bf16));
  const Program program = compile(graph, {.device = device()});
  const auto run = [&](int64_t extent) {
    Tensor a(DType::f32, {extent}), b(DType::f32, {extent});
    for (int64_t i = 0; i < extent; ++i) a.set(i, 0), b.set(i, static_cast<double>(i));
    const Tensor sum = program.run({{"x", a}, {"y", b}}).at("sum");
    for (int64_t i = 0; i < extent; ++i) ASSERT_EQ(sum.at(i), i) << "of " << extent;
  };
  run(8);
  const Counters before = program.counters();
  for (const int64_t extent : {7, 64, 63, 62, 61, 4, 3, 2, 1, 0, 8}) run(extent);
  const Counters after = program.counters();
  EXPECT_EQ(after.pipelines, before.pipelines);
  EXPECT_EQ(after.plans, before.plans);
  EXPECT_EQ(after.buffers, before.buffers);
  EXPECT_EQ(after.bind_groups, before.bind_groups);
}

// How many kernels of each kind an image has.
struct Kinds {
  int quads = 0, single = 0;
  bool operator==(const Kinds&) const = default;
};
Kinds kinds_of(const Graph& graph) {
  Kinds kinds;
  const DeviceTraits traits = paper_devices()[0];
  for (const image::Kernel& kernel : detail::build_image(graph, traits, {}).kernels)
    ++(kernel.wgsl.find("fn store4_") == std::string::npos ? kinds.single : kinds.quads);
  return kinds;
}
Graph sum_of(const Dims& x, const Dims& y) {
  Graph graph;
  graph.output("y", graph.input("a", f32(x)) + graph.input("b", f32(y)));
  return graph;
}
void PrintTo(const Kinds& kinds, std::ostream* out) {
  *out << kinds.quads << " in quads, " << kinds.single << " of single elements";
}

TEST(QuadsKernels, AreMadeWhereExtentsMayDivide) {
  EXPECT_EQ(kinds_of(sum_of({3, 8}, {8})), (Kinds{1, 0}));
  EXPECT_EQ(kinds_of(sum_of({3, 8}, {3, 1})), (Kinds{1, 0}));
  EXPECT_EQ(kinds_of(sum_of({3, 7}, {7})), (Kinds{0, 1}));
  EXPECT_EQ(kinds_of(sum_of({4, 3}, {3})), (Kinds{0, 1}));
  EXPECT_EQ(kinds_of(sum_of({"n", 8}, {8})), (Kinds{1, 0}));
  EXPECT_EQ(kinds_of(sum_of({"n"}, {"n"})), (Kinds{1, 1}));
}

// A word holds several elements; whoever stores four of them needs no step that packs them.
TEST(QuadsKernels, StoreWholeWordsOfSeveralResults) {
  for (const int64_t length : {8, 7}) {
    Graph graph;
    const Value x = graph.input("x", f32({3, length}));
    Graph body;
    const Value inside = tanh(body.input("x", x.type()));
    body.output("bytes", cast(inside, DType::i8));
    body.output("halves", cast(abs(inside), DType::u16));
    const Values results = fused({x}, std::move(body));
    graph.output("bytes", results[0]);
    graph.output("halves", results[1]);
    EXPECT_EQ(kinds_of(graph), (length == 8 ? Kinds{1, 0} : Kinds{0, 1})) << length;
  }
}

// The kernel of the product stores floats; what is behind it, and words, are one kernel.
TEST(QuadsKernels, WhatIsBehindAnAnchorPacksItsWords) {
  for (const int64_t columns : {8, 7}) {
    Graph graph;
    const Value x = graph.input("x", {DType::bf16, {3, 5}}),
                w = graph.input("w", {DType::bf16, {5, columns}}),
                bias = graph.input("bias", {DType::bf16, {columns}});
    Graph body;
    const Value sum = matmul(body.input("x", x.type()), body.input("w", w.type())) +
                      body.input("bias", bias.type());
    body.output("sum", sum);
    body.output("y", relu(sum));
    const Values results = fused({x, w, bias}, std::move(body));
    graph.output("sum", results[0]);
    graph.output("y", results[1]);
    EXPECT_EQ(kinds_of(graph), (columns == 8 ? Kinds{1, 1} : Kinds{0, 2})) << columns;
  }
}

}  // namespace
}  // namespace rlx
