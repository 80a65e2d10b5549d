// A graph in a file of its own: its text, and beside it the tensors that are too large for text.
#pragma once

#include <string>

#include "rlx/base/file_options.h"
#include "rlx/ir/value.h"

namespace rlx {

// model.rlx is the text, model.safetensors the large tensors when there are any: then its path is
// the result. Both may be there from an earlier save; a .safetensors file that no text beside it
// names is somebody else's, and an Error.
std::string save_rlx(const Graph& graph, const std::string& path);
// The large tensors are views of their file, which is looked for beside `path`.
Graph load_rlx(const std::string& path, const OpSet& ops, const FileOptions& options = {});

}  // namespace rlx
