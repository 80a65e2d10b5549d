// rlx compile: writes a graph as an image, which runs without being compiled again.

#include "rlx/cli/load_graph.h"
#include "rlx/runtime/internals.h"

namespace rlx::cli {
namespace {

struct CompileFlags {
  std::string file, out, device = "auto";
  bool strict = false;
  std::vector<std::string> disabled_passes;
};

void compile_command(const CompileFlags& flags, Context& context) {
  if (!is_image_file(flags.out))
    throw CLI::ValidationError("--out", text("'", flags.out, "' does not end in .rlxi"));
  OpenedFiles files;
  const Graph graph = load_graph(flags.file, &files);
  const Device device = context.device(flags.device);
  const Image image = compile_image(
      graph, {.device = device, .strict = flags.strict, .disabled_passes = flags.disabled_passes});
  write_image(flags.out, image);
  files.check_unchanged();
  context.out << flags.out << ": " << image.data().run.size() << " steps, "
              << image.data().kernels.size() << " kernels, for " << device.name() << '\n';
}

}  // namespace

void add_compile_command(CLI::App& app, Context& context) {
  const auto flags = std::make_shared<CompileFlags>();
  CLI::App& command =
      *app.add_subcommand("compile", "Write a graph as an image, compiled for one device");
  command.add_option("FILE", flags->file, "The graph, a .rlx or .onnx file")
      ->required()
      ->type_name("");
  command.add_option("--out", flags->out, "The image, a .rlxi file; it holds the weights too")
      ->required()
      ->check(refuse_empty, "")
      ->type_name("FILE");
  command.add_option("--device", flags->device, "cpu, gpu, auto, or a name that rlx devices shows")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_flag("--strict", flags->strict,
                   "Fail rather than compute on the host of another device");
  add_pass_option(command, flags->disabled_passes);
  command.footer(
      "Examples:\n"
      "  rlx compile model.onnx --device gpu --out model.rlxi\n"
      "  rlx run model.rlxi --input x=x.npy\n");
  command.callback([flags, &context] { compile_command(*flags, context); });
}

}  // namespace rlx::cli
