#include "rlx/cli/all_values.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "rlx/base/file.h"
#include "rlx/cli/tensor_print.h"

namespace rlx::cli {
namespace {

struct NotFinite {
  int64_t nan = 0, infinite = 0, first = -1;
  bool any() const { return first >= 0; }
};
NotFinite find_not_finite(const Tensor& tensor) {
  NotFinite found;
  if (!is_float(tensor.dtype())) return found;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double value = tensor.at(i);
    if (std::isfinite(value)) continue;
    if (found.first < 0) found.first = i;
    ++(std::isnan(value) ? found.nan : found.infinite);
  }
  return found;
}

// What a node read: of sources, what they hold; of nodes before the first bad one, all is well.
std::vector<std::string> bad_sources(const Node& node, const TensorMap& inputs) {
  std::vector<std::string> names;
  for (const Value& operand : node.inputs) {
    if (!operand.present()) continue;
    const Node& producer = operand.producer();
    const auto input = is_input(producer) ? inputs.find(producer.name) : inputs.end();
    const Tensor* tensor = input != inputs.end() ? &input->second : tensor_of(producer);
    if (tensor && find_not_finite(*tensor).any())
      names.push_back(text(producer.op->name, " '", producer.name, "'"));
  }
  return names;
}

}  // namespace

AllValues with_all_values(const Graph& graph) {
  AllValues all{graph.clone(), {}};
  for (int n = 0; n < static_cast<int>(graph.nodes().size()); ++n) {
    const Node& node = graph.node(n);
    if (is_source(node)) continue;
    for (int r = 0; r < static_cast<int>(node.types.size()); ++r) {
      const std::string output = text("result ", r, " of node ", n);
      all.graph.output(output, all.graph.value(n, r));
      all.results.push_back({n, r, output, r == 0 ? node.name : text(node.name, ':', r)});
    }
  }
  return all;
}

std::optional<std::string> first_not_finite(const AllValues& all, const TensorMap& inputs,
                                            const TensorMap& outputs) {
  for (const NodeResult& result : all.results) {
    const Tensor& tensor = outputs.at(result.output);
    const NotFinite found = find_not_finite(tensor);
    if (!found.any()) continue;
    const Node& node = all.graph.node(result.node);
    const std::vector<std::string> sources = bad_sources(node, inputs);
    return text("node '", result.name, "' (", node.op->name, ", ", tensor.type(), ") has ",
                found.nan, " NaN and ", found.infinite, " Inf of ", tensor.count(),
                " elements, the first is ", element_text(tensor, found.first), " at ",
                index_text(tensor.shape(), found.first),
                sources.empty() ? "; its operands are finite"
                                : "; so has what it reads: " + joined(sources));
  }
  return {};
}

void dump_values(const AllValues& all, const TensorMap& outputs, const std::string& folder) {
  nlohmann::ordered_json index = nlohmann::ordered_json::array();
  const size_t digits = std::to_string(all.graph.nodes().size()).size();
  std::set<std::string> files;
  for (const NodeResult& result : all.results) {
    const Tensor& tensor = outputs.at(result.output);
    // The number keeps files in the graph's order, and apart where names are alike.
    std::string number = std::to_string(result.node);
    number.insert(0, digits - std::min(digits, number.size()), '0');
    const std::string file = save_tensor(folder, number + "_" + result.name, tensor, files);
    index.push_back({{"node", result.node},
                     {"name", all.graph.node(result.node).name},
                     {"result", result.result},
                     {"op", all.graph.node(result.node).op->name},
                     {"dtype", std::string(name(tensor.dtype()))},
                     {"shape", static_cast<const std::vector<int64_t>&>(tensor.shape())},
                     {"file", file}});
  }
  std::error_code ignored;  // the write says what is wrong
  std::filesystem::create_directories(folder, ignored);
  write_file((std::filesystem::path(folder) / "index.json").string(), json_text(index));
}

std::string index_text(const Shape& shape, int64_t i) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = i % shape[d];
    i /= shape[d];
  }
  return text('[', joined(index), ']');
}

}  // namespace rlx::cli
