// The commands of the program rlx. Each adds itself to the command line, with what runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "rlx/cli/printable.h"
#include "rlx/runtime/device.h"

namespace rlx::cli {

// What all commands share: where they write, and the devices, looked for when first asked for.
// A command throws rlx::Error where the work failed, CLI::ValidationError where its flags are
// wrong.
struct Context {
  std::ostream& out;
  std::ostream& err;
  bool color = false;     // `out` is a terminal
  bool progress = false;  // `err` is a terminal
  int exit_code = 0;      // 0 done, 1 the work failed, 2 wrong usage

  std::vector<std::string> webgpu_libraries = {};  // --webgpu-library, instead of all others
  std::vector<std::string> vulkan_drivers = {};    // --vulkan-driver, instead of all others

  int threads = 0;  // --threads, of the CPU

  FindOptions find_options() const;  // from the flags, the environment, and the usual places
  const FoundDevices& devices();     // found at the first call
  Device device(const std::string& name);

  // A line that says what goes on, and is replaced by the next; an empty one ends that.
  void show_progress(const std::string& line) const {
    if (!progress) return;
    write_raw(err, "\r\033[K");
    err << line << std::flush;
  }
  Bold bold(const std::string& text) const { return {text, color}; }

  std::optional<FoundDevices> found = {};  // for devices()
};

// --disable-pass NAME, where a graph is compiled.
void add_pass_option(CLI::App& command, std::vector<std::string>& disabled);

std::string version_text();  // rlx 0.1.0

// A check of flags that name a file or a folder: an empty name is a mistake, not none.
std::string refuse_empty(const std::string& given);

void add_bench_command(CLI::App& app, Context& context);
void add_run_command(CLI::App& app, Context& context);
void add_explain_command(CLI::App& app, Context& context);
void add_inspect_command(CLI::App& app, Context& context);
void add_compile_command(CLI::App& app, Context& context);
void add_convert_command(CLI::App& app, Context& context);
void add_devices_command(CLI::App& app, Context& context);
void add_compare_command(CLI::App& app, Context& context);
void add_demo_command(CLI::App& app, Context& context);
void add_ops_command(CLI::App& app, Context& context);
void add_quantise_command(CLI::App& app, Context& context);
void add_conformance_command(CLI::App& app, Context& context);

}  // namespace rlx::cli
