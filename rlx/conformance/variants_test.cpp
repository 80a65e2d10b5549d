// Kernels that come in variants: each is right on every device, whichever suits the device.
#include <gtest/gtest.h>

#include <algorithm>

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/runner.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/ir/evaluate.h"
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

std::vector<OpCase> rows_of(const std::string& op, const std::string& device) {
  std::vector<OpCase> rows = op_cases();
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [&](const OpCase& row) {
                              return row.op != op || !is_ordinary(row) ||
                                     (is_large(row) && device == "swiftshader");
                            }),
             rows.end());
  return rows;
}

constexpr size_t kSome = 8, kAll = 1000;

// So many rows of an op, from first to last, on a device.
class Variants : public testing::TestWithParam<std::tuple<std::string, std::string, size_t>> {};
TEST_P(Variants, AreRightWhicheverSuitsTheDevice) {
  const auto& [name, device_name, wanted] = GetParam();
  const std::optional<Device> device = test_device(device_name);
  if (!device) GTEST_SKIP() << "there is no " << device_name;
  const OpSet ops = catalog();
  const std::vector<OpCase> rows = rows_of(name, device_name);
  for (const rlx::Variants& variants : ops.at(name)->variants) {
    for (size_t i = 0; i < std::min(wanted, rows.size()); ++i) {
      const OpCase& row = rows[i * rows.size() / std::min(wanted, rows.size())];
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
const auto kDevices = testing::Values("lavapipe", "swiftshader");
const auto kName = [](const auto& test) {
  return std::get<1>(test.param) + "_" + std::get<0>(test.param);
};
INSTANTIATE_TEST_SUITE_P(Rows, Variants,
                         testing::Combine(testing::ValuesIn(ops_with_variants()), kDevices,
                                          testing::Values(kSome)),
                         kName);
INSTANTIATE_TEST_SUITE_P(RowsLong, Variants,
                         testing::Combine(testing::ValuesIn(ops_with_variants()), kDevices,
                                          testing::Values(kAll)),
                         kName);

}  // namespace
}  // namespace rlx
