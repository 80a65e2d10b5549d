#include "rlx/cli/load_graph.h"

#include <algorithm>
#include <cctype>

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
  const FileOptions files{.opened = opened};
  if (!has_ending(file, ".onnx")) return load_rlx(file, catalog(), files);
  // What an import left behind, such as weights that it unpacked, is not the model's.
  return dead_code.run(onnx::load_onnx(file, {.files = files}));
}

void check_unchanged(const OpenedFiles& opened) {
  for (const auto& file : opened) file->check_unchanged();
}

}  // namespace rlx::cli
