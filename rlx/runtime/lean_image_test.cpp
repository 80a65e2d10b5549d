// An image holds what a device needs and no more, and says whose step each is.

#include <gtest/gtest.h>

#include <algorithm>

#include "rlx/conformance/device_test.h"
#include "rlx/image/uses.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ir/text.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_core.h"
#include "rlx/runtime/internals.h"
#include "rlx/runtime/program.h"

namespace rlx {
namespace {

class LeanImages : public DeviceTest {
 protected:
  Program compiled(const Graph& graph) const { return compile(graph, {.device = device()}); }
  Program parsed(const std::string& source) const {
    return compiled(parse("rlx 1\n" + source, catalog()));
  }
};
INSTANTIATE_TEST_SUITE_P(EveryDevice, LeanImages, every_device(), device_name);

Graph layers(int depth) {
  Graph graph;
  Value x = graph.input("x", f32({"rows", 8}));
  for (int i = 0; i < depth; ++i) {
    Tensor weight(DType::f32, {8, 8}), bias(DType::f32, {8});
    weight.set(0, i);
    const Value w = graph.weight(text("w", i), weight), b = graph.weight(text("b", i), bias);
    x = relu(matmul(x, w) + b) + x;
  }
  graph.output("y", x);
  return graph;
}

TEST_P(LeanImages, LayersThatAreAlikeShareTheirNumbers) {
  const Program one = compiled(layers(2)), many = compiled(layers(7));
  EXPECT_EQ(detail::image_of(many).numbers.code, detail::image_of(one).numbers.code);
  EXPECT_EQ(detail::image_of(many).numbers.symbols, detail::image_of(one).numbers.symbols);
}

TEST_P(LeanImages, ACheckThatManyNodesMakeIsMadeOnce) {
  Graph graph;
  const Value x = graph.input("x", f32({"a"})), y = graph.input("y", f32({"b"}));
  graph.output("z", sum((x + y) * exp(x - y)));
  const Program program = compiled(graph);
  const image::Numbers& numbers = detail::image_of(program).numbers;
  EXPECT_FALSE(numbers.checks.empty());
  for (size_t i = 0; i < numbers.checks.size(); ++i)
    for (size_t j = i + 1; j < numbers.checks.size(); ++j) {
      const image::Check &a = numbers.checks[i], &b = numbers.checks[j];
      EXPECT_FALSE(a.relation == b.relation && a.a == b.a && a.b == b.b && a.guard == b.guard)
          << a.what;
    }
}

TEST_P(LeanImages, EveryValueIsTouchedByAStepOrHasAName) {
  const Program program = compiled(layers(3));
  const image::Image& image = detail::image_of(program);
  std::vector<bool> touched(image.values.size(), false);
  for (const image::Steps* steps : {&image.bind, &image.once, &image.run})
    for (const image::Step& step : *steps) {
      const image::Use use = image::use_of(step, image.flag);
      for (const auto* list : {&use.reads, &use.writes})
        for (const image::ValueId value : *list) touched[size_t(value)] = true;
    }
  for (size_t v = 0; v < touched.size(); ++v)
    EXPECT_TRUE(touched[v]) << image.values[v].name << " is there for nothing";
}

// The last states of a net are copied, and a top_k whose values alone are read gives indices, too.
TEST_P(LeanImages, NoStepMakesWhatNobodyReads) {
  Graph graph;
  const Value x = graph.input("x", f32({5, 2, 3}));
  const Value net = graph.add(catalog().at("lstm"), {x, graph.input("w", f32({1, 16, 3})),
                                                     graph.input("r", f32({1, 16, 4}))});
  graph.output("y", net);
  graph.output("most", graph.add(catalog().at("top_k"), {x}, {{"k", int64_t{2}}}));
  const Program program = compiled(graph);
  const image::Image& image = detail::image_of(program);
  std::vector<bool> read(image.values.size(), false);
  for (const image::Output& output : image.outputs) read[size_t(output.value)] = true;
  for (const image::Step& step : image.run) {
    const image::Use use = image::use_of(step, image.flag);
    for (const auto* list : {&use.reads, &use.updates})
      for (const image::ValueId value : *list) read[size_t(value)] = true;
  }
  for (const image::Step& step : image.run) {
    const std::vector<image::ValueId> made = image::use_of(step, image.flag).writes;
    EXPECT_TRUE(made.empty() ||
                std::any_of(made.begin(), made.end(),
                            [&](image::ValueId value) { return read[size_t(value)]; }))
        << image.values[size_t(made[0])].name;
  }
  TensorMap inputs;
  for (const auto& [name, shape] :
       std::map<std::string, Shape>{{"x", {5, 2, 3}}, {"w", {1, 16, 3}}, {"r", {1, 16, 4}}}) {
    Tensor tensor(DType::f32, shape);
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, 0.1 * double(i % 7) - 0.3);
    inputs[name] = tensor;
  }
  const TensorMap want = evaluate(graph, inputs).outputs, got = program.run(inputs);
  for (const auto& [name, tensor] : want)
    for (int64_t i = 0; i < tensor.count(); ++i)
      ASSERT_NEAR(got.at(name).at(i), tensor.at(i), 1e-5) << name << i;
}

const char* const kBranches =
    "%0 = input @\"c\" : bool[]\n%1 = input @\"x\" : f32[n, 3]\n%2 = input @\"i\" : i64[2]\n"
    "%3 = if_else %0, %1, %2 then={\n"
    "  %0 = input @\"x\" : f32[n, 3]\n  %1 = input @\"i\" : i64[2]\n"
    "  %2 = gather %0, %1 axis=0 @\"rows\" : f32[2, 3]\n  output \"y\" %2\n"
    "} else={\n"
    "  %0 = input @\"x\" : f32[n, 3]\n  %1 = input @\"i\" : i64[2]\n"
    "  %2 = sum %0 axes=[0] keep=true @\"total\" : f32[1, 3]\n"
    "  %3 = gather %2, %1 axis=0 @\"same\" : f32[2, 3]\n  output \"y\" %3\n"
    "} @\"choice\" : f32[2, 3]\noutput \"y\" %3\n";

TEST_P(LeanImages, ABranchComputesWhereItsResultGoes) {
  const Program program = parsed(kBranches);
  const image::Image& image = detail::image_of(program);
  for (const image::Step& step : image.run)
    if (const auto* copy = std::get_if<image::Copy>(&step.what))
      EXPECT_EQ(image.values[size_t(copy->source.value)].place,
                image.values[size_t(copy->target.value)].place);
  const Tensor x = Tensor::of(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const auto run = [&](bool first, const std::vector<double>& rows) {
    const Tensor y = program
                         .run({{"c", Tensor::of(DType::boolean, {}, {first ? 1.0 : 0.0})},
                               {"x", x},
                               {"i", Tensor::of(DType::i64, {2}, rows)}})
                         .at("y");
    std::vector<double> elements;
    for (int64_t i = 0; i < y.count(); ++i) elements.push_back(y.at(i));
    return elements;
  };
  EXPECT_EQ(run(true, {1, 0}), (std::vector<double>{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(run(false, {0, 0}), (std::vector<double>{5, 7, 9, 5, 7, 9}));
  EXPECT_EQ(run(true, {0, 0}), (std::vector<double>{1, 2, 3, 1, 2, 3}));
}

TEST_P(LeanImages, AnErrorInABodyNamesTheNodeWithin) {
  const Program program = parsed(kBranches);
  try {
    program.run({{"c", Tensor::of(DType::boolean, {}, {1})},
                 {"x", Tensor(DType::f32, {2, 3})},
                 {"i", Tensor::of(DType::i64, {2}, {0, 9})}});
    FAIL() << "an index beyond the rows was taken";
  } catch (const Error& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("gather"), std::string::npos) << said;
    EXPECT_NE(said.find("choice/rows"), std::string::npos) << said;
    EXPECT_NE(said.find('9'), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace rlx
