// Where to look for devices: flags first, then the environment, then beside the program and
// where the system keeps libraries.
#pragma once

#include <optional>
#include <string>

#include "rlx/cli/commands.h"

namespace rlx::cli {

constexpr int kMostThreads = 1024;  // more are a mistake

// Adds --threads, --webgpu-library and --vulkan-driver, which every command understands.
void add_device_options(CLI::App& app, Context& context);

// The file that `path` names from the folder of the running program, if it is there. The current
// folder is not looked at.
std::optional<std::string> find_beside(const std::string& path);

}  // namespace rlx::cli
