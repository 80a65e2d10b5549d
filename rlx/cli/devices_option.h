// Where to look for devices: flags first, then the environment, then the usual places.
#pragma once

#include <string>
#include <vector>

#include "rlx/cli/commands.h"

namespace rlx::cli {

// Adds --webgpu-library and --vulkan-driver, which every command understands.
void add_device_options(CLI::App& app, Context& context);

// The folder of the running program, also when it was started by name alone.
std::string program_folder();

// The files `path` names below the program's folder, below the folders that hold it, below the
// current folder, and below the source tree; each once, only those that exist.
std::vector<std::string> find_near(const std::string& path);

}  // namespace rlx::cli
