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
#include "rlx/conformance/runner.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/image/storage.h"
#include "rlx/ops/catalog.h"
#include "rlx/runtime/internals.h"

namespace rlx {
namespace {

void replace_all(std::string& source, const std::string& from, const std::string& to) {
  for (size_t at = source.find(from); at != std::string::npos; at = source.find(from, at)) {
    const bool inside = at > 0 && (std::isalnum(static_cast<unsigned char>(source[at - 1])) ||
                                   source[at - 1] == '_');  // of a longer name
    if (!inside) source.replace(at, from.size(), to);
    at += inside ? 1 : to.size();
  }
}

// The dispatch counts what it loads of an operand in an output of its own.
void count_loads(Lowered& lowered, Dispatch& dispatch, const std::string& name,
                 const DeviceTraits& traits) {
  const TensorType type{DType::u32, {4}};
  const auto counter = static_cast<ValueId>(lowered.values.size());
  lowered.values.push_back({ValueKind::result, "loads", type});
  lowered.outputs.push_back({"loads", counter, type});
  const std::string load = "load_" + name + "(", counted = "counted_" + load;
  replace_all(dispatch.kernel.source.text, load, counted);
  for (KernelText& part : dispatch.kernel.includes) replace_all(part.text, load, counted);
  for (std::string& part : dispatch.prelude) replace_all(part, load, counted);
  for (Alternative& each : dispatch.alternatives) replace_all(each.source.text, load, counted);
  for (const Operand& operand : dispatch.operands)
    if (operand.name == name)
      dispatch.prelude.insert(
          dispatch.prelude.begin(),
          text("fn ", counted, "i: u32) -> ", device_storage(operand.dtype, traits).compute,
               " {\n  atomicAdd(&buffer_loads[0], 1u);\n  return ", load, "i);\n}"));
  Operand loads(counter, type, Access::read_write);
  loads.name = "loads";
  loads.atomic = true;
  dispatch.operands.push_back(std::move(loads));
  lowered.steps.list.insert(lowered.steps.list.begin(), Step{Clear{counter}, 0});
}

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
          prepare(device, image, ops_).run(built.inputs).at("loads").integer_at(0);
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
