// Two nodes with the same op, operands and attributes compute the same: the second becomes the
// first.

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "rlx/ir/known.h"
#include "rlx/ir/text.h"
#include "rlx/passes/passes.h"

namespace rlx {
namespace {

// Equal nodes have equal digests, so that a node is compared with few others: a tensor that is cut
// into ten thousand slices would else be fifty million comparisons.
class Digest {
 public:
  size_t value() const { return value_; }

  void add(const Node& node, const Values& inputs, const Attrs& attrs) {
    add(std::hash<const void*>()(node.op.get()));
    for (const Value& input : inputs)
      add(static_cast<size_t>(input.present() ? input.node * 8 + input.result : -1));
    for (const auto& [name, attr] : attrs)
      std::visit([&](const auto& value) { add(value); }, attr.variant());
  }

 private:
  void add(size_t part) { value_ = (value_ ^ part) * size_t{0x9e3779b1} + (value_ >> 15); }
  void add(bool value) { add(size_t{value}); }
  void add(int64_t value) { add(static_cast<size_t>(value)); }
  void add(double value) { add(std::isnan(value) ? size_t{1} : std::hash<double>()(value)); }
  void add(DType value) { add(static_cast<size_t>(value)); }
  void add(const std::string& value) { add(std::hash<std::string>()(value)); }
  void add(const Dim& value) { value.is_number() ? add(value.number()) : add(text(value)); }
  void add(const Tensor& value) {  // those that an op has are few: its first elements do
    constexpr int64_t kSome = 16;
    add(value.count());
    for (int64_t i = 0; i < std::min(kSome, value.count()); ++i) add(value.at(i));
  }
  void add(const GraphPtr& value) {
    for (const Node& node : value->nodes()) add(node, node.inputs, node.attrs);
    for (const GraphOutput& output : value->outputs()) add(size_t(output.value.node));
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add(values.size());
    for (const auto& value : values) add(static_cast<const T&>(value));
  }

  size_t value_ = 0;
};

// The first of those small constants that have the same type and bytes.
class Constants {
 public:
  Value first_of(const Value& value) {
    if (!value.present() || !is_constant(value.producer())) return value;
    const std::string_view bytes = bytes_of(value);
    if (tensor_of(value.producer())->count() > kMostKnownElements) return value;
    const auto [begin, end] = seen_.equal_range(std::hash<std::string_view>()(bytes));
    for (auto it = begin; it != end; ++it)
      if (it->second.type() == value.type() && bytes_of(it->second) == bytes) return it->second;
    seen_.emplace(std::hash<std::string_view>()(bytes), value);
    return value;
  }

 private:
  static std::string_view bytes_of(const Value& constant) {
    const auto bytes = tensor_of(constant.producer())->bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::unordered_multimap<size_t, Value> seen_;  // by a hash of its bytes
};

// Is any node equal to another? Asked before the graph is made again.
bool has_equals(const Graph& graph) {
  std::unordered_multimap<size_t, Value> seen;  // by digest
  Constants constants;
  for (int at = 0; at < static_cast<int>(graph.nodes().size()); ++at) {
    const Node& node = graph.node(at);
    if (is_source(node)) continue;
    Values inputs = node.inputs;
    for (Value& input : inputs) input = constants.first_of(input);
    Digest digest;
    digest.add(node, inputs, node.attrs);
    const auto [begin, end] = seen.equal_range(digest.value());
    for (auto it = begin; it != end; ++it) {
      const Node& other = it->second.producer();
      Values others = other.inputs;
      for (Value& input : others) input = constants.first_of(input);
      if (other.op.get() == node.op.get() && others == inputs &&
          same_attrs(other.attrs, node.attrs))
        return true;
    }
    seen.emplace(digest.value(), graph.value(at));
  }
  return false;
}

PassResult run(const Graph& graph) {
  if (!has_equals(graph)) return {};
  std::unordered_multimap<size_t, Value> seen;  // by digest
  Constants constants;
  int64_t changes = 0;
  Graph result = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    const Node& node = site.node;
    Values inputs = site.inputs;
    for (Value& input : inputs) input = constants.first_of(input);
    Digest digest;
    digest.add(node, inputs, site.attrs);
    const auto [begin, end] = seen.equal_range(digest.value());
    for (auto it = begin; it != end; ++it) {
      const Node& other = it->second.producer();
      if (other.op.get() != node.op.get() || other.inputs != inputs ||
          !same_attrs(other.attrs, site.attrs))
        continue;
      Values same;
      for (size_t r = 0; r < node.types.size(); ++r)
        same.push_back(it->second.of(static_cast<int>(r)));
      ++changes;
      return same;
    }
    const Values results = copy_node(site, inputs);
    seen.emplace(digest.value(), results[0]);
    return results;
  });
  return {std::move(result), changes};
}

}  // namespace

const Pass common_values{"common-values", "Computes equal nodes once.", run};

}  // namespace rlx
