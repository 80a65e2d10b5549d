// What the compiler writes for whole models, as text.

#include <map>
#include <set>
#include <sstream>

#include "rlx/compile/build_image.h"
#include "rlx/conformance/kernels.h"
#include "rlx/conformance/model_graphs.h"
#include "rlx/passes/passes.h"

namespace rlx {
namespace {

// As a program is compiled, with the defaults.
image::Image compiled(const Graph& graph, const DeviceTraits& traits) {
  return detail::build_image(run_passes(graph, {.target = PassTarget{traits}}), traits);
}

// How often each kernel runs; by the first that a dispatch may take.
std::map<int32_t, int64_t> runs_of(const image::Steps& steps) {
  std::map<int32_t, int64_t> runs;
  for (const image::Step& step : steps)
    if (const auto* dispatch = std::get_if<image::Dispatch>(&step.what))
      ++runs[dispatch->choices[0].kernel];
  return runs;
}

// What codegen wrote: behind what every module begins with, before the kernel's own file.
std::string written_around(const image::Kernel& kernel) {
  std::istringstream lines(kernel.wgsl);
  std::string result, line;
  const int32_t end = kernel.sections.size() > 1 ? kernel.sections[1].first_line : INT32_MAX;
  bool begun = false;
  for (int32_t at = 1; std::getline(lines, line) && at < end; ++at) {
    if (begun) result += line + '\n';
    begun |= line.find("fn workgroup_index") == 0;
  }
  return result;
}

}  // namespace

std::string model_modules() {
  std::string result;
  std::set<std::string> shown, texts;
  for (const ModelGraph& model : model_graphs())
    for (const DeviceTraits& device : paper_devices()) {
      const bool is_plain = device.name == paper_devices().back().name;
      if (!is_plain && model.name != "decoder") continue;  // one shows what others do with it
      const image::Image image = compiled(model.graph, device);
      const auto once = runs_of(image.once), run = runs_of(image.run);
      int64_t all = 0;
      for (const auto& [kernel, times] : run) all += times;
      result += text(model.name, ' ', device.name, ": ", all, " dispatches of ",
                     image.kernels.size(), " kernels\n");
      std::set<std::string> lines;  // in which order two operands are made is the compiler's choice
      for (size_t i = 0; i < image.kernels.size(); ++i) {
        const image::Kernel& kernel = image.kernels[i];
        const auto times = [&](const std::map<int32_t, int64_t>& runs) {
          const auto found = runs.find(static_cast<int32_t>(i));
          return found == runs.end() ? int64_t{0} : found->second;
        };
        lines.insert(text("  ", kernel.name, ": ", fingerprint(kernel.wgsl), ' ', times(run),
                          times(once) > 0 ? text(", once ", times(once)) : "", '\n'));
        const bool is_group = kernel.name.find(" + ") != std::string::npos;
        const std::string around = written_around(kernel);
        if (is_group && is_plain && shown.insert(around).second)
          texts.insert(text("\n// ", kernel.name, ", first in ", model.name, '\n', around));
      }
      for (const std::string& line : lines) result += line;
    }
  for (const std::string& each : texts) result += each;
  return result;
}

}  // namespace rlx
