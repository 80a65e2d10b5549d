// A graph from a file, in whichever form it is.
#pragma once

#include <string>

#include "rlx/base/file.h"
#include "rlx/ir/graph.h"

namespace rlx::cli {

bool has_ending(const std::string& file, const std::string& ending);

// .onnx by its ending, in capitals or not; anything else is rlx's own text. `opened`: where to put
// the files that hold its tensors.
Graph load_graph(const std::string& file, OpenedFiles* opened = nullptr);

// An Error where one of them was written to since: what was computed may be wrong.
void check_unchanged(const OpenedFiles& opened);

}  // namespace rlx::cli
