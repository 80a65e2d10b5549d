#include "rlx/cli/load_graph.h"

#include "rlx/import/onnx/import.h"
#include "rlx/import/rlx_file.h"
#include "rlx/ops/catalog.h"
#include "rlx/passes/passes.h"

namespace rlx::cli {

bool has_ending(const std::string& file, const std::string& ending) {
  return file.size() > ending.size() &&
         file.compare(file.size() - ending.size(), ending.size(), ending) == 0;
}

Graph load_graph(const std::string& file) {
  if (!has_ending(file, ".onnx")) return load_rlx(file, catalog());
  // What an import left behind, such as weights that it unpacked, is not the model's.
  return dead_code.run(onnx::load_onnx(file));
}

}  // namespace rlx::cli
