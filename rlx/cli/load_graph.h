// A graph from a file, in whichever form it is, or an image.
#pragma once

#include <string>

#include "rlx/base/file_options.h"
#include "rlx/cli/commands.h"
#include "rlx/ir/graph.h"
#include "rlx/runtime/image.h"

namespace rlx::cli {

bool has_ending(const std::string& file, const std::string& ending);

// .onnx by its ending, in capitals or not; anything else is rlx's own text. `opened`: where to put
// the files that hold its tensors. An image is an Error: it has no graph.
Graph load_graph(const std::string& file, OpenedFiles* opened = nullptr);

// A compiled program, by its ending, .rlxi.
bool is_image_file(const std::string& file);
// The device of this name for an image; `auto` is the one it was built for, or the GPU there is. An
// Error where the device cannot run the image.
Device device_for(const Image& image, const std::string& name, Context& context);

}  // namespace rlx::cli
