#include "rlx/cli/load_graph.h"

#include <algorithm>
#include <cctype>

#include "rlx/image/needs.h"
#include "rlx/import/onnx/import.h"
#include "rlx/import/rlx_file.h"
#include "rlx/ops/catalog.h"
#include "rlx/passes/passes.h"

namespace rlx::cli {

bool has_ending(const std::string& file, const std::string& ending) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return file.size() > ending.size() &&
         std::equal(ending.rbegin(), ending.rend(), file.rbegin(),
                    [&](char wanted, char found) { return same(found, wanted); });
}

Graph load_graph(const std::string& file, OpenedFiles* opened) {
  if (is_image_file(file))
    fail(ErrorKind::unsupported, file, " is an image, and a graph is needed here");
  const FileOptions files{.opened = opened};
  if (!has_ending(file, ".onnx")) return load_rlx(file, catalog(), files);
  // What an import left behind, such as weights that it unpacked, is not the model's.
  return dead_code.run(onnx::load_onnx(file, {.files = files})).graph;
}

bool is_image_file(const std::string& file) { return has_ending(file, ".rlxi"); }

Device device_for(const Image& image, const std::string& name, Context& context) {
  const auto named = [&]() -> Device {
    if (name != "auto") return context.device(name);
    if (image.traits().on_host()) return context.device("cpu");
    for (const FoundDevice& found : context.devices().devices)
      if (found.device.name() == image.traits().name) return found.device;
    return context.device("gpu");
  };
  const Device device = named();
  image::check_device(image.data(), device.traits());
  return device;
}

}  // namespace rlx::cli
