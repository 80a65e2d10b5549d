// What an importer must know before a run: shapes, lengths of sequences, numbers of iterations.
#include <gtest/gtest.h>

#include <algorithm>

#include "rlx/import/onnx/build_model.h"
#include "rlx/ir/evaluate.h"
#include "rlx/testing.h"

namespace rlx::onnx {
namespace {

const std::string kX = value_info("x", {"b", "s", "8"});
const std::string kY = value_info("y", {});

rlx::Graph of_x(const std::vector<std::string>& nodes, const std::vector<std::string>& initializers,
                int64_t opset = 17) {
  return import_bytes(model_of({nodes, initializers, {kX}, {kY}}, opset));
}
const Dims& shape_of_y(const rlx::Graph& graph) { return graph.outputs().at(0).value.shape(); }
Tensor ones(const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, 1);
  return tensor;
}

TEST(OnnxShapes, ChainsOfShapeArithmeticKeepTheirSymbols) {
  const rlx::Graph graph = of_x(
      {node("Shape", {"x"}, "shape"), node("Gather", {"shape", "zero"}, "b"),
       node("Gather", {"shape", "one"}, "s"), node("Unsqueeze", {"b", "first"}, "b1"),
       node("Unsqueeze", {"s", "first"}, "s1"),
       node("Concat", {"b1", "s1", "heads", "rest"}, "target", "", {integer_attribute("axis", 0)}),
       node("Reshape", {"x", "target"}, "y")},
      {integer("zero", 0), integer("one", 1), list("first", {0}), list("heads", {2}),
       list("rest", {-1})});
  EXPECT_EQ(shape_of_y(graph), (Dims{"b", "s", 2, 4}));
}

// As exporters write x.expand(b, -1, -1): a dim of -1 becomes 1, which broadcasts.
TEST(OnnxShapes, ADimIsKnownNotToBeMinusOne) {
  const rlx::Graph graph = of_x(
      {node("Shape", {"x"}, "shape"), node("Gather", {"shape", "first"}, "b1"),
       node("Concat", {"b1", "minus", "minus"}, "asked", "", {integer_attribute("axis", 0)}),
       node("Equal", {"asked", "minus"}, "open"),
       node("Where", {"open", "unit", "asked"}, "target"), node("Expand", {"w", "target"}, "y")},
      {list("first", {0}), list("minus", {-1}), list("unit", {1}), float_tensor("w", {1, 2, 3})});
  EXPECT_EQ(shape_of_y(graph), (Dims{"b", 1, 3}));
}

TEST(OnnxShapes, ASplitMayBeOfSymbolicLengths) {
  const rlx::Graph graph =
      of_x({node("Shape", {"x"}, "shape"), node("Gather", {"shape", "second"}, "s1"),
            node("Sub", {"s1", "unit"}, "others"),
            node("Concat", {"unit", "others"}, "lengths", "", {integer_attribute("axis", 0)}),
            message([](pbf_writer& out) {
              for (const char* input : {"x", "lengths"}) out.add_string(1, input);
              for (const char* output : {"head", "y"}) out.add_string(2, output);
              out.add_string(4, "Split");
              out.add_message(5, integer_attribute("axis", 1));
            })},
           {list("second", {1}), list("unit", {1})});
  const Tensor y = evaluate(graph, {{"x", ones({2, 5, 8})}}).outputs.at("y");
  EXPECT_EQ(y.shape(), (Shape{2, 4, 8}));
}

TEST(OnnxShapes, LengthsOfASplitHoldARunToTheirSum) {
  const std::string bytes = model_of({{message([](pbf_writer& out) {
                                        for (const char* input : {"x", "lengths"})
                                          out.add_string(1, input);
                                        for (const char* output : {"head", "y"})
                                          out.add_string(2, output);
                                        out.add_string(4, "Split");
                                      })},
                                      {list("lengths", {2, 3})},
                                      {value_info("x", {"n", "m"})},
                                      {kY}});
  const rlx::Graph graph = import_bytes(bytes);
  EXPECT_EQ(shape_of_y(graph), (Dims{3, "m"}));
  EXPECT_EQ(evaluate(graph, {{"x", ones({5, 2})}}).outputs.at("y").shape(), (Shape{3, 2}));
  EXPECT_NE(error_of([&] { evaluate(graph, {{"x", ones({7, 2})}}); }), "");
}

TEST(OnnxShapes, NamesOfDimsThatAreNoSymbolsStayApart) {
  const std::string bytes = model_of({{node("Relu", {"x"}, "y")},
                                      {},
                                      {value_info("x", {"s + 1", "s - 1", "s + 1", "s___1"})},
                                      {kY}});
  EXPECT_EQ(shape_of_y(import_bytes(bytes)), (Dims{"s___1", "s___1_2", "s___1", "s___1_3"}));
}

TEST(OnnxShapes, SparseIntegersKeepAllTheirBits) {
  constexpr int64_t kOdd = (int64_t{1} << 53) + 1;
  const std::string sparse = message([](pbf_writer& out) {
    out.add_message(1, list("w", {kOdd}));
    out.add_message(2, list("", {2}));
    out.add_int64(3, 4);
  });
  const std::string graph = graph_message({{node("Identity", {"w"}, "y")}, {}, {}, {kY}}) +
                            message([&](pbf_writer& out) { out.add_message(15, sparse); });
  const std::string bytes = message([&](pbf_writer& out) {
    out.add_message(7, graph);
    out.add_message(8, message([](pbf_writer& entry) { entry.add_int64(2, 17); }));
  });
  EXPECT_EQ(evaluate(import_bytes(bytes), {}).outputs.at("y").integer_at(2), kOdd);
}

TEST(OnnxShapes, HardmaxOfASymbolicDimIsAsLongAsItIs) {
  const rlx::Graph graph =
      of_x({node("Hardmax", {"x"}, "y", "", {integer_attribute("axis", 1)})}, {});
  const Tensor y = evaluate(graph, {{"x", ones({2, 5, 8})}}).outputs.at("y");
  EXPECT_EQ(y.shape(), (Shape{2, 5, 8}));
  EXPECT_EQ(y.at(0), 1);
  EXPECT_EQ(y.at(8), 0);
}

// The length of a range of floats that were integers is known when a run is bound.
TEST(OnnxShapes, FloatsThatWereIntegersAreCountedOnTheHost) {
  const rlx::Graph graph =
      of_x({node("Shape", {"x"}, "shape"), node("Gather", {"shape", "one"}, "s"),
            node("Cast", {"s"}, "limit", "", {integer_attribute("to", kFloatType)}),
            node("Range", {"from", "limit", "by"}, "y")},
           {integer("one", 1), tensor<float>("from", kFloatType, {}, {0}),
            tensor<float>("by", kFloatType, {}, {1})});
  EXPECT_EQ(shape_of_y(graph), (Dims{"s"}));
}

TEST(OnnxShapes, AnAspectRatioIsKept) {
  const std::string bytes =
      model_of({{node("Resize", {"x", "", "", "sizes"}, "y", "",
                      {string_attribute("keep_aspect_ratio_policy", "not_larger")})},
                {list("sizes", {6, 8})},
                {value_info("x", {"2", "4"})},
                {kY}},
               18);
  EXPECT_EQ(shape_of_y(import_bytes(bytes)), (Dims{4, 8}));
}

TEST(OnnxShapes, ZerosAreNormalisedToZeros) {
  for (const int64_t p : {1, 2}) {
    const rlx::Graph graph =
        of_x({node("LpNormalization", {"x"}, "y", "", {integer_attribute("p", p)})}, {});
    Tensor x = ones({1, 2, 8});
    for (int64_t i = 0; i < 8; ++i) x.set(i, 0);
    const Tensor y = evaluate(graph, {{"x", x}}).outputs.at("y");
    EXPECT_EQ(y.at(0), 0);
    EXPECT_NEAR(y.at(8), p == 1 ? 0.125 : 0.353553, 1e-5);
  }
}

// ONNX's text was mended in this sense after its tests were made.
TEST(OnnxShapes, WhereNothingIsReducedSquaresAreStillTaken) {
  const auto reduced = [](const char* op) {
    const rlx::Graph graph =
        of_x({node(op, {"x", "none"}, "y", "", {integer_attribute("noop_with_empty_axes", 1)})},
             {list("none", {})}, 18);
    Tensor x = ones({1, 2, 8});
    x.set(0, -3);
    const Tensor y = evaluate(graph, {{"x", x}}).outputs.at("y");
    EXPECT_EQ(y.shape(), x.shape()) << op;
    return y.at(0);
  };
  EXPECT_EQ(reduced("ReduceSumSquare"), 9);
  EXPECT_EQ(reduced("ReduceL1"), 3);
  EXPECT_EQ(reduced("ReduceMax"), -3);
}

// What must be so for the operator to work is held to when a run binds the names.
TEST(OnnxShapes, ADimThatAnOperatorNeedsMayBeNamed) {
  const std::vector<std::string> along{integer_attribute("axis", 3)};
  const std::string bytes =
      model_of({{node("QuantizeLinear", {"x", "scale", "zero"}, "q", "", along),
                 node("DequantizeLinear", {"q", "scale", "zero"}, "g", "", along),
                 node("GridSample", {"x", "g"}, "y")},
                {float_tensor("scale", {0.5, 0.25}), tensor<uint8_t>("zero", 2, {2}, {10, 10})},
                {value_info("x", {"b", "c", "h", "two"})},
                {kY}});
  const rlx::Graph graph = import_bytes(bytes);
  EXPECT_EQ(evaluate(graph, {{"x", ones({2, 3, 3, 2})}}).outputs.at("y").shape(),
            (Shape{2, 3, 3, 3}));
  EXPECT_NE(error_of([&] { evaluate(graph, {{"x", ones({2, 3, 3, 3})}}); }), "");
}

TEST(OnnxStructure, AnErrorHasTheInputsThatWouldHaveToBeKnown) {
  const std::string bytes =
      model_of({{node("Neg", {"axes"}, "turned"), node("Squeeze", {"x", "turned"}, "y")},
                {},
                {value_info("x", {"1", "3"}), typed("axes", tensor_type({"1"}, kInt64Type))},
                {kY}});
  try {
    import_bytes(bytes);
    FAIL() << "it imports";
  } catch (const UnknownInput& error) {
    EXPECT_EQ(error.inputs(), Strings{"axes"});
    EXPECT_EQ(std::string(error.what()).rfind("Squeeze: input 1 ('turned') decides the graph's", 0),
              0U);
  }
  const Tensor axes = Tensor::of(DType::i64, {1}, {2});
  EXPECT_EQ(shape_of_y(import_bytes(bytes, {.known_inputs = {{"axes", axes}}})), (Dims{3}));
}

TEST(OnnxStructure, WhatIsFoldedSaysWhereItComesFrom) {
  const rlx::Graph graph = of_x({node("Neg", {"axis"}, "turned", "the fold"),
                                 node("ReduceMax", {"x", "turned"}, "y", "the reader")},
                                {list("axis", {-2})}, 18);
  bool found = false;
  for (const rlx::Node& made : graph.nodes()) found = found || made.origin == "the fold";
  EXPECT_TRUE(found);
}

TEST(OnnxStructure, ASequenceIsItsElements) {
  const std::string sequence = type_of(kSequenceOf, tensor_type({"n"}));
  const std::string bytes = model_of({{node("SequenceInsert", {"s", "x"}, "y")},
                                      {},
                                      {typed("s", sequence), value_info("x", {"n"})},
                                      {typed("y", sequence)}});
  const rlx::Graph graph =
      import_bytes(bytes, {.sequence_inputs = {{"s", {.types = {f32({2}), f32({3})}}}}});
  const TensorMap outputs =
      evaluate(graph, {{"s.0", ones({2})}, {"s.1", ones({3})}, {"x", ones({4})}}).outputs;
  EXPECT_EQ(outputs.size(), 3U);
  EXPECT_EQ(outputs.at("y.2").shape(), Shape{4});
  EXPECT_EQ(error_of([&] { import_bytes(bytes); }), "input 's' is no tensor of numbers or strings");
}

TEST(OnnxStructure, AnOptionalMayHaveNoElement) {
  const std::string bytes = model_of({{node("OptionalHasElement", {"o"}, "y")},
                                      {},
                                      {typed("o", type_of(kOptionalOf, tensor_type({"2"})))},
                                      {kY}});
  const auto has = [&](const ElementTypes& given) {
    TensorMap inputs;
    if (given.present) inputs.emplace("o", ones({2}));
    return evaluate(import_bytes(bytes, {.sequence_inputs = {{"o", given}}}), inputs)
        .outputs.at("y")
        .integer_at(0);
  };
  EXPECT_EQ(has({.types = {f32({2})}}), 1);
  EXPECT_EQ(has({.present = false}), 0);
}

// So that it has a gradient that need not count the iterations.
TEST(OnnxStructure, ALoopThatOnlyCountsIsALoopWithoutCondition) {
  const auto op_of = [](const char* condition) {
    const std::string body =
        graph_message({{node("Identity", {condition}, "goes_on"), node("Mul", {"v", "w"}, "next")},
                       {},
                       {value_info("i", {}), value_info("go", {}), value_info("v", {"2"})},
                       {value_info("goes_on", {}), value_info("next", {"2"})}});
    const rlx::Graph graph = import_bytes(model_of(
        {{node("Cast", {"flag"}, "asked", "", {integer_attribute("to", 9)}),
          node("Loop", {"count", "", "x"}, "y", "", {graph_attribute("body", body)})},
         {},
         {value_info("x", {"2"}), value_info("w", {"2"}),
          typed("count", tensor_type({}, kInt64Type)), typed("flag", tensor_type({}, kInt64Type))},
         {kY}}));
    return graph.outputs()[0].value.producer().op->name;
  };
  EXPECT_EQ(op_of("go"), "loop");
  EXPECT_EQ(op_of("asked"), "while_loop");
}

// Each iteration makes the value twice as long, so each has a graph of its own.
TEST(OnnxStructure, ALoopThatChangesShapesIsUnrolled) {
  const std::string body =
      graph_message({{node("Identity", {"go"}, "goes_on"),
                      node("Concat", {"v", "v"}, "longer", "", {integer_attribute("axis", 0)})},
                     {},
                     {value_info("i", {}), value_info("go", {}), value_info("v", {"n"})},
                     {value_info("goes_on", {}), value_info("longer", {"m"})}});
  const std::string bytes =
      model_of({{node("Loop", {"count", "", "x"}, "y", "", {graph_attribute("body", body)})},
                {},
                {value_info("x", {"2"}), typed("count", tensor_type({}, kInt64Type))},
                {kY}});
  EXPECT_EQ(error_of([&] { import_bytes(bytes); }).rfind("Loop: input 0 ('count') decides", 0), 0U);
  Tensor count(DType::i64, {});
  count.set_integer(0, 3);
  EXPECT_EQ(shape_of_y(import_bytes(bytes, {.known_inputs = {{"count", count}}})), Dims{16});
}

// for i in range(x.size(1)): appends relu(x[:, i]); how many there are only a run tells.
std::string appending_body(const std::vector<std::string>& nodes, const std::string& carried) {
  std::vector<std::string> all{
      node("Identity", {"go"}, "goes_on"),
      node("Gather", {"x", "i"}, "at_i", "", {integer_attribute("axis", 1)}),
      node("Relu", {"at_i"}, "row")};
  all.insert(all.end(), nodes.begin(), nodes.end());
  return graph_message({all,
                        {},
                        {typed("i", tensor_type({}, kInt64Type)), typed("go", tensor_type({}, 9)),
                         typed("grows", carried)},
                        {typed("goes_on", tensor_type({}, 9)), typed("longer", carried)}});
}
const std::vector<std::string> kCountOfX{node("Shape", {"x"}, "shape"),
                                         node("Gather", {"shape", "one"}, "count")};
std::vector<std::string> after_count(const std::vector<std::string>& nodes) {
  std::vector<std::string> all = kCountOfX;
  all.insert(all.end(), nodes.begin(), nodes.end());
  return all;
}
// x[b, s, :] = b - s, so that relu has something to do.
Tensor differences(const Shape& shape) {
  Tensor x(DType::f32, shape);
  for (int64_t i = 0; i < x.count(); ++i)
    x.set(i, static_cast<double>(i / (shape[1] * shape[2]) + 1 - i / shape[2] % shape[1]));
  return x;
}

TEST(OnnxStructure, ALoopMayAppendToASequenceOfUnknownLength) {
  const std::string sequence = type_of(kSequenceOf, tensor_type({"b", "8"}));
  const std::string body =
      appending_body({node("SequenceInsert", {"grows", "row"}, "longer")}, sequence);
  for (const bool new_axis : {true, false}) {
    const rlx::Graph graph =
        of_x(after_count(
                 {node("SequenceEmpty", {}, "none"),
                  node("Loop", {"count", "", "none"}, "rows", "", {graph_attribute("body", body)}),
                  node("ConcatFromSequence", {"rows"}, "y", "",
                       {integer_attribute("axis", -1), integer_attribute("new_axis", new_axis)})}),
             {integer("one", 1)});
    for (const int64_t length : {1, 3, 5}) {
      const Tensor x = differences({2, length, 8});
      const Tensor y = evaluate(graph, {{"x", x}}).outputs.at("y");
      EXPECT_EQ(y.shape(), new_axis ? (Shape{2, 8, length}) : (Shape{2, 8 * length}));
      for (int64_t b = 0; b < 2; ++b)
        for (int64_t s = 0; s < length; ++s)
          for (int64_t d = 0; d < 8; ++d)
            EXPECT_EQ(y.at((b * length + (new_axis ? 0 : s)) * 8 + (new_axis ? d * length + s : d)),
                      std::max(0.0, x.at((b * length + s) * 8 + d)));
    }
  }
}

TEST(OnnxStructure, ALoopMayConcatenateSoOftenAsAShapeTells) {
  const std::string carried = tensor_type({"b", "n"});
  const std::string body = appending_body(
      {node("Concat", {"grows", "row"}, "longer", "", {integer_attribute("axis", 1)})}, carried);
  for (const int64_t width : {0, 3}) {
    const std::vector<float> start(static_cast<size_t>(2 * width), 7.0f);
    const rlx::Graph graph =
        of_x(after_count(
                 {node("Loop", {"count", "", "start"}, "y", "", {graph_attribute("body", body)})}),
             {integer("one", 1), tensor<float>("start", kFloatType, {2, width}, start)});
    const Tensor x = differences({2, 3, 8});
    const Tensor y = evaluate(graph, {{"x", x}}).outputs.at("y");
    EXPECT_EQ(y.shape(), (Shape{2, width + 24}));
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t i = 0; i < 24; ++i)
        EXPECT_EQ(y.at(b * (24 + width) + width + i), std::max(0.0, x.at(b * 24 + i)));
    if (width > 0) EXPECT_EQ(y.at(width - 1), 7);
  }
}

// What it has so far is read by the body itself: no stack of rows says that.
TEST(OnnxStructure, ALoopThatReadsWhatGrowsIsNotAStack) {
  const std::string body = appending_body(
      {node("ReduceSum", {"grows"}, "so_far"), node("Mul", {"row", "so_far"}, "scaled"),
       node("Concat", {"grows", "scaled"}, "longer", "", {integer_attribute("axis", 1)})},
      tensor_type({"b", "n"}));
  EXPECT_EQ(error_of([&] {
              of_x(after_count({node("Loop", {"count", "", "start"}, "y", "",
                                     {graph_attribute("body", body)})}),
                   {integer("one", 1), tensor<float>("start", kFloatType, {2, 1}, {1, 1})});
            }).rfind("Loop: input 0 ('count') decides", 0),
            0U);
}

TEST(OnnxStructure, ADimOfUnknownExtentIsASequenceOfItsPlaces) {
  const rlx::Graph graph =
      of_x({node("SplitToSequence", {"x"}, "s", "",
                 {integer_attribute("axis", 1), integer_attribute("keepdims", 0)}),
            node("SequenceLength", {"s"}, "length"), node("Sub", {"length", "one"}, "last"),
            node("SequenceAt", {"s", "zero"}, "first"), node("SequenceAt", {"s", "last"}, "end"),
            node("Sub", {"first", "end"}, "y")},
           {integer("zero", 0), integer("one", 1)});
  const Tensor y = evaluate(graph, {{"x", differences({2, 5, 8})}}).outputs.at("y");
  EXPECT_EQ(y.shape(), (Shape{2, 8}));
  EXPECT_EQ(y.at(0), 4);
}

// torch.repeat_interleave: each element of a sequence, as often as an input says.
TEST(OnnxStructure, ExpandTakesWhatOnlyARunKnows) {
  const rlx::Graph graph = import_bytes(model_of(
      {{node("SplitToSequence", {"repeats"}, "counts"), node("SequenceAt", {"counts", "one"}, "n"),
        node("Concat", {"n", "three"}, "target", "", {integer_attribute("axis", 0)}),
        node("Expand", {"x", "target"}, "y")},
       {integer("one", 1), list("three", {3})},
       {value_info("x", {"1", "3"}), typed("repeats", tensor_type({"2"}, kInt64Type))},
       {kY}}));
  const Tensor repeats = Tensor::of(DType::i64, {2}, {9, 4});
  const Tensor y = evaluate(graph, {{"x", ones({1, 3})}, {"repeats", repeats}}).outputs.at("y");
  EXPECT_EQ(y.shape(), (Shape{4, 3}));
}

TEST(OnnxStructure, SymbolsThatNoInputHasAndInputsThatNothingReadsAreNoHindrance) {
  const rlx::Graph graph =
      import_bytes(model_of({{node("Relu", {"x"}, "y")},
                             {},
                             {value_info("x", {"n"}), value_info("unused", {"q", "r"})},
                             {value_info("y", {"never told"})}}));
  const TensorMap outputs = evaluate(graph, {{"x", ones({2})}, {"unused", ones({1, 2})}}).outputs;
  EXPECT_EQ(outputs.at("y").shape(), Shape{2});
}

// What constants alone decide is computed once, when a program is prepared: the graph says it all.
TEST(OnnxImport, FoldsNothing) {
  const rlx::Graph graph =
      of_x({node("Mul", {"a", "b"}, "c"), node("Exp", {"c"}, "d"), node("Add", {"x", "d"}, "y")},
           {float_tensor("a", {8}), float_tensor("b", {8})});
  std::vector<std::string> ops;
  for (const rlx::Node& each : graph.nodes())
    if (!is_source(each)) ops.push_back(each.op->name);
  EXPECT_EQ(ops, (std::vector<std::string>{"mul", "exp", "add"}));
}

}  // namespace
}  // namespace rlx::onnx
