// rlx convert: writes a graph as rlx's own text, and its large tensors beside it.

#include "rlx/cli/commands.h"
#include "rlx/cli/load_graph.h"
#include "rlx/import/rlx_file.h"

namespace rlx::cli {
namespace {

struct ConvertFlags {
  std::string from, to;
};

void convert_command(const ConvertFlags& flags, Context& context) {
  if (!has_ending(flags.to, ".rlx"))
    throw CLI::ValidationError("OUT", text("'", flags.to, "' does not end in .rlx"));
  OpenedFiles files;
  const Graph graph = load_graph(flags.from, &files);
  const std::string tensors = save_rlx(graph, flags.to);
  files.check_unchanged();
  context.out << flags.to << ": " << graph.nodes().size() << " nodes"
              << (tensors.empty() ? "" : ", tensors in " + tensors) << '\n';
}

}  // namespace

void add_convert_command(CLI::App& app, Context& context) {
  const auto flags = std::make_shared<ConvertFlags>();
  CLI::App& command =
      *app.add_subcommand("convert", "Write a graph as a .rlx file, its tensors beside it");
  command.add_option("FILE", flags->from, "The graph, a .rlx or .onnx file")
      ->required()
      ->type_name("");
  command
      .add_option("OUT", flags->to, "The .rlx file; tensors go to a .safetensors file of its name")
      ->required()
      ->type_name("");
  command.footer(
      "Examples:\n"
      "  rlx convert model.onnx model.rlx\n");
  command.callback([flags, &context] { convert_command(*flags, context); });
}

}  // namespace rlx::cli
