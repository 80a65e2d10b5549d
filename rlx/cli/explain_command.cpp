// rlx explain: shows what each pass made of a graph, what it nearly made, and what is left to run.

#include <algorithm>

#include "rlx/base/clock.h"
#include "rlx/base/file.h"
#include "rlx/cli/explanation.h"
#include "rlx/cli/load_graph.h"
#include "rlx/cli/pages.h"
#include "rlx/cli/table.h"
#include "rlx/compile/build_image.h"
#include "rlx/facade/optimised.h"
#include "rlx/ir/text.h"
#include "rlx/ops/catalog.h"
#include "rlx/passes/match.h"
#include "rlx/runtime/internals.h"

namespace rlx::cli {
namespace {

struct ExplainFlags {
  std::string file, device = "cpu", html_file;
  InputOptions inputs;
  std::vector<std::string> disabled_passes;
  bool text = false, verbose = false, steps = true, times = false;
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

void print_passes(const Explanation& found, const ExplainFlags& flags, Context& context) {
  Table table{{"pass", "changes", "time", "what it does"}, "lrr"};
  for (size_t i = 0; i < found.passes.size(); ++i)
    table.rows.push_back({found.passes[i].name, text(found.passes[i].changes),
                          time_text(found.passes[i].microseconds), summary_of(i)});
  table.print(context.out);
  if (!flags.verbose) return;
  for (size_t i = 0; i < found.passes.size(); ++i) {
    const PassChanges& changes = found.changes[i];
    if (changes.removed.empty() && changes.added.empty()) continue;
    context.out << context.bold(found.passes[i].name) << '\n';
    for (const std::string& node : changes.removed) context.out << "  - " << node << '\n';
    for (const std::string& node : changes.added) context.out << "  + " << node << '\n';
  }
}

// Many sites of a model fail alike: without -v one line stands for those of a pass and an op.
void print_near_misses(const Explanation& found, const ExplainFlags& flags, Context& context) {
  Table table{{"nearly", "sites", "first at", "nodes found", "but"}, "lrlr"};
  for (const PassReport& pass : found.passes) {
    std::map<std::pair<std::string, size_t>, size_t> rows;  // by op and how much was found
    for (const NearMiss& miss : pass.near_misses) {
      const auto [row, is_new] = rows.emplace(std::pair(miss.op, miss.found), table.rows.size());
      if (is_new || flags.verbose)
        table.rows.push_back(
            {pass.name, "1", text(miss.op, " '", miss.node, '\''), text(miss.found), miss.reason});
      else
        table.rows[row->second][1] = text(std::stoll(table.rows[row->second][1]) + 1);
    }
  }
  if (!table.rows.empty()) table.print(context.out);
}

void print_ops(const Explanation& found, Context& context) {
  OpCounts before, after;
  count_run_ops(found.before, before);
  count_run_ops(found.after, after);
  Table table{{"op", "before", "after"}, "lrr"};
  int64_t all_before = 0, all_after = 0;
  OpCounts names = before;
  names.insert(after.begin(), after.end());
  for (const auto& [name, unused] : names) {
    const auto of = [&, op = name](const OpCounts& counts) {
      const auto at = counts.find(op);
      return at == counts.end() ? int64_t{0} : at->second;
    };
    all_before += of(before);
    all_after += of(after);
    table.rows.push_back({name, text(of(before)), text(of(after))});
  }
  table.rows.push_back({"in all", text(all_before), text(all_after)});
  table.print(context.out);
}

std::string flops_text(double flops) {
  if (flops <= 0) return "-";
  return short_number(flops < 1e9 ? flops / 1e6 : flops / 1e9) + (flops < 1e9 ? " M" : " G");
}

void print_steps(const Explanation& found, Context& context) {
  Table table{{"step", "node", "writes", "read", "written", "flops", "unfused"}, "lllrrrr"};
  for (const ExplainedStep& step : found.steps) {
    if (step.once) continue;
    const bool named = step.node >= 0 && step.node < static_cast<int>(found.image.nodes.size());
    table.rows.push_back({step.what,
                          named ? found.image.nodes[static_cast<size_t>(step.node)].name : "",
                          step.shape, bytes_text(step.work.read), bytes_text(step.work.written),
                          flops_text(step.work.flops), bytes_text(step.unfused_bytes)});
  }
  table.print(context.out);
}

void print_totals(const Explanation& found, Context& context) {
  Work all;
  size_t steps = 0;
  for (const ExplainedStep& step : found.steps)
    if (!step.once) all += step.work, ++steps;
  const auto bytes = [](const Work& work) {
    return text(bytes_text(work.read), " read, ", bytes_text(work.written), " written, ",
                flops_text(work.flops), "FLOP");
  };
  context.out << context.bold("on " + found.device) << "  " << found.steps_before
              << " steps without passes, " << steps << " with them, and " << found.image.once.size()
              << " when it is prepared\n"
              << "  as it was: " << bytes(found.work_before) << "\n  as it is:  " << bytes(all)
              << '\n';
  if (!found.unbound.empty())
    context.out << "  with 1 for " << joined(found.unbound) << ": add --bind " << found.unbound[0]
                << "=NUMBER\n";
}

// Once more, as a user compiles: without notes of what was nearly found. A device makes pipelines
// as it prepares, unless it has them already.
void print_times(const ExplainFlags& flags, const Device& device, Context& context) {
  auto since = Clock::now();
  const auto lap = [&] {
    const double time = microseconds_since(since);
    since = Clock::now();
    return time;
  };
  const CompileOptions options{.device = device, .disabled_passes = flags.disabled_passes};
  const Graph graph = load_graph(flags.file);
  const double import = lap();
  const Graph after = detail::optimised(graph, options);
  const double passes = lap();
  const Image image = detail::image_of(
      detail::build_image(after, device.traits(), {{options.choices}, options.strict}));
  const double lowering = lap();
  const Program program = prepare(device, image, catalog());
  const double preparing = lap(), all = import + passes + lowering + preparing;
  context.out << "  ready in " << time_text(all) << ": import " << time_text(import) << ", passes "
              << time_text(passes) << " (" << short_number(100 * passes / all) << " %), lowering "
              << time_text(lowering) << ", preparing " << time_text(preparing) << '\n';
}

void explain_command(const ExplainFlags& flags, Context& context) {
  const Graph graph = load_graph(flags.file);
  const Device device = context.device(flags.device);
  const Explanation found =
      explain(graph, {.device = device, .disabled_passes = flags.disabled_passes}, flags.inputs);
  print_passes(found, flags, context);
  print_near_misses(found, flags, context);
  print_ops(found, context);
  if (flags.steps) print_steps(found, context);
  print_totals(found, context);
  if (flags.times) print_times(flags, device, context);
  if (flags.text) context.out << '\n' << print(found.after);
  if (!flags.html_file.empty())
    write_file(flags.html_file,
               page_with("explain_page.html", explanation_json(found, flags.file)));
}

}  // namespace

void add_pass_option(CLI::App& command, std::vector<std::string>& disabled) {
  command
      .add_option("--disable-pass", disabled,
                  "A pass not to run, by the name explain shows; all: none is run")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

void add_explain_command(CLI::App& app, Context& context) {
  const auto flags = std::make_shared<ExplainFlags>();
  CLI::App& command = *app.add_subcommand("explain", "Show what the passes make of a graph");
  command.add_option("FILE", flags->file, "The graph, a .rlx or .onnx file")
      ->required()
      ->type_name("");
  command.add_option("--device", flags->device, "The device to compile for: cpu, gpu, or a name")
      ->type_name("NAME")
      ->capture_default_str();
  add_bind_option(command, flags->inputs);
  add_pass_option(command, flags->disabled_passes);
  command
      .add_option("--html", flags->html_file,
                  "Write the graph before and after as a page to look around in")
      ->check(refuse_empty, "")
      ->type_name("FILE");
  command.add_flag("-v,--verbose", flags->verbose,
                   "Show each node that a pass took or brought, and each near miss");
  command.add_flag("!--no-steps", flags->steps, "Do not list the steps");
  command.add_flag("--times", flags->times,
                   "Prepare it, too, and show what import, passes, lowering and that took");
  command.add_flag("--text", flags->text, "Print the graph as the passes leave it");
  command.footer(
      "Examples:\n"
      "  rlx explain model.onnx --bind batch=1 --html model.html\n"
      "  rlx explain model.onnx --device gpu --disable-pass find-activations -v\n");
  command.callback([flags, &context] { explain_command(*flags, context); });
}

}  // namespace rlx::cli
