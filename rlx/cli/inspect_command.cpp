// rlx inspect: shows what is in a graph, what would run where, and how much memory it would take.

#include "rlx/cli/inputs.h"
#include "rlx/cli/inspection.h"
#include "rlx/cli/load_graph.h"
#include "rlx/cli/table.h"
#include "rlx/cli/tensor_print.h"
#include "rlx/ir/text.h"
#include "rlx/runtime/image.h"

namespace rlx::cli {

using namespace detail;
namespace {

struct InspectFlags {
  std::string file, device = "cpu";
  InputOptions inputs;
  std::vector<std::string> disabled_passes;
  bool memory = false, json = false, text = false, image = false;
};

void print_types(const char* title, const std::vector<NamedType>& list, Context& context) {
  if (list.empty()) return;
  context.out << context.bold(title) << '\n';
  Table table;
  for (const auto& [name, type] : list) table.rows.push_back({name, text(type)});
  table.print(context.out);
}

std::string counts_text(const std::map<std::string, int64_t>& counts) {
  std::vector<std::string> list;
  for (const auto& [name, count] : counts) list.push_back(text(count, ' ', name));
  return list.empty() ? "none" : joined(list);
}

void print_graph(const Inspection& found, Context& context) {
  print_types("inputs", found.inputs, context);
  print_types("outputs", found.outputs, context);
  print_types("states", found.states, context);
  context.out << context.bold("weights") << "  " << found.weights.size() << " of "
              << found.parameters << " parameters, " << bytes_text(found.weight_bytes) << '\n';
  for (const auto& [name, bounds] : found.symbols) {
    context.out << context.bold("symbol") << "   " << name;
    if (bounds.high == kUnbounded)
      context.out << ", without a bound\n";
    else
      context.out << " in " << bounds.low << ".." << bounds.high << '\n';
  }
  context.out << context.bold("ops") << "      " << counts_text(found.ops) << '\n';
}

void print_steps(const Inspection& found, Context& context) {
  context.out << context.bold("on " + found.device) << "  steps: " << counts_text(found.steps)
              << "\n";
  if (!found.kernels.empty()) context.out << "  kernels: " << counts_text(found.kernels) << '\n';
  Table table{{"on the host", "node", "why"}, ""};
  for (const HostStep& step : found.host_steps)
    if (!step.reason.empty()) table.rows.push_back({step.op, step.node, step.reason});
  if (!table.rows.empty()) table.print(context.out);
  if (found.host_steps.empty()) context.out << "  nothing on the host\n";
}

void print_slots(const Inspection& found, Context& context) {
  const MemoryPlan& plan = found.plan;
  std::vector<std::vector<std::string>> users(plan.slot_bytes.size());
  for (size_t v = 0; v < plan.slot_of.size(); ++v)
    if (plan.slot_of[v] >= 0)
      users[static_cast<size_t>(plan.slot_of[v])].push_back(found.value_names[v]);
  Table table{{"slot", "bytes", "values, one after the other"}, "rr"};
  for (size_t slot = 0; slot < users.size(); ++slot)
    table.rows.push_back({text(slot), text(plan.slot_bytes[slot]), joined(users[slot])});
  if (!table.rows.empty()) table.print(context.out);
}

void print_memory(const Inspection& found, bool slots, Context& context) {
  std::vector<std::string> sizes;
  for (const auto& [name, range] : found.planned_for)
    sizes.push_back(text(name, " = ", range.high));
  context.out << context.bold("memory") << "   " << found.plan.slot_bytes.size() << " slots, "
              << bytes_text(found.plan.peak_bytes) << " at the peak, of which "
              << bytes_text(found.plan.live_bytes) << " are alive at once; weights and constants "
              << bytes_text(found.device_weight_bytes);
  if (found.packed_bytes > 0)
    context.out << ", packed for calls " << bytes_text(found.packed_bytes);
  if (found.widened_bytes > 0)
    context.out << ", widened for calls " << bytes_text(found.widened_bytes);
  if (found.once_steps > 0)
    context.out << ", computed once " << bytes_text(found.once_bytes) << " of "
                << bytes_text(found.once_source_bytes) << " that no run reads";
  if (!sizes.empty()) context.out << "; planned for " << joined(sizes);
  context.out << '\n';
  if (!found.unknown.empty())
    context.out << "  without what depends on " << joined(found.unknown) << ": add --bind "
                << found.unknown.front() << "=NUMBER\n";
  if (slots) print_slots(found, context);
}

void inspect_command(const InspectFlags& flags, Context& context) {
  const bool of_graph = flags.json || flags.memory || flags.text;
  if (of_graph && (flags.image || is_image_file(flags.file)))
    throw CLI::ValidationError("inspect", "an image has neither --json nor --memory nor --text");
  if (is_image_file(flags.file)) {
    context.out << to_text(read_image(flags.file));
    return;
  }
  const Graph graph = load_graph(flags.file);
  const SymbolValues symbols = bound_symbols(signature_of(graph), flags.inputs);
  const Device device = context.device(flags.device);
  const CompileOptions options{.device = device, .disabled_passes = flags.disabled_passes};
  if (flags.image) {
    context.out << to_text(compile_image(graph, options));
    return;
  }
  const Inspection found = inspect(graph, options, symbols);
  if (flags.json) {
    nlohmann::ordered_json json = inspection_json(found);
    if (flags.text) json["text"] = print(graph);
    context.out << json_text(json);
    return;
  }
  print_graph(found, context);
  print_steps(found, context);
  print_memory(found, flags.memory, context);
  if (flags.text) context.out << '\n' << print(graph);
}

}  // namespace

void add_inspect_command(CLI::App& app, Context& context) {
  const auto flags = std::make_shared<InspectFlags>();
  CLI::App& command =
      *app.add_subcommand("inspect", "Show what is in a graph, and what it would take to run");
  command
      .add_option("FILE", flags->file, "The graph, a .rlx or .onnx file, or an image, a .rlxi file")
      ->required()
      ->type_name("");
  add_bind_option(command, flags->inputs);
  command
      .add_option("--device", flags->device, "The device to plan for: cpu, gpu, auto, or a name")
      ->type_name("NAME")
      ->capture_default_str();
  add_pass_option(command, flags->disabled_passes);
  command.add_flag("--memory", flags->memory, "Show which values share which slot");
  command.add_flag("--json", flags->json, "As JSON");
  command.add_flag("--text", flags->text, "Print the graph too");
  command.add_flag("--image", flags->image, "Print the image that would run, and nothing else");
  command.footer(
      "Examples:\n"
      "  rlx inspect model.rlx\n"
      "  rlx inspect model.rlx --device gpu --bind seq=128 --memory\n"
      "  rlx inspect model.rlx --text\n"
      "  rlx inspect model.rlxi\n");
  command.callback([flags, &context] { inspect_command(*flags, context); });
}

}  // namespace rlx::cli
