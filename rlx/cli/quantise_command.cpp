// rlx quantise: writes a graph whose layers have their weights in few bits, and shows what each of
// them lost on the inputs of a folder.

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "rlx/cli/inputs.h"
#include "rlx/cli/load_graph.h"
#include "rlx/cli/quantise_layers.h"
#include "rlx/cli/table.h"
#include "rlx/import/rlx_file.h"
#include "rlx/ops/ops_core.h"
#include "rlx/passes/passes.h"
#include "rlx/runtime/program.h"

namespace rlx::cli {
namespace {

namespace fs = std::filesystem;

struct QuantiseFlags {
  std::string from, to, folder, format = "int8";
  double most = 1;
  bool weights_only = false;
};

// The folders that have a file for each input: the one given, or those in it.
std::vector<TensorMap> samples(const Graph& graph, const std::string& folder) {
  const Signature signature = signature_of(graph);
  const auto sample = [&](const fs::path& path) {
    InputOptions options;
    for (const Signature::Input& input : signature.inputs) {
      const fs::path file = path / (input.name + ".npy");
      require(fs::exists(file), "there is no ", file.string(), " for the input '", input.name, "'");
      options.inputs.push_back(input.name + "=" + file.string());
    }
    return make_inputs(signature, options);
  };
  require(fs::is_directory(folder), "'", folder, "' is no folder");
  std::vector<fs::path> inside;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) inside.push_back(entry.path());
  std::sort(inside.begin(), inside.end());
  require(!inside.empty() || !fs::is_empty(folder), "'", folder,
          "' is empty: it needs NAME.npy for each input, or folders with these");
  if (inside.empty()) return {sample(folder)};
  std::vector<TensorMap> all;
  for (const fs::path& path : inside) all.push_back(sample(path));
  return all;
}

// What the inputs of convolutions hold, so that bytes can.
void find_ranges(const Graph& graph, const std::vector<TensorMap>& inputs,
                 std::vector<Layer>& layers) {
  std::map<int, std::pair<Value, Value>> ends;
  Graph probed = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    for (const Layer& layer : layers)
      if (layer.node == site.at && layer.kept.empty() && takes_bytes(site.node))
        ends[site.at] = {reduce_min(site.inputs[0]), reduce_max(site.inputs[0])};
    return std::nullopt;
  });
  for (const auto& [node, values] : ends) {
    probed.output(text("least ", node), values.first);
    probed.output(text("most ", node), values.second);
  }
  Program program = compile(probed, {});
  for (const TensorMap& sample : inputs) {
    const TensorMap results = program.run(sample);
    for (Layer& layer : layers) {
      if (!ends.count(layer.node)) continue;
      if (!layer.range) layer.range.emplace();
      layer.range->least =
          std::min(layer.range->least, results.at(text("least ", layer.node)).at(0));
      layer.range->most = std::max(layer.range->most, results.at(text("most ", layer.node)).at(0));
    }
  }
  for (Layer& layer : layers)
    if (layer.range && !(std::isfinite(layer.range->least) && std::isfinite(layer.range->most)))
      layer.range.reset();
}

// Runs the graph as it is, with each layer's quantised form beside it, on the same operands.
void measure(const Graph& graph, const BlockFormat& format, const std::vector<TensorMap>& inputs,
             std::vector<Layer>& layers) {
  std::map<int, std::pair<Value, Value>> both;
  Graph probed = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    for (const Layer& layer : layers)
      if (layer.node == site.at && layer.kept.empty()) {
        const Value y = site.to.add(site.node.op, site.inputs, site.attrs, site.node.name);
        both[site.at] = {y, quantised(site, layer, format)};
        return Values{y};
      }
    return std::nullopt;
  });
  for (const auto& [node, values] : both) {
    probed.output(text("layer ", node), values.first);
    probed.output(text("quantised ", node), values.second);
  }
  Program program = compile(probed, {});
  for (const TensorMap& sample : inputs) {
    const TensorMap results = program.run(sample);
    for (Layer& layer : layers) {
      if (!layer.kept.empty()) continue;
      const Tensor &y = results.at(text("layer ", layer.node)),
                   &other = results.at(text("quantised ", layer.node));
      layer.energy += square_sum(y);
      layer.error += square_sum(other, &y);
    }
  }
}

std::string percent(double share) { return short_number(100 * share) + " %"; }

void print_outputs(const Graph& graph, const Graph& made, const std::vector<TensorMap>& inputs,
                   Context& context) {
  Program before = compile(graph, {}), after = compile(made, {});
  std::map<std::string, std::pair<double, double>> sums;
  for (const TensorMap& sample : inputs) {
    const TensorMap wanted = before.run(sample), got = after.run(sample);
    for (const auto& [name, tensor] : wanted) {
      if (!is_float(tensor.dtype())) continue;
      sums[name].first += square_sum(got.at(name), &tensor);
      sums[name].second += square_sum(tensor);
    }
  }
  Table table{{"output", "off by"}, "lr"};
  for (const auto& [name, sum] : sums)
    table.rows.push_back({name, percent(sum.second > 0 ? std::sqrt(sum.first / sum.second) : 0)});
  table.print(context.out);
}

void quantise_command(const QuantiseFlags& flags, Context& context) {
  if (!has_ending(flags.to, ".rlx"))
    throw CLI::ValidationError("--out", text("'", flags.to, "' does not end in .rlx"));
  const bool is_short = flags.format == "int8" || flags.format == "int4";
  const BlockFormat format = block_format(is_short ? flags.format + "_block" : flags.format);
  OpenedFiles files;
  const Graph graph = load_graph(flags.from, &files);
  const std::vector<TensorMap> inputs = samples(graph, flags.folder);
  std::vector<Layer> layers = find_layers(graph, format);
  require(!layers.empty(), "'", flags.from,
          "' has no product, convolution or table with its weights in the file");
  if (!flags.weights_only) find_ranges(graph, inputs, layers);
  measure(graph, format, inputs, layers);
  for (Layer& layer : layers)
    if (layer.kept.empty() && layer.loss() > flags.most) layer.kept = "it would lose too much";
  const Graph rewritten = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    for (const Layer& layer : layers)
      if (layer.node == site.at && layer.kept.empty())
        return Values{quantised(site, layer, format)};
    return std::nullopt;
  });
  const Graph made = dead_code.run(rewritten).graph;  // without the floats that nobody reads
  const std::string tensors = save_rlx(made, flags.to);
  files.check_unchanged();

  Table table{
      {"layer", "bytes", "as", "bytes", "weights off by", "results off by", "kept as floats"},
      "lrlrrr"};
  int64_t before = 0, after = 0;
  for (const Layer& layer : layers) {
    const bool kept = !layer.kept.empty();
    before += layer.bytes;
    after += kept ? layer.bytes : layer.bytes_after;
    table.rows.push_back({layer.name, bytes_text(layer.bytes),
                          kept          ? ""
                          : layer.range ? layer.form + ", x u8"
                                        : layer.form,
                          kept ? "" : bytes_text(layer.bytes_after),
                          layer.bytes_after == layer.bytes ? "" : percent(layer.weight_error),
                          layer.energy > 0 ? percent(layer.loss()) : "", layer.kept});
  }
  table.print(context.out);
  print_outputs(graph, made, inputs, context);
  context.out << flags.to << ": weights of " << layers.size() << " layers from "
              << bytes_text(before) << " to " << bytes_text(after) << ", " << inputs.size()
              << " samples" << (tensors.empty() ? "" : ", tensors in " + tensors) << '\n';
}

}  // namespace

void add_quantise_command(CLI::App& app, Context& context) {
  const auto flags = std::make_shared<QuantiseFlags>();
  CLI::App& command = *app.add_subcommand(
      "quantise", "Write a graph with its weights in few bits, and show what each layer lost");
  command.add_option("FILE", flags->from, "The graph, a .rlx or .onnx file")
      ->required()
      ->type_name("");
  command
      .add_option(
          "--calibrate", flags->folder,
          "A folder with NAME.npy for each input, or folders with these, one for each sample")
      ->required()
      ->type_name("FOLDER");
  command
      .add_option("--format", flags->format,
                  "int8, int4, or a format of docs/quantised-weights.md, such as q4_k; "
                  "convolutions take bytes with a scale for each channel")
      ->capture_default_str();
  command.add_flag(
      "--weights-only", flags->weights_only,
      "Convolutions compute in f32 with weights that are bytes in the file; else their "
      "inputs are bytes, too, by the range they have in the samples");
  command
      .add_option("--most", flags->most,
                  "Layers whose results would be off by more than this share stay as they are")
      ->capture_default_str();
  command.add_option("--out", flags->to, "The .rlx file to write")->required()->type_name("FILE");
  command.footer(
      "Examples:\n"
      "  rlx quantise model.onnx --calibrate samples --format int4 --most 0.05 --out small.rlx\n");
  command.callback([flags, &context] { quantise_command(*flags, context); });
}

}  // namespace rlx::cli
