#include "rlx/conformance/count_loads.h"

#include <algorithm>
#include <cctype>

#include "rlx/base/text.h"
#include "rlx/image/storage.h"

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

}  // namespace

void count_loads(Lowered& lowered, Dispatch& dispatch, const std::string& name,
                 const DeviceTraits& traits, const OperandParts& parts) {
  constexpr int64_t kBits = 32, kLeast = 4;
  const int64_t words = std::max(kLeast, 1 + (parts.count + kBits - 1) / kBits);
  const TensorType type{DType::u32, {words}};
  const auto counter = static_cast<ValueId>(lowered.values.size());
  lowered.values.push_back({ValueKind::result, kLoads, type});
  lowered.outputs.push_back({kLoads, counter, type});
  const std::string load = "load_" + name + "(", counted = "counted_" + load;
  replace_all(dispatch.kernel.source.text, load, counted);
  for (KernelText& part : dispatch.kernel.includes) replace_all(part.text, load, counted);
  for (std::string& part : dispatch.prelude) replace_all(part, load, counted);
  for (Alternative& each : dispatch.alternatives) replace_all(each.source.text, load, counted);
  const std::string part = text("(i / ", parts.elements, "u)");
  const std::string mark = parts.count == 0 ? ""
                                            : text("  atomicOr(&buffer_loads[1u + ", part,
                                                   " / 32u], 1u << (", part, " % 32u));\n");
  for (const Operand& operand : dispatch.operands)
    if (operand.name == name)
      dispatch.prelude.insert(
          dispatch.prelude.begin(),
          text("fn ", counted, "i: u32) -> ", device_storage(operand.dtype, traits).compute,
               " {\n  atomicAdd(&buffer_loads[0], 1u);\n", mark, "  return ", load, "i);\n}"));
  Operand loads(counter, type, Access::read_write);
  loads.name = kLoads;
  loads.atomic = true;
  dispatch.operands.push_back(std::move(loads));
  lowered.steps.list.insert(lowered.steps.list.begin(), Step{Clear{counter}, 0});
}

}  // namespace rlx
