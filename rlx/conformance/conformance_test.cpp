// Every row on every device against the reference.
#include <gtest/gtest.h>

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/family_test.h"
#include "rlx/conformance/runner.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/catalog.h"

namespace rlx {
namespace {

void check_rows(const Device& device, const std::vector<OpCase>& rows) {
  const OpSet ops = catalog();
  for (const OpCase& row : rows) {
    SCOPED_TRACE(device.name() + ": " + describe(row));
    const CaseResult result = run_case(row, ops, device);
    EXPECT_TRUE(result.right()) << name(result.outcome) << ": " << result.detail;
  }
}

class Conformance : public FamilyTest {};
TEST_P(Conformance, AgreesWithTheReference) { check_rows(device(), rows()); }
INSTANTIATE_TEST_SUITE_P(Rows, Conformance,
                         testing::ValuesIn(families_on({"cpu", "lavapipe", "swiftshader"})),
                         family_name);

TEST(ConformanceRows, AnyOtherDeviceAgreesWithTheReferenceOnAllRows) {
  for (const Device& device : test_devices())
    if (device.name() != "lavapipe" && device.name() != "swiftshader" && !device.is_cpu())
      check_rows(device, op_cases());
}

TEST(ConformanceRows, EveryOpAndCompositionHasAtLeastThreeRows) {
  std::map<std::string, int> rows;
  for (const OpCase& row : op_cases()) ++rows[row.op];
  for (const auto& [op, count] : rows) EXPECT_GE(count, 3) << op;
  for (const OpRef& op : catalog().all()) {
    if (op->family == "structure") continue;
    EXPECT_GE(rows[op->name], 3) << op->name << " (" << op->family << ')';
  }
}

// But for those that have no operands but numbers which say how much to make.
TEST(ConformanceRows, EveryOpHasARowWithNothingInItAndOneOfMoreThanAWorkgroup) {
  const std::set<std::string> made_of_numbers{"cosine_window", "fftfreq",       "float_range",
                                              "mel_filters",   "random_normal", "random_uniform",
                                              "range",         "rfftfreq",      "window"};
  std::map<std::string, std::pair<int64_t, int64_t>> least_and_most;
  for (const OpCase& row : op_cases())
    for (const CaseInput& input : row.inputs) {
      if (input.fill == CaseInput::Fill::absent) continue;
      const int64_t elements = count(bound(input.type.shape, row.symbols));
      auto& [least, most] = least_and_most.try_emplace(row.op, elements, elements).first->second;
      least = std::min(least, elements);
      most = std::max(most, elements);
    }
  for (const auto& [op, seen] : least_and_most) {
    if (made_of_numbers.count(op)) continue;
    EXPECT_EQ(seen.first, 0) << op;
    EXPECT_GT(seen.second, 256) << op;
  }
}

TEST(ConformanceRows, TheReferenceWritesAllOfItsResults) {
  const OpSet ops = catalog();
  for (const OpCase& row : op_cases()) {
    SCOPED_TRACE(describe(row));
    const CaseGraph built = case_graph(row, ops);
    const TensorMap want = evaluate(built.graph, built.inputs).outputs;
    for (const auto& [name, tensor] :
         evaluate(built.graph, built.inputs, {.used_memory = true}).outputs)
      EXPECT_TRUE(same_bytes(tensor, want.at(name))) << name;
  }
}

TEST(ConformanceRows, EveryRowSaysWhy) {
  for (const OpCase& row : op_cases()) EXPECT_FALSE(row.why.empty()) << describe(row);
}

TEST(ConformanceRows, AnOpWithoutGradientSaysWhy) {
  for (const OpRef& op : catalog().all())
    EXPECT_TRUE(op->gradient || !op->gradient_reason.empty()) << op->name;
}

}  // namespace
}  // namespace rlx
