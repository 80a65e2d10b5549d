#include "rlx/ops/ops_norm.h"
#include "rlx/ops/ops_resize.h"
#include "rlx/ops/ops_sort.h"
#include "rlx/passes/testing.h"

namespace rlx {

const OpDef& conv_op();
const OpDef& if_else_op();
const OpDef& max_pool_op();
const OpDef& quantise_op();
const OpDef& dequantise_op();

namespace {

DeviceTraits gpu() { return gpu_target().traits; }

// The ops that are left, those in bodies in brackets: "fused(matmul add)".
std::string ops_of(const Graph& graph) {
  std::string ops;
  for (const Node& node : graph.nodes()) {
    if (is_source(node)) continue;
    ops += (ops.empty() ? "" : " ") + node.op->name;
    if (node.op->name == "fused") ops += "(" + ops_of(*node.attrs.get<GraphPtr>("body")) + ")";
  }
  return ops;
}
Graph fused(const Graph& graph, const DeviceTraits& traits = gpu(), NearMisses* misses = nullptr) {
  const PassTarget target{traits};
  return fuse.run(graph, {.misses = misses, .target = &target}).graph;
}
std::string fused_ops(const Graph& graph) {
  const Graph made = fused(graph);
  verify(made);
  const OpSet ops = catalog();
  EXPECT_EQ(print(parse(print(made), ops)), print(made));
  return ops_of(made);
}

const TensorType kMatrix{DType::f32, {8, 8}}, kRow{DType::f32, {8}};

TEST(Fuse, AGroupIsANodeWithABody) {
  EXPECT_EQ(after_pass(fuse, R"(%0 = input @"x" : f32[n, 8]
%1 = input @"w" : f32[8, 4]
%2 = input @"bias" : f32[4]
%3 = constant value=f32[]{2} : f32[]
%4 = matmul %0, %1 : f32[n, 4]
%5 = add %4, %2 : f32[n, 4]
%6 = mul %5, %3 : f32[n, 4]
output "y" %6
)"),
            R"(%0 = input @"x" : f32[n, 8]
%1 = input @"w" : f32[8, 4]
%2 = input @"bias" : f32[4]
%3 = fused %0, %1, %2 body={
  %0 = input @"x0" : f32[n, 8]
  %1 = input @"x1" : f32[8, 4]
  %2 = input @"x2" : f32[4]
  %3 = matmul %0, %1 transpose_a=false transpose_b=false : f32[n, 4]
  %4 = add %3, %2 : f32[n, 4]
  %5 = constant value=f32[]{2} : f32[]
  %6 = mul %4, %5 : f32[n, 4]
  output "y0" %6
} : f32[n, 4]
output "y" %3
)");
}

TEST(Fuse, BiasActivationAndResidualFinishAProduct) {
  Graph graph;
  const Value x = graph.input("x", kMatrix), w = graph.input("w", kMatrix);
  const Value bias = graph.input("bias", kRow);
  graph.output("y", gelu(matmul(x, w) + bias) + x);
  EXPECT_EQ(fused_ops(graph), "fused(matmul add gelu add)");
}

TEST(Fuse, WhatIsCheapIsComputedInTheLoadsOfAProduct) {
  const auto product_of = [](const Dims& shape, int64_t columns, Value (*compute)(Value)) {
    Graph graph;
    const Value x = graph.input("x", {DType::u8, shape});
    const Value w = graph.input("w", f32({shape.back(), columns}));
    graph.output("y", matmul(compute(cast(x, DType::f32)), w));
    return fused_ops(graph);
  };
  const auto as_it_is = [](Value x) { return x; };
  EXPECT_EQ(product_of({64, 64}, 64, as_it_is), "fused(cast matmul)");
  EXPECT_EQ(product_of({512, 512}, 512, as_it_is), "fused(cast matmul)");
  // An exponential, 64 times for each element.
  EXPECT_EQ(product_of({512, 512}, 4096, [](Value x) { return gelu(x); }),
            "fused(cast gelu) matmul");
}

TEST(Fuse, AnInnerValueThatIsAnOutputIsASecondResult) {
  Graph graph;
  const Value x = graph.input("x", kMatrix);
  const Value t = tanh(x);
  graph.output("t", t);
  graph.output("y", t * x);
  const Graph made = fused(graph);
  EXPECT_EQ(ops_of(made), "fused(tanh mul)");
  EXPECT_EQ(made.nodes().back().types.size(), 2u);
}

TEST(Fuse, AResidualMayBeInTheOrderBehindATranspose) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 8, 8})), w = graph.input("w", kMatrix);
  graph.output("y", transpose(matmul(x, w), {0, 2, 1}) + x);
  EXPECT_EQ(fused_ops(graph), "fused(matmul transpose add)");
}

TEST(Fuse, ATransposeMayHaveAxesOfOneElement) {
  Graph graph;
  const Value x = graph.input("x", f32({1, 8, 4})), w = graph.input("w", f32({4, 6}));
  const Value other = graph.input("other", f32({1, 6, 8}));
  graph.output("y", transpose(matmul(x, w), {0, 2, 1}) + other);
  EXPECT_EQ(fused_ops(graph), "fused(matmul transpose add)");
  Graph heads;
  const Value product = matmul(heads.input("x", f32({1, 3, 5, 4})), heads.input("w", f32({4, 6})));
  heads.output("y", reshape(transpose(product, {0, 2, 1, 3}), Dims{1, 5, 18}));
  EXPECT_EQ(fused_ops(heads), "fused(matmul transpose reshape)");
}

TEST(Fuse, WhatIsReadInBothOrdersIsComputedBefore) {
  Graph graph;
  const Value x = graph.input("x", kMatrix), w = graph.input("w", kMatrix);
  const Value t = tanh(matmul(x, w));
  graph.output("y", transpose(t, {1, 0}) + t);
  EXPECT_EQ(fused_ops(graph), "fused(matmul tanh) transpose add");
}

TEST(Fuse, ATransposeOfWhatIsReadElsewhereIsAView) {
  Graph graph;
  const Value x = graph.input("x", kMatrix), y = graph.input("y", kMatrix);
  graph.output("y", tanh(transpose(x, {1, 0}) + y));
  EXPECT_EQ(fused_ops(graph), "transpose fused(add tanh)");
}

TEST(Fuse, HalvesAreRoundedInRegisters) {
  Graph graph;
  const Value x = graph.input("x", f16({8, 8})), w = graph.input("w", f16({8, 8}));
  graph.output("y", tanh(matmul(x, w) * x));
  DeviceTraits traits = gpu();
  traits.f16 = true;
  EXPECT_EQ(ops_of(fused(graph, traits)), "fused(matmul mul tanh)");
}

TEST(Fuse, WhatIsBehindAnAnchorMayPackWords) {
  Graph halves;
  const Value x = halves.input("x", f16({8, 8})), w = halves.input("w", f16({8, 8}));
  halves.output("y", tanh(matmul(x, w) * x));
  EXPECT_EQ(fused_ops(halves), "fused(matmul mul tanh)");
  // Two kernels as well, and none of them stores what is not read again.
  Graph bytes;
  const Value y = relu(matmul(bytes.input("x", kMatrix), bytes.input("w", kMatrix)));
  bytes.output("y",
               y.apply(quantise_op(),
                       {y, bytes.input("scale", f32({})), bytes.input("zero", {DType::u8, {}})},
                       {{"to", DType::u8}}));
  EXPECT_EQ(fused_ops(bytes), "matmul fused(relu quantise)");
}

TEST(Fuse, AWayOutAndBackKeepsNodesApart) {
  Graph graph;
  const Value x = graph.input("x", kMatrix);
  const Value t = tanh(x);
  graph.output("y", sort(t).values + t);
  EXPECT_EQ(fused_ops(graph), "tanh fused(sort add)");
}

TEST(Fuse, AWayOutAndBackKeepsALoadApart) {
  Graph graph;
  const Value x = graph.input("x", kMatrix), y = graph.input("y", kMatrix);
  const Value t = x * y;
  const auto sorted = sort(t);
  graph.output("y", softmax(t) + sorted.values);
  graph.output("order", sorted.indices);
  EXPECT_EQ(fused_ops(graph), "mul sort fused(softmax add)");
}

TEST(Fuse, GroupsThatNeedEachOtherAreNotMade) {
  Graph graph;
  const Value x = graph.input("x", kMatrix), y = graph.input("y", kRow);
  const Value a = tanh(x), b = exp(y);
  const Value c = softmax(a), d = softmax(b);
  graph.output("p", a * c);
  graph.output("q", b + d);
  const Graph made = fused(graph);
  verify(made);
}

TEST(Fuse, AGroupIsLeftAsItIs) {
  Graph graph;
  const Value x = graph.input("x", kMatrix);
  graph.output("y", tanh(x) * x);
  const Graph once = fused(graph);
  EXPECT_EQ(print(fused(once)), print(once));
}

TEST(Fuse, WhatIsComputedOnceStaysOutside) {
  Graph graph;
  const Value x = graph.input("x", kMatrix), w = graph.weight("w", Tensor(DType::f32, {8, 8}));
  const Value scale = exp(w);
  graph.output("y", tanh(x) * scale);
  const std::string ops = ops_of(fused(graph));
  EXPECT_NE(ops.find("exp fused(tanh mul)"), std::string::npos) << ops;
}

TEST(Fuse, ALongChainIsSeveralGroups) {
  Graph graph;
  Value x = graph.input("x", kMatrix);
  for (int i = 0; i < 5000; ++i) x = tanh(x);
  graph.output("y", x);
  const Graph made = fused(graph);
  size_t largest = 0, nodes = 0;
  for (const Node& node : made.nodes()) {
    if (node.op->name != "fused") continue;
    const size_t size = node.attrs.get<GraphPtr>("body")->nodes().size();
    largest = std::max(largest, size);
    nodes += size - 1;  // but for the input
  }
  EXPECT_EQ(nodes, 5000u);
  EXPECT_LE(largest, 40u);
}

TEST(Fuse, AGroupMayReadWhatADeepGraphGives) {
  Graph graph;
  const Value x = graph.input("x", kMatrix), early = tanh(x);
  Value late = x;
  for (int i = 0; i < 50000; ++i) late = softmax(late);
  graph.output("y", sort(late).values + early);
  const Graph made = fused(graph);
  verify(made);
  EXPECT_EQ(made.nodes().back().op->name, "fused");
}

TEST(Fuse, OneOpAloneStaysAsItIs) {
  Graph graph;
  graph.output("y", tanh(graph.input("x", kMatrix)));
  EXPECT_EQ(fused_ops(graph), "tanh");
}

TEST(Fuse, NoMoreOperandsThanADeviceBinds) {
  Graph graph;
  Value sum = graph.input("x0", kMatrix);
  for (int i = 1; i < 20; ++i) sum = sum + graph.input(text("x", i), kMatrix);
  graph.output("y", sum);
  const Graph made = fused(graph);
  for (const Node& node : made.nodes())
    EXPECT_LE(static_cast<int64_t>(node.inputs.size()) + 1, gpu().max_storage_buffers);
  EXPECT_LE(ops_of(made).size(), ops_of(graph).size() + 40);
  EXPECT_NE(ops_of(made).find("fused"), std::string::npos);
}

TEST(Fuse, WhatSortsIsAnAnchorWhereNobodyReadsTheOrder) {
  Graph graph;
  const Value x = graph.input("x", kMatrix);
  graph.output("y", tanh(sort(x).values) * x);
  EXPECT_EQ(fused_ops(graph), "fused(sort tanh mul)");
}

TEST(Fuse, BodiesOfBranchesHaveGroupsToo) {
  Graph then, otherwise, graph;
  const Value a = then.input("x", kMatrix), b = otherwise.input("x", kMatrix);
  then.output("y", tanh(a) * a);
  otherwise.output("y", exp(b) + b);
  const Value x = graph.input("x", kMatrix), go = graph.input("go", {DType::boolean, {}});
  graph.output("y", x.apply(if_else_op(), {go, x},
                            {{"then", std::make_shared<const Graph>(std::move(then))},
                             {"else", std::make_shared<const Graph>(std::move(otherwise))}}));
  const Graph made = run_passes(graph, {.target = PassTarget{gpu()}});
  EXPECT_EQ(ops_of(*made.nodes().back().attrs.get<GraphPtr>("then")), "fused(tanh mul)");
  EXPECT_EQ(ops_of(*made.nodes().back().attrs.get<GraphPtr>("else")), "fused(exp add)");
}

TEST(Fuse, IntegersThatShapesAreMadeOfStayOutside) {
  Graph graph;
  const Value x = graph.input("x", {DType::f32, {Dim("n"), Dim(8)}});
  const Value shape = shape_of(x);
  graph.output("y", reshape(x, shape * shape_of(x) / shape));
  EXPECT_EQ(fused_ops(graph).find("fused"), std::string::npos);
}

TEST(Fuse, ALoadIsComputed) {
  Graph graph;
  const Value x = graph.input("x", kMatrix), y = graph.input("y", kRow);
  graph.output("y", sum(x * y, {-1}));
  EXPECT_EQ(fused_ops(graph), "fused(mul sum)");
}

TEST(Fuse, ARowHasOpsOnBothSides) {
  Graph graph;
  const Value x = graph.input("x", kMatrix), y = graph.input("y", kRow);
  graph.output("y", softmax(x * y + x) * y);
  EXPECT_EQ(fused_ops(graph), "fused(mul add softmax mul)");
}

TEST(Fuse, ASumThatIsReadElsewhereIsASecondResultOfItsNorm) {
  Graph graph;
  const Value x = graph.input("x", kMatrix), y = graph.input("y", kMatrix);
  const Value total = x + y, normal = rms_norm(total, graph.input("gamma", kRow));
  graph.output("y", sort(normal).values + total);
  const Graph made = fused(graph);
  EXPECT_EQ(ops_of(made), "fused(add rms_norm) fused(sort add)");
}

TEST(Fuse, WhatFinishesAProductIsNotTakenByTheNextKernel) {
  Graph graph;
  const Value x = graph.input("x", kMatrix), w = graph.input("w", kMatrix);
  graph.output("y", softmax(gelu(matmul(x, w))));
  EXPECT_EQ(fused_ops(graph), "fused(matmul gelu) softmax");
}

TEST(Fuse, WhatTwoKernelsReadIsComputedBefore) {
  Graph graph;
  const Value t = exp(graph.input("x", kMatrix));
  graph.output("a", sum(t, {-1}));
  graph.output("b", reduce_max(t, {-1}));
  EXPECT_EQ(fused_ops(graph), "exp sum reduce_max");
}

TEST(Fuse, AnOutputThatNoStoreHasIsComputedBefore) {
  Graph graph;
  const Value t = graph.input("x", kMatrix) * graph.input("y", kRow);
  graph.output("t", t);
  graph.output("y", sum(t, {-1}));
  EXPECT_EQ(fused_ops(graph), "mul sum");
}

TEST(Fuse, ViewsOfWhatIsComputedAreMapsOfTheLoad) {
  Graph graph;
  const Value x = graph.input("x", f32({3, 4, 5})), y = graph.input("y", f32({4, 1}));
  graph.output("y", sum(transpose(x * y, {1, 0, 2}), {-1}));
  EXPECT_EQ(fused_ops(graph), "fused(mul transpose sum)");
}

TEST(Fuse, AKernelThatDoesNotSayHowOftenItLoadsTakesNothing) {
  Graph graph;
  const Value x = tanh(graph.input("x", f32({1, 3, 8, 8})));
  graph.output("y", x.apply(conv_op(), {x, graph.input("w", f32({4, 3, 3, 3}))}));
  NearMisses asked;
  EXPECT_EQ(ops_of(fused(graph, gpu(), &asked)), "tanh conv");
  const std::vector<NearMiss> misses = asked.take();
  ASSERT_EQ(misses.size(), 1u);
  EXPECT_EQ(misses[0].op, "conv");
  EXPECT_NE(misses[0].reason.find("does not say how often"), std::string::npos);
}

TEST(Fuse, BytesBecomeNumbersInLoadsAndNumbersBytesInRegions) {
  Graph loads, region;
  const Value bytes = loads.input("x", {DType::u8, {8, 8}}), scale = loads.input("scale", f32({}));
  loads.output("y", softmax(bytes.apply(dequantise_op(), {bytes, scale})));
  EXPECT_EQ(fused_ops(loads), "fused(dequantise softmax)");
  const Value x = region.input("x", {DType::i32, {8, 8}}), of = region.input("of", f32({})),
              to = region.input("to", f32({}));
  const Value zero = region.input("zero", {DType::u8, {}});
  const Value y = relu(x.apply(dequantise_op(), {x, of}));
  region.output("y", y.apply(quantise_op(), {y, to, zero}, {{"to", DType::u8}}));
  EXPECT_EQ(fused_ops(region), "fused(dequantise relu quantise)");
}

TEST(Fuse, AnAnchorMayHaveResultsThatNobodyReads) {
  Graph graph, indexed;
  const auto pooled = [](Graph& made) {
    const Value x = made.input("x", f32({1, 2, 8, 8}));
    return x.apply(max_pool_op(), {x}, {{"window", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  };
  graph.output("y", relu(pooled(graph)));
  EXPECT_EQ(fused_ops(graph), "fused(max_pool relu)");
  const Value both = pooled(indexed);
  indexed.output("y", relu(both));
  indexed.output("at", both.of(1));
  EXPECT_EQ(fused_ops(indexed), "max_pool relu");
}

TEST(Fuse, WhatIsGatheredPaddedOrEnlargedIsFoundByTheKernelThatReadsIt) {
  Graph rows;
  const Value words = rows.input("words", f32({100, 8})), at = rows.input("at", {DType::i32, {8}});
  const Value places = rows.input("places", f32({9, 8}));
  rows.output("y", gather(words, at) + gather(places, at));
  EXPECT_EQ(fused_ops(rows), "fused(gather gather add)");
  Graph loads;
  const Value picture = loads.input("x", f32({1, 2, 4, 4}));
  loads.output("y", sum(resize(pad(picture, Dims{0, 0, 1, 1, 0, 0, 1, 1}), Dims{1, 2, 12, 12}) *
                            loads.input("scale", f32({2, 1, 1})),
                        {-1}));
  EXPECT_EQ(fused_ops(loads), "fused(pad resize mul sum)");
  // Words are stored whole, by one kernel.
  Graph packed;
  const Value halves = packed.input("x", {DType::bf16, {3, 4}});
  packed.output("y", relu(pad(halves, Dims{0, 1, 0, 1})));
  EXPECT_EQ(fused_ops(packed), "fused(pad relu)");
}

TEST(Fuse, WhatAMapReadsIsNotAMemberAtTheSameElement) {
  Graph graph;
  const Value x = tanh(graph.input("x", kMatrix)), at = graph.input("at", {DType::i32, {8}});
  graph.output("y", gather(x, at) * gather(x, at, 1) + relu(x));
  EXPECT_EQ(fused_ops(graph), "tanh fused(gather gather mul relu add)");
}

// As where dead-code is disabled.
TEST(Fuse, AnAnchorThatNobodyReadsTakesNothing) {
  Graph graph;
  const Value x = graph.input("x", kMatrix);
  softmax(x * x + x, -1);
  graph.output("y", relu(x));
  EXPECT_EQ(fused_ops(graph), "fused(mul add) softmax relu");
}

TEST(Fuse, HeavyWorkIsNotRepeated) {
  Graph graph;
  const Value x = graph.input("x", f32({1, 64, 64, 64}));
  graph.output("y", resize(gelu(x), Dims{1, 64, 512, 512}));
  DeviceTraits software = gpu();
  software.device_class = DeviceClass::software;
  NearMisses asked;
  EXPECT_EQ(ops_of(fused(graph, software, &asked)), "gelu resize");
  const std::vector<NearMiss> misses = asked.take();
  ASSERT_EQ(misses.size(), 1u);
  EXPECT_NE(misses[0].reason.find("computed 64 times"), std::string::npos) << misses[0].reason;
  EXPECT_NE(misses[0].reason.find("saves"), std::string::npos) << misses[0].reason;
  EXPECT_NE(misses[0].reason.find("repeats"), std::string::npos) << misses[0].reason;
}

TEST(Fuse, OnTheHostNoLoadIsComputed) {
  Graph graph;
  const Value x = graph.input("x", kMatrix), y = graph.input("y", kRow);
  graph.output("y", sum(x * y, {-1}));
  EXPECT_EQ(ops_of(fused(graph, {})), "mul sum");
}

}  // namespace
}  // namespace rlx
