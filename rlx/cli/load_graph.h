// A graph from a file, in whichever form it is.
#pragma once

#include <string>

#include "rlx/ir/graph.h"

namespace rlx::cli {

bool has_ending(const std::string& file, const std::string& ending);

// .onnx by its ending; anything else is rlx's own text.
Graph load_graph(const std::string& file);

}  // namespace rlx::cli
