// The inputs of a run, from the command line: files, literals, random numbers.
#pragma once

#include <string>
#include <vector>

#include "rlx/cli/commands.h"
#include "rlx/ir/evaluate.h"
#include "rlx/runtime/image.h"

namespace rlx::cli {

// The flags as they were given.
struct InputOptions {
  std::vector<std::string> inputs;  // NAME=SPEC
  std::vector<std::string> binds;   // SYMBOL=NUMBER
};
void add_bind_option(CLI::App& command, InputOptions& options);
void add_input_options(CLI::App& command, InputOptions& options);

// What a run takes and gives, of a graph or of an image.
struct Signature {
  struct Input {
    std::string name;
    TensorType type;
  };
  std::vector<Input> inputs;
  std::vector<std::string> outputs;
  SymbolRanges symbols;  // those with bounds
};
Signature signature_of(const Graph& graph);
Signature signature_of(const Image& image);

// The values --bind gives; an Error where there is no such symbol or its bounds forbid it.
SymbolValues bound_symbols(const Signature& signature, const InputOptions& options);
// The symbols that the extents of inputs bind, each once, in the order they appear.
std::vector<std::string> input_symbols(const Signature& signature);

// A tensor for every input: as a flag says, else random:0. Symbols come from --bind and from files
// and literals; an Error says which --bind is missing.
TensorMap make_inputs(const Signature& signature, const InputOptions& options);

}  // namespace rlx::cli
