// rlx quantise: writes a graph whose products have their weights in blocks of few bits, and shows
// what each of them lost on the inputs of a folder.

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "rlx/cli/inputs.h"
#include "rlx/cli/load_graph.h"
#include "rlx/cli/table.h"
#include "rlx/import/rlx_file.h"
#include "rlx/ops/elementwise.h"
#include "rlx/ops/ops_blocks.h"
#include "rlx/ops/ops_core.h"
#include "rlx/passes/pass.h"
#include "rlx/runtime/program.h"
#include "rlx/tensor/blocks/format.h"

namespace rlx::cli {
namespace {

namespace fs = std::filesystem;

struct QuantiseFlags {
  std::string from, to, folder, format = "int8";
  double most = 1;
};

// A product by weights that are known, and what quantising it costs.
struct Layer {
  int node;
  std::string name, kept;  // why it stays as it is
  int64_t bytes = 0, bytes_after = 0;
  double weight_error = 0, error = 0, energy = 0;  // squares of results, over all samples
  double loss() const { return energy > 0 ? std::sqrt(error / energy) : 0; }
};

bool is_transposed(const Node& node) {
  return node.attrs.get<bool>(node.op->name == "linear" ? "transpose_w" : "transpose_b");
}

// Products whose second operand is a matrix of f32 in the file.
bool is_layer(const Node& node) {
  const bool linear = node.op->name == "linear";
  if (!linear && (node.op->name != "matmul" || node.attrs.get<bool>("transpose_a"))) return false;
  const Node& w = node.inputs[1].producer();
  return tensor_of(w) && tensor_of(w)->dtype() == DType::f32 && tensor_of(w)->shape().size() == 2 &&
         node.inputs[0].dtype() == DType::f32 && rank(node.inputs[0].type()) >= 2;
}

Tensor weights_by_output(const Node& node) {
  const Tensor& w = *tensor_of(node.inputs[1].producer());
  if (is_transposed(node)) return w;
  Tensor turned(DType::f32, {w.shape()[1], w.shape()[0]});
  for (int64_t k = 0; k < w.shape()[0]; ++k)
    for (int64_t n = 0; n < w.shape()[1]; ++n)
      turned.set(n * w.shape()[0] + k, w.at(k * w.shape()[1] + n));
  return turned;
}

Value quantised(const RewriteSite& site, const BlockFormat& format) {
  const Tensor bytes = encode_blocks(weights_by_output(site.node), format);
  const Value w = site.to.weight(text(site.node.name, " in ", format.name, " ", site.at), bytes);
  Value y = quantised_matmul(site.inputs[0], w, std::string(format.name));
  if (site.node.op->name == "matmul") return y;
  if (site.inputs.size() > 2 && site.inputs[2].present()) y = y + site.inputs[2];
  const std::string& activation = site.attrs.get<std::string>("activation");
  return activation.empty() ? y : y.apply(elementwise_op(activation), {y});
}

double square_sum(const Tensor& a, const Tensor* minus = nullptr) {
  double sum = 0;
  for (int64_t i = 0; i < a.count(); ++i) {
    const double x = a.at(i) - (minus ? minus->at(i) : 0);
    sum += x * x;
  }
  return sum;
}

std::vector<Layer> find_layers(const Graph& graph, const BlockFormat& format) {
  std::vector<Layer> layers;
  for (int n = 0; n < static_cast<int>(graph.nodes().size()); ++n) {
    const Node& node = graph.node(n);
    if (!is_layer(node)) continue;
    Layer layer{n, node.name.empty() ? text("node ", n) : node.name, ""};
    const Tensor w = weights_by_output(node);
    const int64_t inner = w.shape()[1];
    layer.bytes = layer.bytes_after = static_cast<int64_t>(w.bytes().size());
    if (inner == 0 || inner % format.elements != 0) {
      layer.kept = text(inner, " inputs are no multiple of ", format.elements);
    } else {
      const Tensor bytes = encode_blocks(w, format), back = decode_blocks(bytes, format);
      layer.bytes_after = static_cast<int64_t>(bytes.bytes().size());
      const double all = square_sum(w);
      layer.weight_error = all > 0 ? std::sqrt(square_sum(w, &back) / all) : 0;
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

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
  if (inside.empty()) return {sample(folder)};
  std::vector<TensorMap> all;
  for (const fs::path& path : inside) all.push_back(sample(path));
  return all;
}

// Runs the graph as it is, with each layer's quantised form beside it, on the same operands.
void measure(const Graph& graph, const BlockFormat& format, const std::vector<TensorMap>& inputs,
             std::vector<Layer>& layers) {
  std::map<int, std::pair<Value, Value>> both;
  Graph probed = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    for (const Layer& layer : layers)
      if (layer.node == site.at && layer.kept.empty()) {
        const Value y = site.to.add(site.node.op, site.inputs, site.attrs, site.node.name);
        both[site.at] = {y, quantised(site, format)};
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
  measure(graph, format, inputs, layers);
  for (Layer& layer : layers)
    if (layer.kept.empty() && layer.loss() > flags.most) layer.kept = "it would lose too much";
  const Graph made = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    for (const Layer& layer : layers)
      if (layer.node == site.at && layer.kept.empty()) return Values{quantised(site, format)};
    return std::nullopt;
  });
  const std::string tensors = save_rlx(made, flags.to);
  files.check_unchanged();

  Table table{{"layer", "bytes", "in " + std::string(format.name), "weights off by",
               "results off by", "kept in f32"},
              "lrrrr"};
  int64_t before = 0, after = 0;
  for (const Layer& layer : layers) {
    const bool kept = !layer.kept.empty();
    before += layer.bytes;
    after += kept ? layer.bytes : layer.bytes_after;
    table.rows.push_back({layer.name, bytes_text(layer.bytes),
                          kept ? "" : bytes_text(layer.bytes_after),
                          layer.bytes_after == layer.bytes ? "" : percent(layer.weight_error),
                          layer.energy > 0 ? percent(layer.loss()) : "", layer.kept});
  }
  table.print(context.out);
  print_outputs(graph, made, inputs, context);
  context.out << flags.to << ": weights of " << layers.size() << " products from "
              << bytes_text(before) << " to " << bytes_text(after) << ", " << inputs.size()
              << " samples" << (tensors.empty() ? "" : ", tensors in " + tensors) << '\n';
}

}  // namespace

void add_quantise_command(CLI::App& app, Context& context) {
  const auto flags = std::make_shared<QuantiseFlags>();
  CLI::App& command = *app.add_subcommand(
      "quantise", "Write a graph with its weights in few bits, and show what each product lost");
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
                  "int8, int4, or a format of docs/quantised-weights.md, such as q4_k")
      ->capture_default_str();
  command
      .add_option("--most", flags->most,
                  "Products whose results would be off by more than this share stay in f32")
      ->capture_default_str();
  command.add_option("--out", flags->to, "The .rlx file to write")->required()->type_name("FILE");
  command.footer(
      "Examples:\n"
      "  rlx quantise model.onnx --calibrate samples --format int4 --most 0.05 --out small.rlx\n");
  command.callback([flags, &context] { quantise_command(*flags, context); });
}

}  // namespace rlx::cli
