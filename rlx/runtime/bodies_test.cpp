// Control flow whose bodies have symbols of their own: names that others have too, and what an
// iteration tells anew.

#include <gtest/gtest.h>

#include "rlx/conformance/device_test.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ir/text.h"
#include "rlx/op.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_core.h"
#include "rlx/runtime/image.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

class Bodies : public DeviceTest {
 protected:
  TensorMap run(const std::string& source, const TensorMap& inputs) const {
    return compile(parse("rlx 1\n" + source, catalog()), {.device = device()}).run(inputs);
  }
};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Bodies, every_device(), device_name);

Tensor integers(const Shape& shape, const std::vector<double>& values) {
  return Tensor::of(DType::i64, shape, values);
}
Tensor floats(const Shape& shape, const std::vector<double>& values) {
  return Tensor::of(DType::f32, shape, values);
}

// A loop that adds as many ones as its carried q says, which `next` changes.
std::string counting_loop(const std::string& q, const std::string& next) {
  return "%5, %6 = loop %1, %3, %4 body={\n"
         "  %0 = input @\"i\" : i64[]\n"
         "  %1 = input @\"" +
         q +
         "\" : i64[1]\n"
         "  %2 = input @\"t\" : f32[]\n"
         "  %3 = constant value=f32[1]{1} @\"one\" : f32[1]\n"
         "  %4 = constant value=i64[1]{1} @\"ione\" : i64[1]\n"
         "  %5 = expand %3, %1 @\"e\" : f32[" +
         q +
         ".0]\n"
         "  %6 = sum %5 axes=[0] keep=false @\"r\" : f32[]\n"
         "  %7 = add %2, %6 @\"a\" : f32[]\n" +
         next +
         "  output \"p\" %7\n"
         "} captured=0 reverse=false scanned=0 @\"loop\" : i64[1], f32[]\n";
}
const char* const kSources =
    "%0 = input @\"k\" : i64[1]\n%1 = input @\"n\" : i64[]\n%2 = input @\"x\" : f32[1]\n"
    "%3 = input @\"m\" : i64[1]\n%4 = input @\"z\" : f32[]\n";
const char* const kEnd =
    "%7 = expand %2, %0 @\"y\" : f32[k.0]\n%8 = add %7, %6 @\"y2\" : f32[k.0]\noutput \"y\" %8\n";

OpRef counted(const std::shared_ptr<int>& asked) {
  OpDef op;
  op.name = "test.counted";
  op.family = "test";
  op.infer = [asked](const InferSite& site) {
    ++*asked;
    return Types{site.in(0)};
  };
  op.reference = [](const ReferenceSite& site) { site.out() = site.in(0).copy(); };
  op.host_reason = "a test";
  return std::make_shared<const OpDef>(op);
}

TEST(BodyRules, AreNotAskedWhenTheBodyIsEvaluated) {
  const auto asked = std::make_shared<int>(0);
  Graph body;
  const Value x = body.input("x", f32({"n", 2}));
  body.output("y", concat({body.add(counted(asked), {x}), x}, 0));
  *asked = 0;
  for (const int64_t n : {2, 3, 3})
    EXPECT_EQ(evaluate_body(body, {Tensor(DType::f32, {n, 2})})[0].shape(), (Shape{2 * n, 2}));
  EXPECT_EQ(*asked, 0);
  EXPECT_NE(error_of([&] { evaluate_body(body, {Tensor(DType::f32, {3, 3})}); }), "");
}

// Also where a call runs on the host for another device.
TEST_P(Bodies, RulesOfAnImageFromAFileAreAskedForNewExtentsOnly) {
  const auto asked = std::make_shared<int>(0);
  OpSet ops = catalog();
  ops.add(counted(asked));
  Graph graph;
  graph.output("y", graph.add(ops.at("test.counted"), {relu(graph.input("x", f32({"n", 2})))}));
  const Program program = prepare(device(), compile_image(graph, {.device = device()}), ops);
  const auto run = [&](int64_t n) {
    EXPECT_EQ(program.run({{"x", Tensor(DType::f32, {n, 2})}}).at("y").shape(), (Shape{n, 2}));
  };
  run(3), run(4);
  EXPECT_GT(*asked, 0);
  *asked = 0;
  for (int i = 0; i < 3; ++i) run(3), run(4);
  EXPECT_EQ(*asked, 0);
}

TEST_P(Bodies, AnInputMayHaveTheNameOfOneOutside) {
  const std::string same = "  output \"o\" %1\n";
  for (const char* name : {"k", "q"}) {
    const Tensor y = run(kSources + counting_loop(name, same) + kEnd, {{"k", integers({1}, {2})},
                                                                       {"n", integers({}, {2})},
                                                                       {"x", floats({1}, {0})},
                                                                       {"m", integers({1}, {5})},
                                                                       {"z", floats({}, {0})}})
                         .at("y");
    EXPECT_EQ(y.shape(), Shape{2}) << name;
    EXPECT_EQ(y.at(0), 10) << name;  // twice 5
  }
}

TEST_P(Bodies, AnIterationHasItsOwnExtents) {
  const std::string next = "  %8 = add %1, %4 @\"next\" : i64[1]\n  output \"o\" %8\n";
  EXPECT_EQ(run(kSources + counting_loop("q", next) + kEnd, {{"k", integers({1}, {1})},
                                                             {"n", integers({}, {4})},
                                                             {"x", floats({1}, {0})},
                                                             {"m", integers({1}, {2})},
                                                             {"z", floats({}, {0})}})
                .at("y")
                .at(0),
            2 + 3 + 4 + 5);
}

TEST_P(Bodies, AnIterationFindsAsManyAsItHas) {
  const std::string source =
      "%0 = input @\"n\" : i64[]\n%1 = input @\"x\" : f32[4]\n"
      "%2 = loop %0, %1 body={\n"
      "  %0 = input @\"i\" : i64[]\n"
      "  %1 = input @\"v\" : f32[4]\n"
      "  %2 = non_zero %1 @\"nz\" : i64[1, s0]\n"
      "  %3 = cast %2 to=f32 @\"c\" : f32[1, s0]\n"
      "  %4 = sum %3 axes=[0,1] keep=false @\"r\" : f32[]\n"
      "  %5 = sub %1, %4 @\"sub\" : f32[4]\n"
      "  %6 = relu %5 @\"relu\" : f32[4]\n"
      "  output \"o\" %6\n"
      "} captured=0 reverse=false scanned=0 @\"loop\" : f32[4]\noutput \"y\" %2\n";
  // 0 + 1 + 2 + 3 off all, which leaves 1 and 3 at 2 and 3; then 2 + 3 off those.
  const Tensor y =
      run(source, {{"n", integers({}, {2})}, {"x", floats({4}, {1, 2, 7, 13})}}).at("y");
  EXPECT_EQ(y.at(3), 13 - 6 - 5);
  EXPECT_EQ(y.at(2), 0);
}

TEST_P(Bodies, SymbolsInAttributesAreWhatTheOperandsHave) {
  const std::string source =
      "%0 = input @\"x\" : f32[m]\n%1 = input @\"c\" : bool[]\n%2 = input @\"w\" : f32[n]\n"
      "%3 = if_else %1, %0 else={\n"
      "  %0 = input @\"v\" : f32[n]\n"
      "  %1 = sum %0 axes=[0] keep=false @\"e\" : f32[]\n"
      "  output \"o\" %1\n"
      "} then={\n"
      "  %0 = input @\"v\" : f32[n]\n"
      "  %1 = constant value=f32[1]{9} @\"nine\" : f32[1]\n"
      "  %2 = expand %1 shape=dims[n] @\"e\" : f32[n]\n"
      "  %3 = sum %2 axes=[0] keep=false @\"s\" : f32[]\n"
      "  output \"o\" %3\n"
      "} @\"if\" : f32[]\noutput \"y\" %3\noutput \"w2\" %2\n";
  EXPECT_EQ(run(source, {{"x", floats({3}, {1, 1, 1})},
                         {"c", Tensor::of(DType::boolean, {}, {1})},
                         {"w", floats({5}, {0, 0, 0, 0, 0})}})
                .at("y")
                .at(0),
            27);
}

TEST_P(Bodies, AnInputMayBeCalledAsTheElementsOfANodeAre) {
  const TensorMap outputs =
      run("%0 = input @\"v3\" : i64[1]\n%1 = input @\"x\" : f32[1]\n"
          "%2 = add %0, %0 @\"a\" : i64[1]\n%3 = abs %2 @\"b\" : i64[1]\n"
          "%4 = expand %1, %0 @\"y\" : f32[v0.0]\n%5 = expand %1, %3 @\"z\" : f32[v3.0]\n"
          "output \"y\" %4\noutput \"z\" %5\n",
          {{"v3", integers({1}, {2})}, {"x", floats({1}, {1})}});
  EXPECT_EQ(outputs.at("y").shape(), Shape{2});
  EXPECT_EQ(outputs.at("z").shape(), Shape{4});
}

TEST_P(Bodies, ASymbolMayBeCalledShard) {
  Graph graph;
  graph.output("y", neg(graph.input("x", f32({"shard"}))));
  const Program program = compile(graph, {.device = device()});
  for (int time = 0; time < 2; ++time)
    EXPECT_EQ(program.run({{"x", floats({3}, {1, 2, 3})}}).at("y").at(2), -3);
}

}  // namespace
}  // namespace rlx
