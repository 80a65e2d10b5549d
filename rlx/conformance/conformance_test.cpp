// Every row on every device against the reference. One test takes a whole family, because opening a
// device costs more than running a row.
#include <gtest/gtest.h>

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/runner.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/ops/catalog.h"

namespace rlx {
namespace {

using Rows = std::vector<OpCase>;

void check_rows(const Device& device, const Rows& rows) {
  const OpSet ops = catalog();
  for (const OpCase& row : rows) {
    SCOPED_TRACE(device.name() + ": " + describe(row));
    const CaseResult result = run_case(row, ops, device);
    EXPECT_TRUE(result.right()) << name(result.outcome) << ": " << result.detail;
  }
}

void check_device(const char* name, const Rows& rows) {
  const std::optional<Device> device = test_device(name);
  if (!device) GTEST_SKIP() << "there is no " << name;
  check_rows(*device, rows);
}

TEST(Conformance, CpuAgreesWithTheReferenceOnElementwiseRows) {
  check_device("cpu", elementwise_cases());
}
TEST(Conformance, CpuAgreesWithTheReferenceOnReductionRows) {
  check_device("cpu", reduction_cases());
}
TEST(Conformance, CpuAgreesWithTheReferenceOnLinearRows) { check_device("cpu", linear_cases()); }
TEST(Conformance, CpuAgreesWithTheReferenceOnAttentionRows) {
  check_device("cpu", attention_cases());
}
TEST(Conformance, CpuAgreesWithTheReferenceOnIndexingRows) {
  check_device("cpu", indexing_cases());
}
TEST(Conformance, CpuAgreesWithTheReferenceOnControlRows) { check_device("cpu", control_cases()); }

TEST(Conformance, LavapipeAgreesWithTheReferenceOnElementwiseRows) {
  check_device("lavapipe", elementwise_cases());
}
TEST(Conformance, LavapipeAgreesWithTheReferenceOnReductionRows) {
  check_device("lavapipe", reduction_cases());
}
TEST(Conformance, LavapipeAgreesWithTheReferenceOnLinearRows) {
  check_device("lavapipe", linear_cases());
}
TEST(Conformance, LavapipeAgreesWithTheReferenceOnAttentionRows) {
  check_device("lavapipe", attention_cases());
}
TEST(Conformance, LavapipeAgreesWithTheReferenceOnIndexingRows) {
  check_device("lavapipe", indexing_cases());
}
TEST(Conformance, LavapipeAgreesWithTheReferenceOnControlRows) {
  check_device("lavapipe", control_cases());
}

TEST(Conformance, SwiftshaderAgreesWithTheReferenceOnElementwiseRows) {
  check_device("swiftshader", elementwise_cases());
}
TEST(Conformance, SwiftshaderAgreesWithTheReferenceOnReductionRows) {
  check_device("swiftshader", reduction_cases());
}
TEST(Conformance, SwiftshaderAgreesWithTheReferenceOnLinearRows) {
  check_device("swiftshader", linear_cases());
}
TEST(Conformance, SwiftshaderAgreesWithTheReferenceOnAttentionRows) {
  check_device("swiftshader", attention_cases());
}
TEST(Conformance, SwiftshaderAgreesWithTheReferenceOnIndexingRows) {
  check_device("swiftshader", indexing_cases());
}
TEST(Conformance, SwiftshaderAgreesWithTheReferenceOnControlRows) {
  check_device("swiftshader", control_cases());
}

TEST(Conformance, AnyOtherDeviceAgreesWithTheReferenceOnAllRows) {
  for (const Device& device : test_devices())
    if (device.name() != "lavapipe" && device.name() != "swiftshader" && !device.is_cpu())
      check_rows(device, op_cases());
}

TEST(Conformance, EveryOpHasAtLeastFourRows) {
  std::map<std::string, int> rows;
  for (const OpCase& row : op_cases()) ++rows[row.op];
  for (const OpRef& op : catalog().all()) {
    if (op->family == "structure") continue;
    EXPECT_GE(rows[op->name], 4) << op->name << " (" << op->family << ')';
  }
}

TEST(Conformance, EveryRowSaysWhy) {
  for (const OpCase& row : op_cases()) EXPECT_FALSE(row.why.empty()) << describe(row);
}

TEST(Conformance, AnOpWithoutGradientSaysWhy) {
  for (const OpRef& op : catalog().all())
    EXPECT_TRUE(op->gradient || !op->gradient_reason.empty()) << op->name;
}

}  // namespace
}  // namespace rlx
