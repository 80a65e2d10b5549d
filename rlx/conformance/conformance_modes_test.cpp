// The same rows where a device or the compiler is not as usual: lowered limits, no f16, no passes.
#include <gtest/gtest.h>

#include <algorithm>

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/runner.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/ops/catalog.h"

namespace rlx {
namespace {

constexpr int64_t kLoweredBytes = 1024;

bool reduces_trailing_axes(const OpCase& row) {
  const auto rank = static_cast<int64_t>(row.inputs[0].type.shape.size());
  Ints axes = row.attrs.get_or<Ints>("axes", {});
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  const auto kept = rank - static_cast<int64_t>(axes.size());
  return std::all_of(axes.begin(), axes.end(), [&](int64_t axis) { return axis >= kept; });
}

// What must go on beyond the limit. A reduction of leading axes and the copy of a slice read all
// over a tensor: they still refuse.
bool is_taken_in_shards(const OpDef& op, const OpCase& row) {
  constexpr std::string_view kOps[] = {"matmul", "linear", "gather",
                                       "cast",   "concat", "quantised_matmul"};
  constexpr std::string_view kReductions[] = {"sum", "mean", "reduce_max", "reduce_min"};
  const auto is_in = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), op.name) != std::end(names);
  };
  return op.elementwise || is_in(kOps) || (is_in(kReductions) && reduces_trailing_axes(row));
}

// Whether a refusal says what was too large, how large it is, and what the limit is.
bool names_size_and_limit(const std::string& message) {
  const bool size = message.find_first_of("0123456789") != std::string::npos;
  return size && message.find(std::to_string(kLoweredBytes)) != std::string::npos;
}

void check_lowered_limits(const char* device_name) {
  FindOptions options = test_find_options();
  options.max_binding_bytes = kLoweredBytes;
  const std::optional<Device> device = test_device(device_name, options);
  if (!device) GTEST_SKIP() << "there is no " << device_name;
  ASSERT_EQ(device->traits().max_binding_bytes, kLoweredBytes);
  const OpSet ops = catalog();
  std::vector<std::string> should_be_sharded;
  for (const OpCase& row : op_cases()) {
    SCOPED_TRACE(describe(row));
    const CaseResult result = run_case(row, ops, *device);
    EXPECT_TRUE(result.right() || result.limit) << name(result.outcome) << ": " << result.detail;
    if (!result.limit) continue;
    EXPECT_TRUE(names_size_and_limit(result.detail)) << result.detail;
    if (is_taken_in_shards(*ops.at(row.op), row))
      should_be_sharded.push_back(describe(row) + "\n    " + result.detail);
  }
  EXPECT_TRUE(should_be_sharded.empty()) << joined(should_be_sharded, "\n");
}

TEST(Conformance, LavapipeTakesTensorsBeyondItsBindingLimitInShards) {
  check_lowered_limits("lavapipe");
}
TEST(Conformance, SwiftshaderTakesTensorsBeyondItsBindingLimitInShards) {
  check_lowered_limits("swiftshader");
}

TEST(Conformance, F16RowsAreTheSameWhenTheDeviceMustPackThem) {
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

// Passes must not be what makes a row right.
void check_without_passes(const char* device_name) {
  const std::optional<Device> device = test_device(device_name);
  if (!device) GTEST_SKIP() << "there is no " << device_name;
  const OpSet ops = catalog();
  for (const OpCase& row : op_cases()) {
    SCOPED_TRACE(describe(row));
    const CaseResult result = run_case(row, ops, *device, false);
    EXPECT_TRUE(result.right()) << name(result.outcome) << ": " << result.detail;
  }
}
TEST(Conformance, CpuAgreesWithTheReferenceWithoutPasses) { check_without_passes("cpu"); }
TEST(Conformance, LavapipeAgreesWithTheReferenceWithoutPasses) { check_without_passes("lavapipe"); }

void check_gradients(const char* device_name) {
  const std::optional<Device> device = test_device(device_name);
  if (!device) GTEST_SKIP() << "there is no " << device_name;
  const OpSet ops = catalog();
  int checked = 0;
  for (const OpCase& row : op_cases()) {
    SCOPED_TRACE(describe(row));
    if (!has_gradient_check(row, ops)) continue;
    const CaseResult result = check_gradient(row, ops, *device);
    EXPECT_EQ(result.outcome, Outcome::pass) << result.detail;
    ++checked;
  }
  EXPECT_GT(checked, 100);
}
TEST(Conformance, GradientsOnTheCpuAgreeWithFiniteDifferences) { check_gradients("cpu"); }
TEST(Conformance, GradientsOnLavapipeAgreeWithFiniteDifferences) { check_gradients("lavapipe"); }
TEST(Conformance, GradientsOnSwiftshaderAgreeWithFiniteDifferences) {
  check_gradients("swiftshader");
}

}  // namespace
}  // namespace rlx
