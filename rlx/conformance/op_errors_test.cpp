// What every op says when it is used wrongly: its own name, and what is wrong. Each op's test has
// the messages that are its own.
#include <gtest/gtest.h>

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/catalog.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

// The first row of every op that is a node by itself.
std::vector<OpCase> one_row_each() {
  std::vector<OpCase> rows;
  std::set<std::string> seen;
  for (OpCase& row : op_cases())
    if (!row.compose && seen.insert(row.op).second) rows.push_back(std::move(row));
  return rows;
}

std::string error_of_row(const OpCase& row, const OpSet& ops) {
  Graph graph;
  Values inputs;
  for (size_t i = 0; i < row.inputs.size(); ++i) {
    const CaseInput& input = row.inputs[i];
    if (input.fill == CaseInput::Fill::absent)
      inputs.emplace_back();
    else if (input.fill == CaseInput::Fill::given)
      inputs.push_back(graph.constant(input.tensor));
    else
      inputs.push_back(graph.input(text("input", i), input.type));
  }
  return error_of([&] { graph.add(ops.at(row.op), inputs, row.attrs); });
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

TEST(OpErrors, EveryOpSaysWhichOperandIsMissing) {
  const OpSet ops = catalog();
  for (OpCase row : one_row_each()) {
    if (ops.at(row.op)->inputs.min == 0) continue;
    row.inputs.clear();
    EXPECT_TRUE(starts_with(error_of_row(row, ops), row.op + ": takes ")) << row.op;
    row.inputs.assign(ops.at(row.op)->inputs.min, absent());
    EXPECT_TRUE(starts_with(error_of_row(row, ops), row.op + ": input 0 ('")) << row.op;
  }
}

TEST(OpErrors, EveryOpRefusesAnAttributeItDoesNotHave) {
  const OpSet ops = catalog();
  for (OpCase row : one_row_each()) {
    row.attrs.set("no_such", 1);
    EXPECT_TRUE(starts_with(error_of_row(row, ops), row.op + ": has no attribute 'no_such'"))
        << row.op;
  }
}

TEST(OpErrors, EveryAxisOutOfRangeIsNamed) {
  const OpSet ops = catalog();
  int with_axis = 0;
  for (OpCase row : one_row_each()) {
    if (!row.attrs.has("axis")) {
      const auto& specs = ops.at(row.op)->attrs;
      if (std::none_of(specs.begin(), specs.end(),
                       [](const AttrSpec& spec) { return spec.name == "axis"; }))
        continue;
    }
    row.attrs.set("axis", 99);
    const std::string message = error_of_row(row, ops);
    if (message.empty()) continue;  // an axis that this row does not use
    ++with_axis;
    EXPECT_TRUE(starts_with(message, row.op + ": ")) << message;
    EXPECT_NE(message.find("99"), std::string::npos) << message;
  }
  EXPECT_GT(with_axis, 15);
}

// Another dtype, or more dims, for each operand in turn: an op may take it, or say who refuses it.
TEST(OpErrors, AnOperandThatDoesNotFitIsRefusedByName) {
  const OpSet ops = catalog();
  std::set<std::string> refusing;
  for (const OpCase& row : one_row_each())
    for (size_t i = 0; i < row.inputs.size(); ++i) {
      if (row.inputs[i].fill == CaseInput::Fill::absent) continue;
      for (const TensorType& type :
           {TensorType{DType::c64, row.inputs[i].type.shape}, TensorType{DType::boolean, {3}},
            f32({2, 1, 3, 1, 2, 1, 2, 1}), TensorType{DType::f32, {}}}) {
        OpCase changed = row;
        changed.inputs[i] = normal(type);
        const std::string message = error_of_row(changed, ops);
        if (message.empty()) continue;
        refusing.insert(row.op);
        EXPECT_TRUE(starts_with(message, row.op + ": ")) << row.op << ": " << message;
      }
    }
  EXPECT_GT(refusing.size(), 120u);
}

}  // namespace
}  // namespace rlx
