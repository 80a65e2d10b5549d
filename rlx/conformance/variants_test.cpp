// Kernels that come in variants: each is right on every device, whichever suits the device.
#include <gtest/gtest.h>

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

void check_variants(const OpDef& op, const Variants& variants, const std::vector<OpCase>& rows) {
  const OpSet ops = catalog();
  for (const OpCase& row : rows) {
    if (row.op != op.name || !is_ordinary(row)) continue;
    const CaseGraph built = case_graph(row, ops);
    const Tensor want = evaluate(built.graph, built.inputs).outputs.at("out0");
    for (const Device& device : test_devices()) {
      if (device.is_cpu()) continue;
      for (int64_t variant = 0; variant < variants.count; ++variant) {
        SCOPED_TRACE(text(device.name(), ", ", variants.key, " = ", variant, ", ", describe(row)));
        const Program program =
            compile(built.graph, {.device = device, .choices = {{variants.key, variant}}});
        const Tensor got = program.run(built.inputs).at("out0");
        const auto mismatch = compare(got, want, tolerance_of(row, ops));
        EXPECT_FALSE(mismatch) << mismatch->message();
      }
    }
  }
}

TEST(Variants, EveryKernelAnOpMayChooseIsRight) {
  const std::vector<OpCase> rows = op_cases();
  for (const OpRef& op : catalog().all())
    for (const Variants& variants : op->variants) check_variants(*op, variants, rows);
}

}  // namespace
}  // namespace rlx
