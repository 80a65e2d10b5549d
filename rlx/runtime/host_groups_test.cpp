// Groups on the CPU: a call goes on with what follows it, and channels stay innermost from one
// convolution to the next.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "rlx/op.h"
#include "rlx/ops/ops_activation.h"
#include "rlx/ops/ops_convolution.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_integer.h"
#include "rlx/ops/ops_pool.h"
#include "rlx/runtime/image.h"
#include "rlx/runtime/internals.h"
#include "rlx/runtime/program.h"

namespace rlx {
namespace {

Tensor waves(const Shape& shape, double step) {
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set(i, std::sin(step * static_cast<double>(i + 1)));
  return tensor;
}

// The calls and copies of a run, by name.
std::string steps_of(const Graph& graph) {
  const Image image = compile_image(graph);
  std::string names;
  for (const image::Step& step : image.data().run) {
    std::string name = "copy";
    if (const auto* call = std::get_if<image::Call>(&step.what)) {
      const std::string rest = image::description(call->tile);
      name = call->op + (rest.empty() ? "" : "(" + rest + ")");
    } else if (!std::holds_alternative<image::Copy>(step.what)) {
      continue;
    }
    names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

// With all passes and without any.
void expect_agreement(const Graph& graph, const TensorMap& inputs) {
  const TensorMap fused = compile(graph).run(inputs),
                  plain = compile(graph, {.optimise = false}).run(inputs);
  for (const auto& [name, expected] : plain) {
    const Tensor& got = fused.at(name);
    ASSERT_EQ(got.shape(), expected.shape());
    for (int64_t i = 0; i < got.count(); ++i)
      ASSERT_NEAR(got.at(i), expected.at(i), 1e-5 * (1 + std::fabs(expected.at(i)))) << name << i;
  }
}

ConvOptions padded(int64_t groups = 1, Ints strides = {}) {
  return {.strides = std::move(strides), .pads = {1, 1, 1, 1}, .groups = groups};
}

TEST(HostGroups, AProductGoesOnWithBiasActivationAndResidual) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 33})), w = graph.weight("w", waves({33, 70}, 0.3));
  const Value b = graph.weight("b", waves({70}, 0.7)), r = graph.input("r", f32({"n", 70}));
  graph.output("y", gelu(matmul(x, w) + b) + r);
  EXPECT_EQ(steps_of(graph), "matmul(add + gelu + add)");
  for (const int64_t n : {1, 5, 130})
    expect_agreement(graph, {{"x", waves({n, 33}, 0.11)}, {"r", waves({n, 70}, 0.13)}});
}

// Sums that begin with a bias would be no result of their own.
TEST(HostGroups, AProductThatIsAResultItselfIsThatOfItsOperands) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 33})), w = graph.weight("w", waves({33, 70}, 0.3));
  const Value y = matmul(x, w);
  graph.output("y", y);
  graph.output("z", tanh(y + graph.weight("b", waves({70}, 0.7))));
  EXPECT_EQ(steps_of(graph), "matmul(add + tanh)");
  for (const int64_t n : {1, 130}) expect_agreement(graph, {{"x", waves({n, 33}, 0.11)}});
}

TEST(HostGroups, APartOfAnotherValueIsReadWhereItLies) {
  Graph graph;
  const Value x = graph.input("x", f32({5, 33})), w = graph.weight("w", waves({33, 70}, 0.3));
  const Value rest = slice(graph.input("r", f32({8, 73})), {2, 1}, {7, 71}, {0, 1});
  graph.output("y", tanh(matmul(x, w)) * rest);
  EXPECT_EQ(steps_of(graph), "matmul(tanh + mul)");
  expect_agreement(graph, {{"x", waves({5, 33}, 0.11)}, {"r", waves({8, 73}, 0.13)}});
}

TEST(HostGroups, WhatIsComparedAndChosenStaysInRegisters) {
  Graph graph;
  const Value x = graph.input("x", f32({1, 3, 9, 7})),
              w = graph.weight("w", waves({5, 3, 3, 3}, 0.3));
  const Value slope = graph.weight("slope", waves({5, 1, 1}, 0.7));
  graph.output("y", prelu(conv(x, w, {}, padded()), slope));
  EXPECT_EQ(steps_of(graph), "conv(gt + mul + where), copy");
  expect_agreement(graph, {{"x", waves({1, 3, 9, 7}, 0.11)}});
}

TEST(HostGroups, BoolsOfMemoryAreNumbersInATile) {
  Graph graph;
  const Value x = graph.input("x", f32({5, 33})), seen = graph.input("seen", boolean({5, 1})),
              other = graph.input("other", boolean({5, 33}));
  const Value y = where(seen, tanh(x), scalar(x, -1)) * cast(other, DType::f32);
  graph.output("y", y);
  graph.output("is_low", less(y, scalar(y, 0)));
  EXPECT_EQ(steps_of(graph), "elements(tanh + where + cast + mul), lt");
  Tensor rows(DType::boolean, {5, 1}), all(DType::boolean, {5, 33});
  for (int64_t i = 0; i < 5; ++i) rows.set(i, static_cast<double>(i % 2));
  for (int64_t i = 0; i < all.count(); ++i) all.set(i, static_cast<double>(i % 3 != 0));
  expect_agreement(graph, {{"x", waves({5, 33}, 0.11)}, {"seen", rows}, {"other", all}});
}

// A residual is not the start of sums that an activation still bends.
TEST(HostGroups, AResidualIsAddedBehindAnActivation) {
  Graph graph;
  const Value x = graph.input("x", f32({1, 1})), w = graph.weight("w", waves({1, 1}, 0.25));
  graph.output("y", linear(x, w, {}, "tanh") + graph.input("z", f32({1, 1})));
  const Tensor y = compile(graph)
                       .run({{"x", Tensor::of(DType::f32, {1, 1}, {-0.5})},
                             {"z", Tensor::of(DType::f32, {1, 1}, {3})}})
                       .at("y");
  EXPECT_NEAR(y.at(0), std::tanh(-0.5 * std::sin(0.25)) + 3, 1e-5);
}

Tensor bytes(DType dtype, const Shape& shape, int64_t factor, int64_t low) {
  Tensor tensor(dtype, shape);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set_integer(i, i * factor % 101 + low);
  return tensor;
}

TEST(HostGroups, AProductOfBytesGoesOnWithItsSums) {
  for (const Shape& shape : {Shape{1, 30}, Shape{5, 30}, Shape{3, 67, 30}}) {
    Graph graph;
    const Value x = graph.input("x", TensorType{DType::u8, Dims(shape.begin(), shape.end())}),
                w = graph.weight("w", bytes(DType::i8, {30, 71}, 37, -50));
    const Value sums = matmul_integer(x, w, graph.input("zero", {DType::u8, {}}));
    const Value scaled = cast(sums, DType::f32) * graph.input("scale", f32({}));
    graph.output("y", gelu(scaled + graph.weight("b", waves({71}, 0.7))));
    EXPECT_EQ(steps_of(graph), "matmul_integer(cast + mul + add + gelu)");
    expect_agreement(graph, {{"x", bytes(DType::u8, shape, 29, 3)},
                             {"zero", Tensor::of(DType::u8, {}, {57})},
                             {"scale", Tensor::of(DType::f32, {}, {0.0003})}});
  }
}

// What a cast makes of a sum is an integer again: it wraps as the op alone does.
TEST(HostGroups, ACastAmongIntegersIsPartOfATile) {
  Graph graph;
  const Value x = graph.input("x", f32({3, 40}));
  graph.output("y", cast(cast(relu(x * x), DType::i32), DType::u8));
  EXPECT_EQ(steps_of(graph), "elements(mul + relu + cast + cast)");
  expect_agreement(graph, {{"x", waves({3, 40}, 900)}});
}

// Its reference reads tensors row after row: the copy is a step that the memory plan knows.
TEST(HostGroups, AViewOfDoublesIsCopiedBeforeItsProduct) {
  Graph graph;
  const Value x = graph.input("x", TensorType{DType::f64, {16, 32}});
  graph.output("y", matmul(slice(x, {8}, {24}, {1}), x));
  EXPECT_EQ(steps_of(graph), "copy, matmul");
  Tensor doubles(DType::f64, {16, 32});
  for (int64_t i = 0; i < doubles.count(); ++i) doubles.set(i, 0.25 * static_cast<double>(i % 7));
  expect_agreement(graph, {{"x", doubles}});
}

TEST(HostGroups, ABatchOfProductsFindsItsRows) {
  Graph graph;
  const Value a = graph.input("a", f32({3, 5, 17})), b = graph.input("b", f32({3, 17, 9}));
  const Value r = graph.input("r", f32({3, 1, 9})), s = graph.input("s", f32({3, 5, 9}));
  graph.output("y", relu((matmul(a, b) + r) * s));
  expect_agreement(graph, {{"a", waves({3, 5, 17}, 0.3)},
                           {"b", waves({3, 17, 9}, 0.2)},
                           {"r", waves({3, 1, 9}, 0.5)},
                           {"s", waves({3, 5, 9}, 0.9)}});
}

TEST(HostGroups, ChannelsStayInnermostFromConvolutionToConvolution) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 3, 15, 17}));
  const Value first = relu(conv(x, graph.weight("w0", waves({20, 3, 3, 3}, 0.3)),
                                graph.weight("b0", waves({20}, 0.4)), padded()));
  const Value deep =
      clip(conv(first, graph.weight("w1", waves({20, 1, 3, 3}, 0.7)), {}, padded(20)), 0, 6);
  const Value sum = conv(deep, graph.weight("w2", waves({20, 20, 1, 1}, 0.2))) + first;
  // A scale for each channel, as squeeze and excitation has it, and one for each column.
  const Value scaled =
      sum * graph.input("scale", f32({"n", 20, 1, 1})) + graph.input("row", f32({17}));
  graph.output("y", scaled);
  EXPECT_EQ(steps_of(graph), "conv(relu), conv(clip), conv(add + mul + add), copy");
  for (const int64_t n : {1, 2})
    expect_agreement(graph, {{"x", waves({n, 3, 15, 17}, 0.11)},
                             {"scale", waves({n, 20, 1, 1}, 0.3)},
                             {"row", waves({17}, 0.6)}});
}

TEST(HostGroups, WhoeverNeedsRowsGetsThem) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3, 9, 7}));
  const Value y = conv(x, graph.weight("w", waves({10, 3, 3, 3}, 0.3)), {}, padded(1, {2, 2}));
  graph.output("flat", matmul(reshape(y, Dims{2, -1}), graph.weight("v", waves({200, 5}, 0.7))));
  graph.output("turned", softmax(transpose(y, {0, 3, 1, 2})));
  graph.output("alone", tanh(y));
  graph.output("itself", y);
  expect_agreement(graph, {{"x", waves({2, 3, 9, 7}, 0.19)}});
}

TEST(HostGroups, SignalsAndSinglePlacesAreConvolvedToo) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 5, 40}));
  const Value wave = relu(conv(x, graph.weight("w", waves({12, 5, 5}, 0.3)), {}, {.pads = {2, 2}}));
  const Value point = graph.input("p", f32({2, 12, 1, 1}));
  graph.output("wave", conv(wave, graph.weight("v", waves({6, 12, 3}, 0.2))));
  graph.output("point", sigmoid(conv(point, graph.weight("u", waves({7, 12, 1, 1}, 0.2)))));
  expect_agreement(graph, {{"x", waves({2, 5, 40}, 0.23)}, {"p", waves({2, 12, 1, 1}, 0.4)}});
}

TEST(HostGroups, AnOpOfAUsersOwnRunsInATile) {
  auto halved = std::make_shared<OpDef>();
  halved->name = "halved";
  halved->inputs = {1, 1, {"x"}};
  halved->results = {1, 1, {"y"}};
  halved->infer = [](const InferSite& site) -> Types { return {site.in(0)}; };
  halved->reference = [](const ReferenceSite& site) {
    for (int64_t i = 0; i < site.out().count(); ++i) site.out().set(i, site.in(0).at(i) / 2);
  };
  halved->elementwise.emplace();
  halved->elementwise->floating = [](const double* x, const double*) { return x[0] / 2; };
  Graph graph;
  const Value x = graph.input("x", f32({3, 700}));
  graph.output("y", tanh(graph.add(OpRef(halved), {x * x})));
  EXPECT_EQ(steps_of(graph), "elements(mul + halved + tanh)");
  expect_agreement(graph, {{"x", waves({3, 700}, 0.3)}});
}

TEST(HostGroups, AnImageOfGroupsIsReadBackAsItWas) {
  Graph graph;
  const Value x = graph.input("x", f32({1, 3, 8, 8}));
  graph.output("y",
               leaky_relu(conv(x, graph.weight("w", waves({8, 3, 3, 3}, 0.3)), {}, padded()), 0.2));
  const Image image = compile_image(graph);
  const std::string path = testing::TempDir() + "rlx_host_groups.rlxi";
  write_image(path, image);
  EXPECT_EQ(read_image(path), image);
  EXPECT_NE(to_text(image).find("r1 = leaky_relu r0"), std::string::npos) << to_text(image);
}

Tensor rounded(const Tensor& x, DType dtype) {
  Tensor made(dtype, x.shape());
  for (int64_t i = 0; i < x.count(); ++i) made.set(i, x.at(i));
  return made;
}

TEST(HostGroups, HalvesAreGroupedAsFloatsAreAndRoundedInBetween) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    Graph graph;
    const Value x = graph.input("x", {dtype, {Dim("n"), Dim(33)}});
    const Value w = graph.weight("w", rounded(waves({33, 70}, 0.3), dtype));
    const Value b = graph.weight("b", rounded(waves({70}, 0.7), dtype));
    const Value r = graph.input("r", {dtype, {Dim(70), Dim("n")}});
    graph.output("y", (relu(matmul(x, w) + b) - transpose(r, {1, 0})) * scalar(x, 3));
    EXPECT_EQ(steps_of(graph), "matmul(add + relu + sub + mul)");
    for (const int64_t n : {1, 5, 130}) {
      const TensorMap inputs{{"x", rounded(waves({n, 33}, 0.11), dtype)},
                             {"r", rounded(waves({70, n}, 0.13), dtype)}};
      EXPECT_TRUE(same_bytes(compile(graph).run(inputs).at("y"),
                             compile(graph, {.optimise = false}).run(inputs).at("y")));
    }
  }
}

// As without groups: what does not fit the dtype is infinite, whatever is added to it.
TEST(HostGroups, ASumOfHalvesIsRoundedBeforeItsBiasIsAdded) {
  const auto run = [](DType dtype, double x, double bias) {
    Graph graph;
    const Value y = matmul(graph.input("x", {dtype, {Dim(1), Dim(1)}}),
                           graph.weight("w", Tensor::of(dtype, {1, 1}, {x})));
    graph.output("y", y + graph.input("b", {dtype, {Dim(1)}}));
    EXPECT_EQ(steps_of(graph), "matmul(add)");
    const TensorMap inputs{{"x", Tensor::of(dtype, {1, 1}, {x})},
                           {"b", Tensor::of(dtype, {1}, {bias})}};
    return compile(graph).run(inputs).at("y").at(0);
  };
  EXPECT_EQ(run(DType::f16, 300, -60000), INFINITY);
  EXPECT_EQ(run(DType::bf16, 17, -288), 0);  // 289 is not one of its numbers
}

TEST(HostGroups, ChannelsOfHalvesStayInnermost) {
  const auto half = [](const Shape& shape, double step) {
    return rounded(waves(shape, step), DType::f16);
  };
  Graph graph;
  const Value x = graph.input("x", f16({"n", 3, 15, 17}));
  const Value first = relu(conv(x, graph.weight("w0", half({20, 3, 3, 3}, 0.3)),
                                graph.weight("b0", half({20}, 0.4)), padded()));
  const Value deep =
      clip(conv(first, graph.weight("w1", half({20, 1, 3, 3}, 0.7)), {}, padded(20)), 0, 6);
  const Value sum = conv(deep, graph.weight("w2", half({20, 20, 1, 1}, 0.2))) + first;
  graph.output("y", max_pool(sum * graph.input("scale", f16({"n", 20, 1, 1})), {2, 2}).values);
  EXPECT_EQ(steps_of(graph), "conv(relu), conv(clip), conv(add + mul), max_pool, copy");
  for (const int64_t n : {1, 2}) {
    const TensorMap inputs{{"x", half({n, 3, 15, 17}, 0.11)}, {"scale", half({n, 20, 1, 1}, 0.3)}};
    const Tensor got = compile(graph).run(inputs).at("y"),
                 expected = compile(graph, {.optimise = false}).run(inputs).at("y");
    for (int64_t i = 0; i < got.count(); ++i)
      ASSERT_NEAR(got.at(i), expected.at(i), 4e-3 * (1 + std::fabs(expected.at(i)))) << i;
  }
}

}  // namespace
}  // namespace rlx
