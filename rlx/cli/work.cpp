#include "rlx/cli/work.h"

#include <algorithm>
#include <map>
#include <set>

namespace rlx::cli {
namespace {

// None where a symbol is missing, or is of a size that the model cannot have.
std::optional<int64_t> value_of(const Dim& dim, const SymbolValues& symbols) {
  if (!is_bound(dim, symbols)) return std::nullopt;
  try {
    return dim.value(symbols);
  } catch (const Error&) {
    return std::nullopt;
  }
}

double count_of(const Dims& shape, const SymbolValues& symbols) {
  double count = 1;
  for (const Dim& dim : shape) count *= static_cast<double>(value_of(dim, symbols).value_or(1));
  return count;
}

struct Site {
  const Graph& graph;
  const Node& node;
  const SymbolValues& symbols;

  bool has(size_t i) const { return i < node.inputs.size() && node.inputs[i].present(); }
  const Dims& shape(size_t i) const { return node.inputs[i].type().shape; }
  double in(size_t i) const { return has(i) ? count_of(shape(i), symbols) : 0; }
  double out() const { return count_of(node.types[0].shape, symbols); }
  // From the end: 1 is the last.
  double dim(size_t i, size_t from_end) const {
    const Dims& dims = shape(i);
    return dims.size() < from_end ? 1 : count_of({dims[dims.size() - from_end]}, symbols);
  }
  double first(size_t i) const { return shape(i).empty() ? 1 : count_of({shape(i)[0]}, symbols); }
};

double product(const Site& site) { return 2 * site.out() * site.dim(0, 1); }
double convolution(const Site& site) {
  return 2 * site.out() * site.in(1) / std::max(site.first(1), 1.0);
}
double transposed(const Site& site) {
  return 2 * site.in(0) * site.in(1) / std::max(site.first(1), 1.0);
}
// Every query meets every key, and its weight every value.
double attention(const Site& site) {
  const size_t axis = site.node.attrs.get<std::string>("layout").find('s');
  const Dims& keys = site.shape(1);
  const double count = axis < keys.size() ? count_of({keys[axis]}, site.symbols) : 1;
  return 2 * (site.in(0) + site.out()) * count;
}
// x is [time, batch, inputs]; w and r are used at every step, for every row.
double recurrent(const Site& site) {
  return 2 * site.in(0) / std::max(site.dim(0, 1), 1.0) * (site.in(1) + site.in(2));
}

// Ops whose work is not one operation an element.
double (*heavy(const std::string& op))(const Site&) {
  static const std::map<std::string, double (*)(const Site&)> table{
      {"matmul", product},
      {"linear", product},
      {"matmul_integer", product},
      {"quantised_matmul", product},
      {"grouped_matmul", product},
      {"quantised_grouped_matmul", product},
      {"conv", convolution},
      {"conv_integer", convolution},
      {"conv_transpose", transposed},
      {"attention", attention},
      {"rnn", recurrent},
      {"gru", recurrent},
      {"lstm", recurrent}};
  const auto found = table.find(op);
  return found == table.end() ? nullptr : found->second;
}

// Ops whose operand 1 is the weights of experts [E, ..] and operand 2 names one for each row.
bool has_experts(const std::string& op) {
  static const std::set<std::string> table{"grouped_matmul", "quantised_grouped_matmul"};
  return table.count(op) != 0;
}

// Bytes of operand i: of experts no more than rows can name.
int64_t read_of(const Site& site, size_t i) {
  const int64_t all = bytes_of_type(site.node.inputs[i].type(), site.symbols);
  if (i != 1 || !has_experts(site.node.op->name)) return all;
  return static_cast<int64_t>(static_cast<double>(all) *
                              std::min(1.0, site.in(2) / std::max(site.first(1), 1.0)));
}

// Bytes of a source that its readers want: of one that nobody reads, all of it.
int64_t read_of(const Graph& graph, const Node& source, const SymbolValues& symbols) {
  int64_t most = -1;
  for (const Node& reader : graph.nodes())
    for (size_t i = 0; i < reader.inputs.size(); ++i)
      if (reader.inputs[i].present() && &reader.inputs[i].producer() == &source)
        most = std::max(most, read_of(Site{graph, reader, symbols}, i));
  return most < 0 ? bytes_of_type(source.types[0], symbols) : most;
}

// Elements stay what they are, or are shape arithmetic.
bool moves_only(const Node& node) {
  const std::string& family = node.op->family;
  const bool known = !node.host_values.empty() && node.host_values[0].has_value();
  return known || node.op->view || family == "shape" || family == "indexing";
}

}  // namespace

Work& Work::operator+=(const Work& other) {
  flops += other.flops;
  read += other.read;
  written += other.written;
  return *this;
}

SymbolValues all_symbols(const Graph& graph, SymbolValues symbols) {
  for (const Node& node : graph.nodes())
    for (const auto& [name, dim] : node.definitions)
      if (const auto value = value_of(dim, symbols)) symbols.emplace(name, *value);
  return symbols;
}

int64_t bytes_of_type(const TensorType& type, const SymbolValues& symbols) {
  return static_cast<int64_t>(count_of(type.shape, symbols)) * bytes_of(type.dtype);
}

int64_t spared_bytes(const Graph& graph, const Node& node, const SymbolValues& symbols) {
  const Site site{graph, node, symbols};
  int64_t spared = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (site.has(i)) spared += bytes_of_type(node.inputs[i].type(), symbols) - read_of(site, i);
  return spared;
}

Work work_of(const Graph& graph, const Node& node, const SymbolValues& symbols) {
  Work work;
  if (is_source(node)) return work;
  const Site site{graph, node, symbols};
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (site.has(i)) work.read += read_of(site, i);
  for (const TensorType& type : node.types) work.written += bytes_of_type(type, symbols);
  for (const auto& [name, attr] : node.attrs)
    if (const auto* body = std::get_if<GraphPtr>(&attr.variant()))
      work.flops = std::max(work.flops, work_of(**body, all_symbols(**body, symbols)).flops);
  if (has_body(node)) return work;
  if (const auto count = heavy(node.op->name)) {
    work.flops = count(site);
  } else if (!moves_only(node)) {
    work.flops = site.out();
    for (size_t i = 0; i < node.inputs.size(); ++i) work.flops = std::max(work.flops, site.in(i));
  }
  return work;
}

Work work_of(const Graph& graph, const SymbolValues& symbols) {
  Work all;
  for (const Node& node : graph.nodes()) {
    if (is_input(node) || is_weight(node) || is_constant(node))
      all.read +=
          is_weight(node) ? read_of(graph, node, symbols) : bytes_of_type(node.types[0], symbols);
    all.flops += work_of(graph, node, symbols).flops;
  }
  for (const GraphOutput& output : graph.outputs())
    all.written += bytes_of_type(output.value.type(), symbols);
  return all;
}

}  // namespace rlx::cli
