// rlx run: runs a graph and shows its outputs, what was done, and what went wrong where.

#include <charconv>
#include <map>
#include <set>

#include "rlx/base/clock.h"
#include "rlx/base/file.h"
#include "rlx/cli/all_values.h"
#include "rlx/cli/inputs.h"
#include "rlx/cli/load_graph.h"
#include "rlx/cli/report_print.h"
#include "rlx/cli/tensor_print.h"
#include "rlx/cli/trace.h"
#include "rlx/ops/catalog.h"
#include "rlx/runtime/image.h"

namespace rlx::cli {
namespace {

struct RunFlags {
  std::string file, device = "auto", format = "table", out, report_file, trace_file, dump_folder;
  InputOptions inputs;
  std::vector<std::string> outputs, disabled_passes;
  bool report = false, check_nan = false, strict = false;
  int repeat = 1;
  int64_t memory_budget = 0, iteration_budget = 0;
  std::vector<std::string> choices;
};

std::vector<std::string> chosen_outputs(const Signature& signature, const RunFlags& flags) {
  const std::vector<std::string>& names = signature.outputs;
  if (flags.outputs.empty()) return names;
  for (const std::string& name : flags.outputs)
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail(ErrorKind::invalid_input, "there is no output '", name, "'; there is ",
           names.empty() ? "none" : joined(names));
  return flags.outputs;
}

struct Done {
  TensorMap outputs;
  Measured measured;
};

// What is to be run, for a device.
using Make = std::function<Program(const Device& device)>;

// Makes the program and runs it as often as asked; the last run is the one that is reported on.
Done run_program(const Make& make, const Device& device, const TensorMap& inputs,
                 const std::vector<std::string>& wanted, const RunFlags& flags, Context& context) {
  Done done;
  context.show_progress(text("compiling for ", device.name()));
  const auto start = Clock::now();
  const Program program = make(device);
  done.measured.compile_microseconds = microseconds_since(start);
  const bool reported = flags.report || !flags.report_file.empty() || !flags.trace_file.empty();
  for (int i = 0; i < flags.repeat; ++i) {
    context.show_progress(text("run ", i + 1, " of ", flags.repeat, " on ", device.name()));
    RunOptions options{.outputs = wanted, .iteration_budget = flags.iteration_budget};
    const bool last = i + 1 == flags.repeat;
    if (reported && last) options.report = &done.measured.report;
    const auto begin = Clock::now();
    RunResult result = program.run(inputs, options);
    done.measured.run_microseconds.push_back(microseconds_since(begin));
    if (last) done.outputs = std::move(result.tensors);
  }
  done.measured.total = program.counters();
  context.show_progress("");
  return done;
}

void write_outputs(const std::vector<NamedTensor>& outputs, const RunFlags& flags,
                   Context& context) {
  const bool files = flags.format == "npy" || !flags.out.empty();
  const std::string folder = flags.out.empty() ? "." : flags.out;
  std::set<std::string> taken;
  for (const auto& [name, tensor] : outputs) {
    if (!files) break;
    const std::string file = save_tensor(folder, name, tensor, taken);
    if (flags.format == "npy")
      context.out << folder << '/' << file << "  " << tensor.type() << '\n';
  }
  if (flags.format == "json") context.out << json_text(tensors_json(outputs));
  if (flags.format == "table") print_tensors(outputs, context.out);
}

void write_reports(const Measured& measured, const RunFlags& flags, Context& context) {
  // JSON on standard output stays JSON.
  if (flags.report) print_report(measured, flags.format == "json" ? context.err : context.out);
  if (!flags.report_file.empty()) write_file(flags.report_file, json_text(report_json(measured)));
  if (!flags.trace_file.empty())
    write_file(flags.trace_file, json_text(trace_json(measured.report)));
}

void show(const std::vector<std::string>& chosen, const Done& done, const RunFlags& flags,
          Context& context) {
  std::vector<NamedTensor> outputs;
  for (const std::string& name : chosen) outputs.push_back({name, done.outputs.at(name)});
  write_outputs(outputs, flags, context);
  write_reports(done.measured, flags, context);
}

std::map<std::string, int64_t> choices_of(const std::vector<std::string>& given) {
  std::map<std::string, int64_t> choices;
  for (const std::string& each : given) {
    const size_t at = each.rfind('=');
    int64_t number = 0;
    const char* end = each.data() + each.size();
    const char* begin = at == std::string::npos ? end : each.data() + at + 1;
    const auto [read, error] = std::from_chars(begin, end, number);
    if (begin == end || read != end || error != std::errc())
      throw CLI::ValidationError("--choice", text("takes KEY=NUMBER, got '", each, "'"));
    choices[each.substr(0, at)] = number;
  }
  return choices;
}

void run_image(const RunFlags& flags, Context& context) {
  // What an image computes was decided when it was built.
  const auto refuse = [&](const char* flag, bool given) {
    if (given)
      throw CLI::ValidationError(flag, text("needs a graph, and ", flags.file, " is an image"));
  };
  refuse("--check-nan", flags.check_nan);
  refuse("--dump", !flags.dump_folder.empty());
  refuse("--strict", flags.strict);
  refuse("--disable-pass", !flags.disabled_passes.empty());
  refuse("--choice", !flags.choices.empty());
  OpenedFiles files;
  const Image image = read_image(flags.file, {.files = {.opened = &files}});
  const Signature signature = signature_of(image);
  const std::vector<std::string> chosen = chosen_outputs(signature, flags);
  const TensorMap inputs = make_inputs(signature, flags.inputs);
  const Device device = device_for(image, flags.device, context);
  const Make make = [&](const Device& on) {
    return prepare(on, image, catalog(), flags.memory_budget);
  };
  const Done done = run_program(make, device, inputs, chosen, flags, context);
  files.check_unchanged();
  show(chosen, done, flags, context);
}

void run_graph(const RunFlags& flags, Context& context) {
  OpenedFiles files;
  const Graph graph = load_graph(flags.file, &files);
  const Signature signature = signature_of(graph);
  const std::vector<std::string> chosen = chosen_outputs(signature, flags);
  const TensorMap inputs = make_inputs(signature, flags.inputs);
  const bool look_inside = flags.check_nan || !flags.dump_folder.empty();

  const AllValues all = look_inside ? with_all_values(graph) : AllValues{};
  std::vector<std::string> wanted = chosen;
  for (const NodeResult& result : all.results) wanted.push_back(result.output);
  const Make make = [&](const Device& on) {
    return compile(look_inside ? all.graph : graph, {.device = on,
                                                     .strict = flags.strict,
                                                     .disabled_passes = flags.disabled_passes,
                                                     .memory_budget = flags.memory_budget,
                                                     .choices = choices_of(flags.choices)});
  };
  const Done done = run_program(make, context.device(flags.device), inputs, wanted, flags, context);
  files.check_unchanged();
  show(chosen, done, flags, context);
  if (!flags.dump_folder.empty()) dump_values(all, done.outputs, flags.dump_folder);
  if (!flags.check_nan) return;
  const auto found = first_not_finite(all, inputs, done.outputs);
  if (found) {
    context.err << "rlx: " << *found << '\n';
    context.exit_code = 1;
  } else if (flags.format != "json") {
    context.out << "all results of all nodes are finite\n";
  }
}

void run_command(const RunFlags& flags, Context& context) {
  is_image_file(flags.file) ? run_image(flags, context) : run_graph(flags, context);
}

constexpr const char* kExamples =
    "Examples:\n"
    "  rlx run model.rlx --input x=x.npy --input 'scale=[1, 2, 3]'\n"
    "  rlx run model.rlx --bind seq=128 --device gpu --report\n"
    "  rlx run model.rlx --input x=random:7 --format json --output probabilities\n"
    "  rlx run model.rlx --input x=x.npy --check-nan --dump values/\n";

}  // namespace

void add_run_command(CLI::App& app, Context& context) {
  const auto flags = std::make_shared<RunFlags>();
  CLI::App& command = *app.add_subcommand("run", "Run a graph or an image and show its outputs");
  command
      .add_option("FILE", flags->file, "The graph, a .rlx or .onnx file, or an image, a .rlxi file")
      ->required()
      ->type_name("");
  add_input_options(command, flags->inputs);
  command.add_option("--device", flags->device, "cpu, gpu, auto, or a name that rlx devices shows")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--output", flags->outputs, "An output to show; without this, all")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command.add_option("--format", flags->format, "How to show outputs")
      ->check(CLI::IsMember(std::set<std::string>{"table", "json", "npy"}).description(""))
      ->type_name("table|json|npy")
      ->capture_default_str();
  command.add_option("--out", flags->out, "Write each output to DIR/NAME.npy")
      ->check(refuse_empty, "")
      ->type_name("DIR");
  command.add_flag("--report", flags->report, "Show dispatches, memory, and what ran on the host");
  command.add_option("--report-json", flags->report_file, "Write that report as JSON")
      ->check(refuse_empty, "")
      ->type_name("FILE");
  command
      .add_option("--trace", flags->trace_file, "Write a trace for chrome://tracing or Perfetto")
      ->check(refuse_empty, "")
      ->type_name("FILE");
  command.add_flag("--check-nan", flags->check_nan,
                   "Find the first node with a NaN or Inf; exit 1 if one has");
  command.add_option("--dump", flags->dump_folder, "Write what every node computes to DIR")
      ->check(refuse_empty, "")
      ->type_name("DIR");
  command.add_flag("--strict", flags->strict,
                   "Fail rather than compute on the host of another device");
  add_pass_option(command, flags->disabled_passes);
  command
      .add_option("--choice", flags->choices,
                  "A choice for kernels: call.conv.winograd=0, for one node "
                  "call.conv.winograd@conv_3=0")
      ->type_name("KEY=NUMBER")
      ->allow_extra_args(false);
  command.add_option("--memory-budget", flags->memory_budget, "Refuse a run that needs more bytes")
      ->type_name("BYTES");
  command
      .add_option("--iteration-budget", flags->iteration_budget,
                  "Stop a run whose loops go round more often, all together")
      ->check(CLI::NonNegativeNumber.description(""))
      ->type_name("N");
  command.add_option("--repeat", flags->repeat, "Run so many times")
      ->check(CLI::Range(1, 1000000).description(""))
      ->type_name("N")
      ->capture_default_str();
  command.footer(kExamples);
  command.callback([flags, &context] { run_command(*flags, context); });
}

}  // namespace rlx::cli
