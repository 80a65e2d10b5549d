// What every op says when it is used wrongly: its own name, and what is wrong. Each op's test has
// the messages that are its own.
#include <gtest/gtest.h>

#include "rlx/conformance/op_cases.h"
#include "rlx/ir/graph.h"
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

// Each operand in turn left out, which a file may do even where an op has no use for it.
TEST(OpErrors, AnAbsentOperandIsTakenOrRefused) {
  const OpSet ops = catalog();
  for (const OpCase& row : one_row_each())
    for (size_t i = 0; i < row.inputs.size(); ++i) {
      OpCase changed = row;
      changed.inputs[i] = absent();
      const std::string message = error_of_row(changed, ops);
      EXPECT_TRUE(message.empty() || starts_with(message, row.op + ": ")) << message;
    }
}

// What a hostile file may say in place of a list: none, one too many, or all of them that number.
template <class List, class Numbers>
std::vector<Attr> extreme_lists(const List& list, const Numbers& numbers) {
  std::vector<Attr> extremes{List{}};
  for (const auto& number : numbers) {
    extremes.emplace_back(List(list.size(), number));
    List longer = list;
    longer.push_back(number);
    extremes.emplace_back(longer);
  }
  return extremes;
}

std::vector<Attr> extremes_of(const Attr& attr) {
  const Ints integers{-1, 0, int64_t{1} << 32, INT64_MAX, INT64_MIN};
  const Floats floats{-1, 0, 1e300, kInf, kNaN};
  if (const auto* list = std::get_if<Ints>(&attr.variant())) return extreme_lists(*list, integers);
  if (const auto* list = std::get_if<Dims>(&attr.variant())) return extreme_lists(*list, integers);
  if (const auto* list = std::get_if<Floats>(&attr.variant())) return extreme_lists(*list, floats);
  if (std::holds_alternative<int64_t>(attr.variant())) return {integers.begin(), integers.end()};
  if (std::holds_alternative<double>(attr.variant())) return {floats.begin(), floats.end()};
  return {};
}

// Under the sanitizers: no count, axis or size of a file may be taken before it is looked at.
TEST(OpErrors, AnExtremeAttributeIsTakenOrRefused) {
  const OpSet ops = catalog();
  int refused = 0;
  for (const OpCase& row : one_row_each()) {
    Attrs attrs = row.attrs;
    for (const AttrSpec& spec : ops.at(row.op)->attrs)
      if (spec.otherwise && !attrs.has(spec.name)) attrs.set(spec.name, *spec.otherwise);
    for (const auto& [name, attr] : attrs)
      for (const Attr& extreme : extremes_of(attr)) {
        SCOPED_TRACE(text(row.op, ' ', name));
        OpCase changed = row;
        changed.attrs.set(name, extreme);
        refused += error_of_row(changed, ops).empty() ? 0 : 1;
      }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace rlx
