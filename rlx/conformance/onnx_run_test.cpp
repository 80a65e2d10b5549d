// Files whose graphs have more or less than a run needs, on every device.

#include <gtest/gtest.h>

#include "rlx/conformance/test_devices.h"
#include "rlx/import/onnx/build_model.h"
#include "rlx/ir/evaluate.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx::onnx {
namespace {

constexpr int kInt32Type = 6;

Tensor numbers(const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, static_cast<double>(i % 7) - 2);
  return tensor;
}

void expect_runs(const rlx::Graph& graph, const TensorMap& inputs, double tolerance = 1e-5) {
  const TensorMap expected = evaluate(graph, inputs).outputs;
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    const TensorMap outputs = compile(graph, {.device = device}).run(inputs);
    ASSERT_EQ(outputs.size(), expected.size());
    for (const auto& [name, tensor] : expected) {
      ASSERT_EQ(outputs.at(name).shape(), tensor.shape()) << name;
      for (int64_t i = 0; i < tensor.count(); ++i)
        EXPECT_NEAR(outputs.at(name).at(i), tensor.at(i), tolerance) << name;
    }
  }
}

void expect_runs(const std::string& bytes, const TensorMap& inputs) {
  expect_runs(import_bytes(bytes), inputs);
}

TEST(OnnxRuns, ASymbolThatARunNeverTells) {
  expect_runs(model_of({{node("Relu", {"x"}, "y")},
                        {},
                        {value_info("x", {"n"})},
                        {value_info("y", {"never told"})}}),
              {{"x", numbers({5})}});
}

TEST(OnnxRuns, AnInputThatNothingReads) {
  expect_runs(model_of({{node("Relu", {"x"}, "y")},
                        {},
                        {value_info("x", {"n"}), value_info("unused", {"q", "r"})},
                        {value_info("y", {})}}),
              {{"x", numbers({5})}, {"unused", numbers({3, 2})}});
}

TEST(OnnxRuns, AnOptionalOutputThatIsMissing) {
  const std::string pool = message([](pbf_writer& out) {
    out.add_string(1, "x");
    out.add_string(2, "y");
    out.add_string(2, "");
    out.add_string(4, "MaxPool");
    out.add_message(5, message([](pbf_writer& attr) {
                      attr.add_string(1, "kernel_shape");
                      attr.add_int64(8, 2);
                      attr.add_int32(20, 7);
                    }));
  });
  const std::string lstm = message([](pbf_writer& out) {
    for (const char* name : {"t", "w", "r"}) out.add_string(1, name);
    for (const char* name : {"", "", "c"}) out.add_string(2, name);
    out.add_string(4, "LSTM");
    out.add_message(5, integer_attribute("hidden_size", 2));
  });
  const std::vector<float> ones(16, 0.5F);
  expect_runs(model_of({{pool, lstm},
                        {tensor<float>("w", kFloatType, {1, 8, 2}, ones),
                         tensor<float>("r", kFloatType, {1, 8, 2}, ones)},
                        {value_info("x", {"1", "1", "6"}), value_info("t", {"3", "1", "2"})},
                        {value_info("y", {}), value_info("c", {})}}),
              {{"x", numbers({1, 1, 6})}, {"t", numbers({3, 1, 2})}});
}

// As torchvision's detectors ask for all boxes: 2^63 - 1 stays on the host, which has the op.
TEST(OnnxRuns, AsManyBoxesAsThereAre) {
  Tensor boxes(DType::f32, {1, 6, 4});
  for (int64_t i = 0; i < 6; ++i) {
    const double at = static_cast<double>(i / 2 * 10);
    for (int64_t c = 0; c < 4; ++c) boxes.set(4 * i + c, at + (c < 2 ? 0 : 5));
  }
  expect_runs(
      model_of({{node("NonMaxSuppression", {"boxes", "scores", "most", "overlap"}, "found"),
                 node("Gather", {"found", "second"}, "place", "", {integer_attribute("axis", 1)}),
                 node("Gather", {"table", "place"}, "y")},
                {list("most", {INT64_MAX}), tensor<float>("overlap", kFloatType, {1}, {0.5F}),
                 list("second", {2})},
                {value_info("boxes", {"1", "n", "4"}), value_info("scores", {"1", "1", "n"}),
                 value_info("table", {"n"})},
                {value_info("y", {})}}),
      {{"boxes", boxes}, {"scores", numbers({1, 1, 6})}, {"table", numbers({6})}});
}

// Two lists are as long as inputs say and are joined; in a branch, something has that
// extent. Where a node went, what is told has other names.
TEST(OnnxRuns, ABranchReadsExtentsThatTheGraphAroundItIsTold) {
  const auto body = [&](const char* op) {
    return graph_message(
        {{node("Shape", {"both"}, "shape"), node("ConstantOfShape", {"shape"}, "zeros"),
          node(op, {"zeros", "both"}, "z")},
         {},
         {},
         {value_info("z", {})}});
  };
  const std::string scalar = tensor_type({}, kInt64Type);
  const std::string bytes = model_of(
      {{node("Relu", {"x"}, "unused"), node("Range", {"zero", "n", "one"}, "a"),
        node("Range", {"zero", "m", "one"}, "b"),
        node("Concat", {"a", "b"}, "joined", "", {integer_attribute("axis", 0)}),
        node("Cast", {"joined"}, "both", "", {integer_attribute("to", kFloatType)}),
        node("Greater", {"x", "nothing"}, "chosen"),
        node("If", {"chosen"}, "z", "",
             {graph_attribute("then_branch", body("Sub")),
              graph_attribute("else_branch", body("Add"))})},
       {integer("zero", 0), integer("one", 1), tensor<float>("nothing", kFloatType, {}, {0})},
       {value_info("x", {}), typed("n", scalar), typed("m", scalar)},
       {value_info("z", {})}});
  for (const double x : {1, -1})
    expect_runs(bytes, {{"x", Tensor::scalar(DType::f32, x)},
                        {"n", Tensor::scalar(DType::i64, 3)},
                        {"m", Tensor::scalar(DType::i64, 2)}});
}

// for i in ..: h = tanh(h + x[i]); rows.append(h): one value goes on and is stacked.
TEST(OnnxRuns, AValueIsCarriedAndAppended) {
  const std::string row = tensor_type({"b"}), rows = type_of(kSequenceOf, row);
  const std::string body = graph_message(
      {{node("Identity", {"go"}, "goes_on"), node("Gather", {"x", "i"}, "at_i"),
        node("Add", {"h", "at_i"}, "sum"), node("Tanh", {"sum"}, "next"),
        node("SequenceInsert", {"so_far", "next"}, "longer")},
       {},
       {typed("i", tensor_type({}, kInt64Type)), typed("go", tensor_type({}, 9)), typed("h", row),
        typed("so_far", rows)},
       {typed("goes_on", tensor_type({}, 9)), typed("next", row), typed("longer", rows)}});
  const std::string loop = message([&](pbf_writer& out) {
    for (const char* name : {"count", "", "h0", "none"}) out.add_string(1, name);
    for (const char* name : {"last", "rows"}) out.add_string(2, name);
    out.add_string(4, "Loop");
    out.add_message(5, graph_attribute("body", body));
  });
  expect_runs(model_of({{node("Shape", {"x"}, "shape"), node("Gather", {"shape", "zero"}, "count"),
                         node("SequenceEmpty", {}, "none"), loop,
                         node("ConcatFromSequence", {"rows"}, "y", "",
                              {integer_attribute("axis", 0), integer_attribute("new_axis", 1)})},
                        {integer("zero", 0)},
                        {value_info("x", {"t", "b"}), value_info("h0", {"b"})},
                        {value_info("y", {}), value_info("last", {})}}),
              {{"x", numbers({5, 3})}, {"h0", numbers({3})}});
}

// As masks are pasted into a picture: rows are made longer by what the data says and cut off again,
// so that only the list they are appended to tells how long they are. That is cast on the way.
TEST(OnnxRuns, WhatIsAppendedHasTheExtentsOfTheListItIsAppendedTo) {
  const std::string flag = tensor_type({}, 9), number = tensor_type({}, kInt64Type);
  const std::string body = graph_message(
      {{node("Identity", {"go"}, "goes_on"), node("Gather", {"x", "i"}, "at_i"),
        node("ConstantOfShape", {"more"}, "zeros"),
        node("Concat", {"at_i", "zeros"}, "longer", "", {integer_attribute("axis", 0)}),
        node("Slice", {"longer", "first", "eight"}, "cut"),
        node("Unsqueeze", {"cut", "first"}, "row"),
        node("Cast", {"so_far"}, "same", "", {integer_attribute("to", kFloatType)}),
        node("Concat", {"same", "row"}, "next", "", {integer_attribute("axis", 0)})},
       {},
       {typed("i", number), typed("go", flag), value_info("so_far", {"n", "8"})},
       {typed("goes_on", flag), value_info("next", {"m", "8"})}});
  const std::string bytes =
      model_of({{node("Shape", {"x"}, "shape"), node("Gather", {"shape", "zero"}, "count"),
                 node("ReduceMax", {"x"}, "highest", "", {integer_attribute("keepdims", 0)}),
                 node("Cast", {"highest"}, "whole", "", {integer_attribute("to", kInt64Type)}),
                 node("Unsqueeze", {"whole", "first"}, "more"),
                 node("Loop", {"count", "", "none"}, "y", "", {graph_attribute("body", body)})},
                {integer("zero", 0), list("first", {0}), list("eight", {8}),
                 tensor<float>("none", kFloatType, {0, 8}, {})},
                {value_info("x", {"t", "5"})},
                {value_info("y", {})}});
  expect_runs(bytes, {{"x", numbers({3, 5})}});  // 5 and the highest, 4, are more than 8
  Tensor low = numbers({3, 5});
  for (int64_t i = 0; i < low.count(); ++i) low.set(i, 1);
  const rlx::Graph graph = import_bytes(bytes);
  EXPECT_NE(error_of([&] { compile(graph).run({{"x", low}}); }), "");  // rows of 6
}

// A model of one node of com.microsoft, whose inputs are x0, x1 and so on.
rlx::Graph microsoft(const std::string& op, const Types& types,
                     const std::vector<std::pair<std::string, int64_t>>& attributes) {
  Model model;
  model.opsets = {{"", 17}, {"com.microsoft", 1}};
  Node node{op, "com.microsoft", "node", {}, {"y"}, {}};
  for (const auto& [name, value] : attributes) {
    Attribute attribute{name, ""};
    attribute.i = value;
    node.attributes.push_back(attribute);
  }
  for (size_t i = 0; i < types.size(); ++i) {
    TypeInfo info{TypeInfo::Kind::tensor, is_float(types[i].dtype) ? kFloatType : kInt32Type,
                  std::vector<DimInfo>{}};
    for (const Dim& dim : types[i].shape) info.shape->push_back({dim.number()});
    model.graph.inputs.push_back({text("x", i), info});
    node.inputs.push_back(text("x", i));
  }
  model.graph.nodes.push_back(node);
  model.graph.outputs.push_back({"y", {}});
  return import_model(model);
}

// torch.repeat_interleave(x, counts, 1): a Loop that appends each column as often as counts says.
std::string repeat_interleave() {
  const auto text_node = [](const char* op, const std::vector<std::string>& in, const char* out) {
    return node(op, in, out);
  };
  const std::string body =
      graph_message({{text_node("SequenceAt", {"counts of each", "i"}, "count"),
                      text_node("SequenceAt", {"columns", "i"}, "column"),
                      text_node("Unsqueeze", {"column", "two"}, "thin"),
                      node("Concat", {"open and one", "count", "nothing"}, "asked", "",
                           {integer_attribute("axis", 0)}),
                      text_node("Shape", {"asked"}, "rank"),
                      node("ConstantOfShape", {"rank"}, "ones", "", {message([](pbf_writer& out) {
                             out.add_string(1, "value");
                             out.add_message(5, list("", {1}));
                             out.add_int32(20, 4);
                           })}),
                      text_node("Mul", {"ones", "minus one"}, "minus ones"),
                      text_node("Equal", {"asked", "minus ones"}, "is open"),
                      text_node("Where", {"is open", "ones", "asked"}, "target"),
                      text_node("Expand", {"thin", "target"}, "wide"),
                      text_node("Reshape", {"wide", "zero and open"}, "piece"),
                      text_node("SequenceInsert", {"so far", "piece"}, "longer"),
                      text_node("Identity", {"goes on"}, "still")},
                     {},
                     {typed("i", tensor_type({}, kInt64Type)), typed("goes on", tensor_type({}, 9)),
                      typed("so far", type_of(kSequenceOf, tensor_type({"b", "n"})))},
                     {typed("still", tensor_type({}, 9)),
                      typed("longer", type_of(kSequenceOf, tensor_type({"b", "n"})))}});
  return model_of(
      {{node("Shape", {"counts"}, "length"),
        node("ConstantOfShape", {"length"}, "each", "", {message([](pbf_writer& out) {
               out.add_string(1, "value");
               out.add_message(5, list("", {1}));
               out.add_int32(20, 4);
             })}),
        node("SplitToSequence", {"counts", "each"}, "counts of each"),
        node("SplitToSequence", {"x", "each"}, "columns", "", {integer_attribute("axis", 1)}),
        node("SequenceEmpty", {}, "empty"),
        node("Loop", {"length", "", "empty"}, "all", "", {graph_attribute("body", body)}),
        node("ConcatFromSequence", {"all"}, "y", "", {integer_attribute("axis", 1)})},
       {list("two", {2}), list("open and one", {-1, 1}), list("nothing", {}),
        integer("minus one", -1), list("zero and open", {0, -1})},
       {value_info("x", {"b", "n"}), typed("counts", tensor_type({"n"}, kInt64Type))},
       {value_info("y", {})}});
}

TEST(OnnxRuns, RowsAreRepeatedAsOftenAsTheDataSays) {
  const rlx::Graph graph = import_bytes(repeat_interleave());
  for (const std::vector<double>& counts :
       {std::vector<double>{2, 0, 3, 1}, {0, 0, 0, 0}, {1, 1, 1, 1}, {0, 0, 0, 9}}) {
    const TensorMap inputs{{"x", numbers({2, 4})}, {"counts", Tensor::of(DType::i64, {4}, counts)}};
    const Tensor y = evaluate(graph, inputs).outputs.at("y");
    std::vector<double> expected;
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t i = 0; i < 4; ++i)
        expected.insert(expected.end(), size_t(counts[size_t(i)]), inputs.at("x").at(row * 4 + i));
    ASSERT_EQ(y.count(), static_cast<int64_t>(expected.size()));
    for (int64_t i = 0; i < y.count(); ++i) EXPECT_EQ(y.at(i), expected[size_t(i)]);
    expect_runs(graph, inputs);
  }
  expect_runs(graph, {{"x", numbers({2, 0})}, {"counts", Tensor(DType::i64, {0})}});
  for (const double hostile : {-1.0, -3e9, 1e18})
    for (const Device& device : test_devices()) {
      const TensorMap inputs{{"x", numbers({2, 2})},
                             {"counts", Tensor::of(DType::i64, {2}, {hostile, 1})}};
      EXPECT_NE(error_of([&] { compile(graph, {.device = device}).run(inputs); }), "")
          << device.name() << ' ' << hostile;
    }
}

// F.pad(x, (0, -w % 7)): PyTorch writes the pads in its own order and turns them round.
TEST(OnnxRuns, PadsThatAreTurnedRoundStayExpressions) {
  const rlx::Graph graph = import_bytes(model_of(
      {{node("Shape", {"x"}, "shape"), node("Gather", {"shape", "one"}, "w"),
        node("Mod", {"w", "seven"}, "over"), node("Sub", {"seven", "over"}, "under"),
        node("Mod", {"under", "seven"}, "more"), node("Unsqueeze", {"more", "first"}, "last"),
        node("Concat", {"first", "last", "rest"}, "pads", "", {integer_attribute("axis", 0)}),
        node("Reshape", {"pads", "pairs"}, "paired"),
        node("Slice", {"paired", "minus one", "far", "first", "minus one"}, "backwards"),
        node("Transpose", {"backwards"}, "turned", "", {message([](pbf_writer& out) {
               out.add_string(1, "perm");
               for (const int64_t axis : {1, 0}) out.add_int64(8, axis);
               out.add_int32(20, 7);
             })}),
        node("Reshape", {"turned", "minus one"}, "flat"), node("Pad", {"x", "flat"}, "y")},
       {integer("one", 1), integer("seven", 7), list("first", {0}), list("rest", {0, 0}),
        list("pairs", {-1, 2}), list("minus one", {-1}), list("far", {-INT64_MAX})},
       {value_info("x", {"h", "w"})},
       {value_info("y", {})}}));
  EXPECT_EQ(graph.outputs()[0].value.shape(), (Dims{"h", Dim("w") + mod(Dim(0) - Dim("w"), 7)}));
  for (const int64_t w : {0, 1, 6, 7, 8}) expect_runs(graph, {{"x", numbers({2, w})}});
}

// How many keys count, from where to where, and how many there were are values of a run. Nothing is
// read where they point to: whatever they say, devices agree with the reference.
TEST(OnnxRuns, LengthsAndMasksMayBeAnyNumbers) {
  constexpr int64_t kNumbers[] = {-1, 0, 100, INT32_MIN, INT32_MAX};
  const auto run = [](const rlx::Graph& graph, const Types& types, size_t hostile, int64_t number) {
    TensorMap inputs;
    for (size_t i = 0; i < types.size(); ++i) {
      const Shape shape = concrete(types[i].shape);
      Tensor tensor(types[i].dtype, shape);
      for (int64_t k = 0; k < tensor.count(); ++k)
        is_float(types[i].dtype) ? tensor.set(k, static_cast<double>(k % 7) * 0.1 - 0.3)
                                 : tensor.set_integer(k, i == hostile && k == 0 ? number : 3);
      inputs[text("x", i)] = tensor;
    }
    SCOPED_TRACE(number);
    constexpr double kUlpOfMasked = 1e-3;  // of scores that a mask has lowered by 10,000
    expect_runs(graph, inputs, kUlpOfMasked);
  };
  for (const Dims& mask : {Dims{2}, Dims{4}, Dims{2, 3}, Dims{2, 3, 3}}) {
    const Types types{f32({2, 3, 4}), f32({4, 12}), f32({12}), i32(mask)};
    const rlx::Graph graph = microsoft("Attention", types, {{"num_heads", 2}});
    for (const int64_t number : kNumbers) run(graph, types, 3, number);
  }
  const Types types{f32({2, 1, 16}),   f32({2, 1, 8}), f32({2, 1, 8}), f32({2, 2, 4, 4}),
                    f32({2, 2, 4, 4}), i32({2}),       i32({})};
  const rlx::Graph graph =
      microsoft("GroupQueryAttention", types, {{"num_heads", 4}, {"kv_num_heads", 2}});
  for (const int64_t number : kNumbers) run(graph, types, 5, number);
}

}  // namespace
}  // namespace rlx::onnx
