// rlx compare: runs a graph on two devices and finds the first node where they differ.

#include <cmath>

#include "rlx/cli/all_values.h"
#include "rlx/cli/compare_tensors.h"
#include "rlx/cli/inputs.h"
#include "rlx/cli/load_graph.h"
#include "rlx/cli/table.h"
#include "rlx/cli/tensor_print.h"
#include "rlx/runtime/program.h"

namespace rlx::cli {
namespace {

struct CompareFlags {
  std::string file;
  std::vector<std::string> devices = {"cpu", "gpu"};
  InputOptions inputs;
  double tolerance = -1;
};

struct Ran {
  std::string device;
  TensorMap results;
};

Ran run_on(const std::string& name, const AllValues& all, const TensorMap& inputs,
           Context& context) {
  const Device device = context.device(name);
  context.show_progress(text("running on ", device.name()));
  Ran ran{device.name(), compile(all.graph, {.device = device}).run(inputs)};
  context.show_progress("");
  return ran;
}

std::string values_text(const Ran& a, const Ran& b, const NodeResult& result, int64_t at) {
  const Tensor &x = a.results.at(result.output), &y = b.results.at(result.output);
  return text("at ", index_text(x.shape(), at), ": ", element_text(x, at), " on ", a.device, ", ",
              element_text(y, at), " on ", b.device);
}

// Prints the first result that differs, or how close the two are; true when all agree.
bool compare(const AllValues& all, const Ran& a, const Ran& b, double tolerance, Context& context) {
  const NodeResult* farthest = nullptr;
  Difference largest;
  for (const NodeResult& result : all.results) {
    const Node& node = all.graph.node(result.node);
    const Tensor& x = a.results.at(result.output);
    const Difference found = compare_tensors(x, b.results.at(result.output), tolerance);
    if (!found.within()) {
      context.out << a.device << " and " << b.device << " differ first at node '" << result.name
                  << "' (" << node.op->name << ", " << x.type() << ")\n  largest difference "
                  << short_number(found.absolute) << ", " << short_number(found.relative)
                  << " of the largest magnitude (" << short_number(found.tolerance)
                  << " is allowed)\n  " << values_text(a, b, result, found.at) << '\n';
      return false;
    }
    if (!farthest || found.relative > largest.relative) farthest = &result, largest = found;
  }
  context.out << a.device << " and " << b.device << " agree in all " << all.results.size()
              << " results";
  if (farthest && largest.at >= 0)
    context.out << "\n  largest difference " << short_number(largest.absolute) << ", "
                << short_number(largest.relative) << " of the largest magnitude, at node '"
                << farthest->name << "'\n  " << values_text(a, b, *farthest, largest.at);
  else
    context.out << ", to the bit";
  context.out << '\n';
  return true;
}

void compare_command(const CompareFlags& flags, Context& context) {
  if (flags.devices.size() < 2)
    throw CLI::ValidationError("--devices", "needs two names or more, as in --devices cpu,gpu");
  OpenedFiles files;
  const AllValues all = with_all_values(load_graph(flags.file, &files));
  const TensorMap inputs = make_inputs(signature_of(all.graph), flags.inputs);
  for (const std::string& name : flags.devices)
    context.device(name);  // all are there, before the work
  const Ran first = run_on(flags.devices[0], all, inputs, context);
  for (size_t i = 1; i < flags.devices.size(); ++i) {
    const Ran other = run_on(flags.devices[i], all, inputs, context);
    files.check_unchanged();
    if (!compare(all, first, other, flags.tolerance, context)) context.exit_code = 1;
  }
}

}  // namespace

void add_compare_command(CLI::App& app, Context& context) {
  const auto flags = std::make_shared<CompareFlags>();
  CLI::App& command =
      *app.add_subcommand("compare", "Find the first node where two devices differ");
  command.add_option("FILE", flags->file, "The graph, a .rlx or .onnx file")
      ->required()
      ->type_name("");
  command.add_option("--devices", flags->devices, "The devices; all are compared with the first")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,NAME")
      ->capture_default_str();
  add_input_options(command, flags->inputs);
  command
      .add_option("--tolerance", flags->tolerance,
                  "How far floats may be apart, relative to a tensor's largest magnitude; "
                  "1e-3 for f32 and more for f16 unless given")
      ->check(
          [](const std::string& given) -> std::string {
            double number = 0;
            const bool right = CLI::detail::lexical_cast(given, number) && std::isfinite(number);
            return right && number >= 0 ? "" : text("'", given, "' is not a number of 0 or more");
          },
          "")
      ->type_name("X");
  command.footer(
      "Examples:\n"
      "  rlx compare model.rlx --devices cpu,gpu --bind seq=16\n"
      "  rlx compare model.rlx --devices cpu,lavapipe,swiftshader --input x=x.npy --tolerance 1e-5\n"
      "\n"
      "Exits with 1 when a result differs.");
  command.callback([flags, &context] { compare_command(*flags, context); });
}

}  // namespace rlx::cli
