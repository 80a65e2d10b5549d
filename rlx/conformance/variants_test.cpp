// Kernels that come in variants: each is right on every device, whichever suits the device.
#include <gtest/gtest.h>

#include <algorithm>

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/runner.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/ops/catalog.h"

namespace rlx {
namespace {

bool is_ordinary(const OpCase& row) {
  for (const CaseInput& input : row.inputs)
    if (input.fill == CaseInput::Fill::special) return false;
  return true;
}

// SwiftShader takes seconds for these, and a variant differs in how it begins and ends.
bool is_large(const OpCase& row) {
  return std::any_of(row.inputs.begin(), row.inputs.end(), [](const CaseInput& input) {
    return is_concrete(input.type.shape) && count(concrete(input.type.shape)) > 20000;
  });
}

std::vector<std::string> ops_with_variants() {
  std::vector<std::string> names;
  for (const OpRef& op : catalog().all())
    if (!op->variants.empty()) names.push_back(op->name);
  return names;
}

// An op on a device.
class Variants : public testing::TestWithParam<std::tuple<std::string, std::string>> {};
TEST_P(Variants, AreRightWhicheverSuitsTheDevice) {
  const auto& [name, device_name] = GetParam();
  const std::optional<Device> device = test_device(device_name);
  if (!device) GTEST_SKIP() << "there is no " << device_name;
  const OpSet ops = catalog();
  for (const rlx::Variants& variants : ops.at(name)->variants) {
    for (const OpCase& row : op_cases()) {
      if (row.op != name || !is_ordinary(row)) continue;
      if (is_large(row) && device_name == "swiftshader") continue;
      const CaseGraph built = case_graph(row, ops);
      const Tensor want = evaluate(built.graph, built.inputs).outputs.at("out0");
      for (int64_t variant = 0; variant < variants.count; ++variant) {
        SCOPED_TRACE(text(variants.key, " = ", variant, ", ", describe(row)));
        const Program program =
            compile(built.graph, {.device = *device, .choices = {{variants.key, variant}}});
        const Tensor got = program.run(built.inputs).at("out0");
        const auto mismatch = compare(got, want, tolerance_of(row, ops));
        EXPECT_FALSE(mismatch) << mismatch->message();
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Rows, Variants,
                         testing::Combine(testing::ValuesIn(ops_with_variants()),
                                          testing::Values("lavapipe", "swiftshader")),
                         [](const auto& test) {
                           return std::get<1>(test.param) + "_" + std::get<0>(test.param);
                         });

}  // namespace
}  // namespace rlx
