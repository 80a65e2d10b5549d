// ONNX models as graphs of rlx.
#pragma once

#include <string>

#include "rlx/import/onnx/model.h"
#include "rlx/ir/graph.h"

namespace rlx::onnx {

struct ImportOptions {
  // Inputs whose values are known now and become constants: those that decide the graph's
  // structure.
  std::map<std::string, Tensor> known_inputs = {};
};

// The graph of a model. Operators that rlx cannot express are all named in one Error.
rlx::Graph import_model(const Model& model, const ImportOptions& options = {});
rlx::Graph load_onnx(const std::string& path, const ImportOptions& options = {});

}  // namespace rlx::onnx
