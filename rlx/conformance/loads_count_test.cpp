// Kernels say in their heads how often they load what they read, and the cost model believes them:
// here they are counted while they run.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "rlx/codegen/loads.h"
#include "rlx/codegen/quads.h"
#include "rlx/compile/build_image.h"
#include "rlx/conformance/case_data.h"
#include "rlx/conformance/count_loads.h"
#include "rlx/conformance/runner.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/ops/catalog.h"
#include "rlx/runtime/internals.h"

namespace rlx {
namespace {

int64_t elements_of(const OpCase& row) {
  int64_t elements = 0;
  for (const CaseInput& input : row.inputs)
    if (input.fill != CaseInput::Fill::absent)
      elements += count(bound(input.type.shape, row.symbols));
  return elements;
}

// The largest of each op that are soon run: at their edges kernels load more or less than they say.
std::vector<OpCase> large_rows(const OpSet& ops) {
  constexpr size_t kSome = 3;
  std::map<std::string, std::vector<OpCase>> rows;
  for (const OpCase& row : op_cases()) {
    const OpRef* op = ops.find(row.op);
    if (op && !(*op)->elementwise && elements_of(row) <= 5000) rows[row.op].push_back(row);
  }
  std::vector<OpCase> found;
  for (auto& [op, own] : rows) {
    std::stable_sort(own.begin(), own.end(), [](const OpCase& a, const OpCase& b) {
      return elements_of(a) > elements_of(b);
    });
    found.insert(found.end(), own.begin(), own.begin() + long(std::min(own.size(), kSome)));
  }
  return found;
}

class LoadsCount : public testing::Test {
 protected:
  // Compares what the kernels of a row say with what they do, if they are not among those seen.
  void check(const OpCase& row, const Device& device) {
    const CaseGraph built = case_graph(row, ops_);
    const detail::LowerOptions options{.choices = {{{quads_variants().key, 0}}}};
    const Lowered lowered = detail::lower_graph(built.graph, device.traits(), options);
    for (const Lowered::Source& input : lowered.inputs) {
      Lowered counting = lowered;
      const std::optional<Load> load = only_load(counting.steps, input.value);
      if (!load || !load->times || !load->dispatch->repeat.is(1)) continue;
      Dispatch& dispatch = *load->dispatch;
      if (static_cast<int64_t>(dispatch.operands.size()) >= device.traits().max_storage_buffers)
        continue;
      std::string name;
      for (const Operand& operand : dispatch.operands)
        if (operand.value == input.value) name = operand.name;
      const std::string what = dispatch.kernel.name + ": " + name;
      if (!seen_.insert(what).second) continue;
      count_loads(counting, dispatch, name, device.traits());
      const Image image = detail::image_of(detail::build_image(counting, device.traits()));
      const int64_t said = load->times->value(row.symbols);
      const int64_t counted =
          prepare(device, image, ops_).run(built.inputs).at(kLoads).integer_at(0);
      EXPECT_LE(counted, said + said / 4) << what;
      EXPECT_LE(said, 4 * counted) << what;  // around a picture there may be nothing to load
    }
  }

  const OpSet ops_ = catalog();
  std::set<std::string> seen_;
};

TEST_F(LoadsCount, IsWhatTheHeadsOfKernelsSay) {
  const std::optional<Device> device = test_device("lavapipe");
  if (!device) GTEST_SKIP() << "there is no lavapipe";
  for (const OpCase& row : large_rows(ops_)) {
    SCOPED_TRACE(describe(row));
    check(row, *device);
  }
  EXPECT_GE(seen_.size(), 25u);
}

}  // namespace
}  // namespace rlx
