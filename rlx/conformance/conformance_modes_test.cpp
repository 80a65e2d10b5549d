// The same rows where a device or the compiler is not as usual: lowered limits, no f16, no passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/family_test.h"
#include "rlx/conformance/runner.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/ir/text.h"
#include "rlx/ops/catalog.h"
#include "rlx/passes/passes.h"

namespace rlx {
namespace {

constexpr int64_t kLoweredBytes = 1024;

bool is_one_of(std::span<const std::string_view> names, const OpCase& row) {
  return std::find(names.begin(), names.end(), row.op) != names.end();
}

// Ops whose rows stay whole: what lies between the first and the last element of a row, with those
// of its neighbours, must fit, next to what an alignment takes.
bool has_rows_that_fit(const OpCase& row) {
  constexpr std::string_view kOps[] = {"softmax",  "log_softmax", "layer_norm",
                                       "rms_norm", "argmax",      "argmin"};
  if (!is_one_of(kOps, row)) return false;
  constexpr int64_t kRoom = (kLoweredBytes - 256) / 4;
  const Dims& shape = row.inputs[0].type.shape;
  const bool plain = row.op != "argmax" && row.op != "argmin";
  int64_t axis = row.attrs.has("axis") ? row.attrs.get<int64_t>("axis") : plain ? -1 : 0;
  if (axis < 0) axis += static_cast<int64_t>(shape.size());
  int64_t span = 1;
  for (size_t d = static_cast<size_t>(axis); d < shape.size(); ++d)
    span *= shape[d].value(row.symbols);
  return is_concrete(shape) && span <= kRoom;
}

int64_t bytes_of_last_axis(const CaseInput& input, const OpCase& row) {
  return input.type.shape.back().value(row.symbols) * bytes_of(input.type.dtype);
}

// What must go on beyond the limit; other ops may say that a tensor is too large.
bool is_taken_in_shards(const OpCase& row, const OpSet& ops) {
  constexpr std::string_view kOps[] = {"matmul",  "linear",      "gather",     "cast",
                                       "concat",  "slice",       "transpose",  "expand",
                                       "sum",     "mean",        "prod",       "l1",
                                       "l2",      "sum_square",  "reduce_max", "reduce_min",
                                       "log_sum", "mean_square", "logsumexp",  "quantised_matmul"};
  if (row.compose) return false;
  // A row of a quantised weight's blocks, and what it meets, must fit.
  const bool in_blocks = row.attrs.has("format") && !row.attrs.get<std::string>("format").empty();
  if (in_blocks) {
    constexpr int64_t kRoom = kLoweredBytes - 256;
    if (row.op == "quantised_gather") return bytes_of_last_axis(row.inputs[0], row) * 8 <= kRoom;
    constexpr std::string_view kProducts[] = {"quantised_matmul", "quantised_grouped_matmul"};
    return is_one_of(kProducts, row) && row.attrs.get_or("transpose_w", true) &&
           bytes_of_last_axis(row.inputs[0], row) <= kRoom;
  }
  // In parts, beside its axis or of what it is made of.
  constexpr std::string_view kSoftmax[] = {"softmax", "log_softmax"};
  if (is_one_of(kSoftmax, row) && row.inputs[0].type.dtype == DType::f32 &&
      is_concrete(row.inputs[0].type.shape))
    return true;
  return ops.at(row.op)->elementwise || is_one_of(kOps, row) || has_rows_that_fit(row);
}

// Whether a refusal says what was too large, how large it is, and what the limit is.
bool names_size_and_limit(const std::string& message) {
  const bool size = message.find_first_of("0123456789") != std::string::npos;
  return size && message.find(std::to_string(kLoweredBytes)) != std::string::npos;
}

class LoweredLimits : public FamilyTest {};
TEST_P(LoweredLimits, TensorsBeyondThemAreTakenInShards) {
  FindOptions options = test_find_options();
  options.max_binding_bytes = kLoweredBytes;
  const std::optional<Device> lowered = test_device(GetParam().device, options);
  ASSERT_TRUE(lowered);
  ASSERT_EQ(lowered->traits().max_binding_bytes, kLoweredBytes);
  const OpSet ops = catalog();
  std::vector<std::string> should_be_sharded;
  for (const OpCase& row : rows()) {
    SCOPED_TRACE(describe(row));
    const CaseResult result = run_case(row, ops, *lowered);
    EXPECT_TRUE(result.right() || result.limit) << name(result.outcome) << ": " << result.detail;
    if (!result.limit) continue;
    EXPECT_TRUE(names_size_and_limit(result.detail)) << result.detail;
    if (is_taken_in_shards(row, ops))
      should_be_sharded.push_back(describe(row) + "\n    " + result.detail);
  }
  EXPECT_TRUE(should_be_sharded.empty()) << joined(should_be_sharded, "\n");
}
// Which shards there are does not depend on the driver, so one will do but once in a while.
INSTANTIATE_TEST_SUITE_P(Rows, LoweredLimits, testing::ValuesIn(families_on({"lavapipe"})),
                         family_name);
INSTANTIATE_TEST_SUITE_P(RowsLong, LoweredLimits, testing::ValuesIn(families_on({"swiftshader"})),
                         family_name);

TEST(ConformanceModes, F16RowsAreTheSameWhenTheDeviceMustPackThem) {
  FindOptions options = test_find_options();
  options.allow_f16 = false;
  const std::optional<Device> device = test_device("lavapipe", options);
  if (!device) GTEST_SKIP() << "there is no lavapipe";
  ASSERT_FALSE(device->traits().f16);
  const OpSet ops = catalog();
  for (const OpCase& row : op_cases()) {
    const auto is_f16 = [](const CaseInput& input) { return input.type.dtype == DType::f16; };
    const DType* target = row.attrs.has("dtype") ? row.attrs.find<DType>("dtype") : nullptr;
    if (std::none_of(row.inputs.begin(), row.inputs.end(), is_f16) &&
        !(target && *target == DType::f16))
      continue;
    SCOPED_TRACE(describe(row));
    const CaseResult result = run_case(row, ops, *device);
    EXPECT_TRUE(result.right()) << name(result.outcome) << ": " << result.detail;
  }
}

// Passes must not be what makes a row right. A row they leave as it is has been run.
class WithoutPasses : public FamilyTest {};
TEST_P(WithoutPasses, AgreesWithTheReference) {
  const OpSet ops = catalog();
  for (const OpCase& row : rows()) {
    SCOPED_TRACE(describe(row));
    const Graph graph = case_graph(row, ops).graph;
    if (print(run_passes(graph, {.target = PassTarget{device().traits()}})) == print(graph))
      continue;
    const CaseResult result = run_case(row, ops, device(), false);
    EXPECT_TRUE(result.right()) << name(result.outcome) << ": " << result.detail;
  }
}
INSTANTIATE_TEST_SUITE_P(Rows, WithoutPasses, testing::ValuesIn(families_on({"cpu", "lavapipe"})),
                         family_name);

void check_gradients(const Device& device, const std::vector<OpCase>& rows) {
  const OpSet ops = catalog();
  for (const OpCase& row : rows) {
    SCOPED_TRACE(describe(row));
    if (!has_gradient_check(row, ops)) continue;
    const CaseResult result = check_gradient(row, ops, device);
    EXPECT_EQ(result.outcome, Outcome::pass) << result.detail;
  }
}
class GradientRows : public FamilyTest {};
TEST_P(GradientRows, AgreeWithFiniteDifferences) { check_gradients(device(), rows()); }
INSTANTIATE_TEST_SUITE_P(Rows, GradientRows, testing::ValuesIn(families_on({"cpu", "lavapipe"})),
                         family_name);
INSTANTIATE_TEST_SUITE_P(RowsLong, GradientRows, testing::ValuesIn(families_on({"swiftshader"})),
                         family_name);

// What SwiftShader compiles for all of them takes longer than all else it does.
class GradientRowOfEachOp : public FamilyTest {};
TEST_P(GradientRowOfEachOp, AgreesWithFiniteDifferences) {
  const OpSet ops = catalog();
  std::vector<OpCase> first;
  std::set<std::string> seen;
  for (const OpCase& row : rows())
    if (has_gradient_check(row, ops) && seen.insert(row.op).second) first.push_back(row);
  check_gradients(device(), first);
}
INSTANTIATE_TEST_SUITE_P(Rows, GradientRowOfEachOp, testing::ValuesIn(families_on({"swiftshader"})),
                         family_name);

}  // namespace
}  // namespace rlx
