// Files of a few hundred bytes that ask for gigabytes or for minutes: an Error at once that says
// what they may have.
#include "rlx/import/onnx/budget.h"

#include <gtest/gtest.h>

#include "rlx/import/onnx/build_model.h"
#include "rlx/ir/evaluate.h"
#include "rlx/testing.h"

namespace rlx::onnx {
namespace {

const std::string kY = value_info("y", {});
constexpr int kBool = 9;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }
std::string refusal(const std::string& bytes, const ImportOptions& options = {}) {
  return first_line(error_of([&] { import_bytes(bytes, options); }));
}
void expect_too_much(const std::string& said, const std::string& what) {
  EXPECT_EQ(said.rfind("the import takes more than ", 0), 0U) << said;
  EXPECT_NE(said.find(' ' + what + ", which is what "), std::string::npos) << said;
}

std::string call(const std::string& name, const std::vector<std::string>& inputs,
                 const std::string& output) {
  return node(name, inputs, output) + message([](pbf_writer& out) { out.add_string(7, "my"); });
}
std::string function(const std::string& name, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& nodes) {
  return message([&](pbf_writer& out) {
    out.add_string(1, name);
    for (const std::string& input : inputs) out.add_string(4, input);
    out.add_string(5, "b");
    for (const std::string& each : nodes) out.add_message(7, each);
    out.add_string(10, "my");
  });
}
std::string with_functions(const std::string& bytes, const std::vector<std::string>& functions) {
  return bytes + message([&](pbf_writer& out) {
           for (const std::string& entry : functions) out.add_message(25, entry);
         });
}

// Each function is the one before it, twice.
std::string doubling(int functions) {
  std::vector<std::string> all{function("F0", {"a"}, {node("Relu", {"a"}, "b")})};
  for (int i = 1; i <= functions; ++i)
    all.push_back(
        function(text("F", i), {"a"},
                 {call(text("F", i - 1), {"a"}, "t"), call(text("F", i - 1), {"t"}, "b")}));
  return with_functions(model({call(text("F", functions), {"x"}, "y")}), all);
}

TEST(OnnxBudget, FunctionsThatDoubleEachOther) {
  expect_too_much(refusal(doubling(30)), "nodes");
  EXPECT_EQ(import_bytes(doubling(10)).nodes().size(), 1025U);
}

TEST(OnnxBudget, BranchesThatDoubleEachOther) {
  const auto branch = [](int i) {
    return graph_message({{call(text("F", i), {"a", "c"}, "t")}, {}, {}, {value_info("t", {"n"})}});
  };
  std::vector<std::string> all{function("F0", {"a", "c"}, {node("Relu", {"a"}, "b")})};
  for (int i = 1; i <= 24; ++i)
    all.push_back(function(text("F", i), {"a", "c"},
                           {node("If", {"c"}, "b", "",
                                 {graph_attribute("then_branch", branch(i - 1)),
                                  graph_attribute("else_branch", branch(i - 1))})}));
  const std::string bytes = model_of({{call("F24", {"x", "c"}, "y")},
                                      {},
                                      {value_info("x", {"2"}), typed("c", tensor_type({}, kBool))},
                                      {kY}});
  expect_too_much(refusal(with_functions(bytes, all)), "nodes");
}

TEST(OnnxBudget, FunctionsThatCallThemselves) {
  EXPECT_EQ(refusal(with_functions(model({call("F", {"x"}, "y")}),
                                   {function("F", {"a"}, {call("F", {"a"}, "b")})})),
            "functions and bodies are within each other more than 64 deep");
}

// Body of a loop that makes what it carries one row longer, and so must be written out.
std::string grows(const std::string& inside, const std::string& from, const std::string& to) {
  const std::string go = "go_" + to, goes_on = "goes_on_" + to;
  return graph_message({{node("Identity", {go}, goes_on), inside},
                        {},
                        {value_info("i_" + to, {}), value_info(go, {}), value_info(from, {"n"})},
                        {value_info(goes_on, {}), value_info(to, {"m"})}});
}
std::string loop(const std::string& from, const std::string& to, const std::string& body) {
  return node("Loop", {"count", "", from}, to, "", {graph_attribute("body", body)});
}
std::string longer(const std::string& from, const std::string& to) {
  return node("Concat", {from, "x"}, to, "", {integer_attribute("axis", 0)});
}

TEST(OnnxBudget, LoopsWithinLoopsThatAreWrittenOut) {
  const auto nested = [](int64_t count) {
    const std::string inner = grows(longer("v", "w"), "v", "w");
    const std::string outer = grows(loop("s", "t", inner), "s", "t");
    return model_of(
        {{loop("x", "y", outer)}, {integer("count", count)}, {value_info("x", {"2"})}, {kY}});
  };
  expect_too_much(refusal(nested(4000)), "nodes");
  EXPECT_EQ(import_bytes(nested(10)).outputs()[0].value.shape(), Dims{202});
  ImportOptions few;
  few.budget.iterations = {50, 0};
  EXPECT_EQ(refusal(nested(10), few).rfind("the import takes more than 50 iterations of loops", 0),
            0U);
  few.budget = {};
  few.budget.depth = 1;
  EXPECT_EQ(refusal(nested(2), few), "functions and bodies are within each other more than 1 deep");
}

TEST(OnnxBudget, SequencesOfSoManyParts) {
  const auto cut = [](int64_t parts) {
    return model_of({{node("ConstantOfShape", {"shape"}, "c"), node("SplitToSequence", {"c"}, "s"),
                      node("ConcatFromSequence", {"s"}, "y", "", {integer_attribute("axis", 0)})},
                     {list("shape", {parts})},
                     {},
                     {kY}});
  };
  expect_too_much(refusal(cut(60000)), "nodes");
  EXPECT_EQ(refusal(cut(100)), "");
}

TEST(OnnxBudget, DimsThatAreSquaredAgainAndAgain) {
  std::vector<std::string> nodes{node("Shape", {"x"}, "s0")};
  for (int i = 0; i < 30; ++i)
    nodes.push_back(node("Mul", {text("s", i), text("s", i)}, text("s", i + 1)));
  nodes.push_back(node("ConstantOfShape", {"s30"}, "y"));
  EXPECT_EQ(refusal(model_of({nodes, {}, {value_info("x", {"n", "m"})}, {kY}})),
            "a dim is an expression of 4097 parts, the limit is 4096");
}

TEST(OnnxBudget, DimsThatAreLongInEveryNode) {
  std::vector<std::string> nodes{node("Shape", {"x"}, "s0")};
  const int kLong = 11, kMany = 300;  // n^2048, in many nodes
  for (int i = 0; i < kLong; ++i)
    nodes.push_back(node("Mul", {text("s", i), text("s", i)}, text("s", i + 1)));
  for (int i = kLong; i < kMany; ++i)
    nodes.push_back(node("Add", {text("s", i), "one"}, text("s", i + 1)));
  nodes.push_back(node("ConstantOfShape", {text("s", kMany)}, "y"));
  const std::string bytes = model_of({nodes, {list("one", {1})}, {value_info("x", {"n"})}, {kY}});
  ImportOptions few;
  few.budget.dim_parts = {100000, 0};
  expect_too_much(refusal(bytes, few), "parts of dims");
}

TEST(OnnxBudget, TensorsThatTheImportComputes) {
  const std::string bytes = model_of(
      {{node("MelWeightMatrix", {"bins", "length", "rate", "low", "high"}, "y")},
       {integer("bins", 10000), integer("length", 20000), integer("rate", 16000),
        tensor<float>("low", kFloatType, {}, {0}), tensor<float>("high", kFloatType, {}, {8000})},
       {},
       {kY}});
  expect_too_much(refusal(bytes), "elements of tensors that it computes");
  ImportOptions more;
  more.budget.elements = {int64_t{1} << 28, 0};
  EXPECT_EQ(refusal(bytes, more), "");
}

// What a larger file may ask for grows with it.
TEST(OnnxBudget, AFileMayHaveAsManyNodesAsItNames) {
  std::vector<std::string> nodes;
  constexpr int kNodes = 50000;
  for (int i = 0; i < kNodes; ++i)
    nodes.push_back(
        node("Relu", {i == 0 ? "x" : text("t", i)}, i + 1 == kNodes ? "y" : text("t", i + 1)));
  EXPECT_EQ(import_bytes(model(nodes)).nodes().size(), kNodes + 1U);
}

// Appending shares what is there; the sequences before stay as they were.
TEST(OnnxBudget, ASequenceGrowsWithoutCopies) {
  std::vector<std::string> nodes{node("SequenceConstruct", {"x"}, "s0")};
  constexpr int kLast = 5000;
  for (int i = 0; i < kLast; ++i)
    nodes.push_back(node("SequenceInsert", {text("s", i), "x"}, text("s", i + 1)));
  for (const char* other : {"a", "b"}) nodes.push_back(node("SequenceInsert", {"s1", "x"}, other));
  nodes.push_back(node("SequenceErase", {text("s", kLast)}, "shorter"));
  nodes.push_back(node("SequenceInsert", {"shorter", "x"}, "again"));
  const auto length_of = [&](const std::string& name) {
    std::vector<std::string> all = nodes;
    all.push_back(node("SequenceLength", {name}, "y"));
    return evaluate(import_bytes(model(all)), {{"x", Tensor(DType::f32, {1})}})
        .outputs.at("y")
        .integer_at(0);
  };
  EXPECT_EQ(length_of("s0"), 1);
  EXPECT_EQ(length_of("a"), 3);
  EXPECT_EQ(length_of("b"), 3);
  EXPECT_EQ(length_of(text("s", kLast)), kLast + 1);
  EXPECT_EQ(length_of("shorter"), kLast);
  EXPECT_EQ(length_of("again"), kLast + 1);
  // Elsewhere than at its end, all of it is copied, which is counted.
  std::vector<std::string> front{node("SequenceConstruct", {"x"}, "s0")};
  for (int i = 0; i < kLast; ++i)
    front.push_back(node("SequenceInsert", {text("s", i), "x", "zero"}, text("s", i + 1)));
  front.push_back(node("SequenceLength", {text("s", kLast)}, "y"));
  ImportOptions few;
  few.budget.nodes = {100000, 0};
  expect_too_much(refusal(model(front, {integer("zero", 0)}), few), "nodes");
}

TEST(OnnxBudget, ASequenceIsNotWithinAnother) {
  EXPECT_EQ(
      refusal(model({node("SequenceConstruct", {"x"}, "s"), node("SequenceConstruct", {"s"}, "t"),
                     node("SequenceLength", {"t"}, "y")})),
      "SequenceConstruct: the elements of a sequence are tensors");
}

TEST(OnnxBudget, NamesOfDimsAreToldApartInOneStepEach) {
  std::vector<std::string> inputs, nodes;
  constexpr int kInputs = 20000;
  for (int i = 0; i < kInputs; ++i)
    inputs.push_back(value_info(text("x", i), {i % 2 ? text("s+", i) : text("s-", i)}));
  const rlx::Graph graph = import_bytes(model_of({{node("Relu", {"x7"}, "y")}, {}, inputs, {kY}}));
  EXPECT_EQ(graph.nodes().size(), kInputs + 1U);
  const std::string odd(100000, '+');
  EXPECT_LT(
      text(import_bytes(model_of({{node("Relu", {"x"}, "y")}, {}, {value_info("x", {odd})}, {kY}}))
               .outputs()[0]
               .value.shape())
          .size(),
      200U);
}

}  // namespace
}  // namespace rlx::onnx
