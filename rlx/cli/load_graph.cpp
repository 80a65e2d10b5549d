#include "rlx/cli/load_graph.h"

#include "rlx/import/onnx/import.h"
#include "rlx/import/rlx_file.h"
#include "rlx/ops/catalog.h"

namespace rlx::cli {

Graph load_graph(const std::string& file) {
  const std::string ending = ".onnx";
  const bool is_onnx = file.size() > ending.size() &&
                       file.compare(file.size() - ending.size(), ending.size(), ending) == 0;
  return is_onnx ? onnx::load_onnx(file) : load_rlx(file, catalog());
}

}  // namespace rlx::cli
