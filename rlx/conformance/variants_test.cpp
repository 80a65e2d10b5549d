// Kernels that come in variants: each is right on every device, whichever suits the device.
#include <gtest/gtest.h>

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/runner.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/conformance/tolerance.h"
#include "rlx/ops/catalog.h"

namespace rlx {
namespace {

bool is_ordinary(const OpCase& row) {
  for (const CaseInput& input : row.inputs)
    if (input.fill == CaseInput::Fill::special) return false;
  return true;
}

void check_variants(const std::vector<OpCase>& rows, const std::string& op, const std::string& key,
                    int64_t variants) {
  const OpSet ops = catalog();
  for (const Device& device : test_devices()) {
    if (device.is_cpu()) continue;
    for (const OpCase& row : rows) {
      if (row.op != op || !is_ordinary(row)) continue;
      const CaseGraph built = case_graph(row, ops);
      const Tensor want = evaluate(built.graph, built.inputs).outputs.at("out0");
      for (int64_t variant = 0; variant < variants; ++variant) {
        SCOPED_TRACE(text(device.name(), ", ", key, " = ", variant, ", ", describe(row)));
        const Program program =
            compile(built.graph, {.device = device, .choices = {{key, variant}}});
        const Tensor got = program.run(built.inputs).at("out0");
        const auto mismatch = compare(got, want, tolerance_of(*ops.at(op), row.terms, row.slack));
        EXPECT_FALSE(mismatch) << mismatch->message();
      }
    }
  }
}

TEST(Variants, EveryKernelOfMatmulIsRight) {
  check_variants(linear_cases(), "matmul", "matmul.variant", 2);
}
TEST(Variants, EveryKernelOfAttentionIsRight) {
  check_variants(attention_cases(), "attention", "attention.variant", 2);
}

}  // namespace
}  // namespace rlx
