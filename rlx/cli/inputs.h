// The inputs of a run, from the command line: files, literals, random numbers.
#pragma once

#include <string>
#include <vector>

#include "rlx/cli/commands.h"
#include "rlx/ir/evaluate.h"

namespace rlx::cli {

// The flags as they were given.
struct InputOptions {
  std::vector<std::string> inputs;  // NAME=SPEC
  std::vector<std::string> binds;   // SYMBOL=NUMBER
};
void add_bind_option(CLI::App& command, InputOptions& options);
void add_input_options(CLI::App& command, InputOptions& options);

// The values --bind gives; an Error where the graph has no such symbol or its bounds forbid it.
SymbolValues bound_symbols(const Graph& graph, const InputOptions& options);
// The symbols that the extents of inputs bind, each once, in the order they appear.
std::vector<std::string> input_symbols(const Graph& graph);

// A tensor for every input of the graph: as a flag says, else random:0. Symbols come from --bind
// and from files and literals; an Error says which --bind is missing.
TensorMap make_inputs(const Graph& graph, const InputOptions& options);

}  // namespace rlx::cli
