// The graph of a model that was read already.
#pragma once

#include "rlx/import/onnx/import.h"
#include "rlx/import/onnx/model.h"

namespace rlx::onnx {

rlx::Graph import_model(const Model& model, const ImportOptions& options = {});

}  // namespace rlx::onnx
