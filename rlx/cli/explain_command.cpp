// rlx explain: shows what each pass made of a graph, and what is left to run.

#include "rlx/cli/inspection.h"
#include "rlx/cli/load_graph.h"
#include "rlx/cli/table.h"
#include "rlx/ir/text.h"
#include "rlx/passes/match.h"
#include "rlx/passes/passes.h"
#include "rlx/runtime/program.h"

namespace rlx::cli {
namespace {

struct ExplainFlags {
  std::string file, device = "cpu";
  std::vector<std::string> disabled_passes;
  bool text = false;
};

// How many nodes compute something at every run, by op; those of bodies too.
using OpCounts = std::map<std::string, int64_t>;
void count_run_ops(const Graph& graph, OpCounts& counts) {
  const MatchGraph known(graph);
  for (int at = 0; at < static_cast<int>(graph.nodes().size()); ++at) {
    const Node& node = graph.node(at);
    if (!is_source(node) && !known.is_once(graph.value(at))) ++counts[node.op->name];
    for (const auto& [name, attr] : node.attrs)
      if (const auto* body = std::get_if<GraphPtr>(&attr.variant())) count_run_ops(**body, counts);
  }
}

void print_passes(const std::vector<PassReport>& report, Context& context) {
  Table table{{"pass", "changes", "time", "what it does"}, "lrr"};
  const std::vector<const Pass*> passes = pass_pipeline();
  for (size_t i = 0; i < report.size(); ++i)
    table.rows.push_back({report[i].name, text(report[i].changes),
                          time_text(report[i].microseconds), passes[i]->summary});
  table.print(context.out);
}

void print_ops(const OpCounts& before, const OpCounts& after, Context& context) {
  Table table{{"op", "before", "after"}, "lrr"};
  int64_t all_before = 0, all_after = 0;
  OpCounts names = before;
  names.insert(after.begin(), after.end());
  for (const auto& [name, unused] : names) {
    const auto of = [&, op = name](const OpCounts& counts) {
      const auto found = counts.find(op);
      return found == counts.end() ? int64_t{0} : found->second;
    };
    all_before += of(before);
    all_after += of(after);
    table.rows.push_back({name, text(of(before)), text(of(after))});
  }
  table.rows.push_back({"in all", text(all_before), text(all_after)});
  table.print(context.out);
}

void explain_command(const ExplainFlags& flags, Context& context) {
  const Graph graph = load_graph(flags.file);
  const Device device = context.device(flags.device);
  std::vector<PassReport> report;
  const Graph after = run_passes(graph, {.disabled = flags.disabled_passes, .report = &report});
  OpCounts ops_before, ops_after;
  count_run_ops(graph, ops_before);
  count_run_ops(after, ops_after);
  print_passes(report, context);
  print_ops(ops_before, ops_after, context);
  const auto steps = [&](bool optimise) {
    return compile_image(
        graph, {.device = device, .optimise = optimise, .disabled_passes = flags.disabled_passes});
  };
  const Image without = steps(false), with = steps(true);
  context.out << context.bold("on " + device.name()) << "  " << without.data().run.size()
              << " steps without passes, " << with.data().run.size() << " with them, and "
              << with.data().once.size() << " when it is prepared\n";
  if (flags.text) context.out << '\n' << print(after);
}

}  // namespace

void add_pass_option(CLI::App& command, std::vector<std::string>& disabled) {
  command.add_option("--disable-pass", disabled, "A pass not to run, by the name explain shows")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

void add_explain_command(CLI::App& app, Context& context) {
  const auto flags = std::make_shared<ExplainFlags>();
  CLI::App& command = *app.add_subcommand("explain", "Show what the passes make of a graph");
  command.add_option("FILE", flags->file, "The graph, a .rlx or .onnx file")
      ->required()
      ->type_name("");
  command
      .add_option("--device", flags->device, "The device to count steps for: cpu, gpu, or a name")
      ->type_name("NAME")
      ->capture_default_str();
  add_pass_option(command, flags->disabled_passes);
  command.add_flag("--text", flags->text, "Print the graph as the passes leave it");
  command.footer(
      "Examples:\n"
      "  rlx explain model.onnx\n"
      "  rlx explain model.onnx --device gpu --disable-pass find-activations\n");
  command.callback([flags, &context] { explain_command(*flags, context); });
}

}  // namespace rlx::cli
