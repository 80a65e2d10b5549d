#include "rlx/import/onnx/appends.h"

#include <algorithm>
#include <map>
#include <optional>

#include "rlx/import/onnx/repeats.h"
#include "rlx/ops/ops_core.h"

namespace rlx::onnx {
namespace {

using Uses = std::map<std::string, int>;

// How often each name is read, in bodies within as well.
void count_uses(const Graph& graph, Uses& uses) {
  for (const Node& node : graph.nodes) {
    for (const std::string& name : node.inputs) ++uses[name];
    for (const Attribute& attribute : node.attributes)
      if (attribute.g) count_uses(*attribute.g, uses);
  }
  for (const ValueInfo& output : graph.outputs) ++uses[output.name];
}

bool appends_to_sequence(const Node& node) {
  return node.domain.empty() && node.op == "SequenceInsert" &&
         (node.inputs.size() == 2 || (node.inputs.size() == 3 && node.inputs[2].empty()));
}
bool appends_by_concat(const Node& node) {
  return node.domain.empty() && node.op == "Concat" && node.inputs.size() >= 2 && node.find("axis");
}

// What a node reads as its first operand, through nodes that only pass it on: a carried value has
// one type, so a cast of it to what it leaves as changes nothing. The nodes on the way, too.
struct Source {
  std::string name;
  std::vector<size_t> passed;
};
Source source_of(const Graph& body, const Uses& uses, std::string name) {
  Source source{std::move(name), {}};
  for (size_t n = body.nodes.size(); n-- > 0;) {
    const Node& node = body.nodes[n];
    const bool passes_on = node.domain.empty() && (node.op == "Cast" || node.op == "Identity") &&
                           node.inputs.size() == 1 && node.outputs.size() == 1;
    const auto used = uses.find(source.name);
    if (!passes_on || node.outputs[0] != source.name || used == uses.end() || used->second != 1)
      continue;
    source.name = node.inputs[0];
    source.passed.push_back(n);
  }
  return source;
}

// The node that makes `after` of `before` by appending, where nothing else reads either, and the
// nodes between `before` and it.
struct AppendNode {
  size_t at;
  std::vector<size_t> passed;
};
std::optional<AppendNode> append_between(const Graph& body, const Uses& uses,
                                         const std::string& before, const std::string& after) {
  const auto once = [&](const std::string& name) {
    const auto found = uses.find(name);
    return found != uses.end() && found->second == 1;
  };
  if (!once(before) || !once(after)) return std::nullopt;
  for (size_t n = 0; n < body.nodes.size(); ++n) {
    const Node& node = body.nodes[n];
    if (!(appends_to_sequence(node) || appends_by_concat(node)) || node.outputs.size() != 1 ||
        node.outputs[0] != after)
      continue;
    Source source = source_of(body, uses, node.inputs[0]);
    if (source.name == before) return AppendNode{n, std::move(source.passed)};
  }
  return std::nullopt;
}

int64_t from_start(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

}  // namespace

AppendingBody without_appends(const Graph& body) {
  constexpr size_t kFirstInput = 2, kFirstOutput = 1;  // after the iteration and the condition
  AppendingBody result{body, {}};
  Graph& plain = result.body;
  Uses uses;
  count_uses(body, uses);
  const size_t inputs = body.inputs.size();
  const size_t carried = inputs > kFirstInput ? inputs - kFirstInput : 0;
  if (body.outputs.size() < kFirstOutput + carried) return result;
  size_t left = 0;
  for (size_t k = 0; k < carried; ++k) {
    const std::string before = body.inputs[kFirstInput + k].name,
                      after = body.outputs[kFirstOutput + k].name;
    const std::optional<AppendNode> append = append_between(plain, uses, before, after);
    if (!append) {
      ++left;
      continue;
    }
    Node& node = plain.nodes[append->at];
    const bool is_sequence = node.op == "SequenceInsert";
    result.appends.push_back({k, is_sequence, is_sequence ? 0 : node.find("axis")->i});
    std::string row = node.inputs[1];
    if (!is_sequence && node.inputs.size() > 2) {
      node.inputs.erase(node.inputs.begin());  // several parts are joined first
      row = node.outputs[0];
    } else {
      plain.nodes.erase(plain.nodes.begin() + static_cast<int64_t>(append->at));
    }
    for (const size_t n : append->passed)  // they come before it, the last of them first
      plain.nodes.erase(plain.nodes.begin() + static_cast<int64_t>(n));
    plain.inputs.erase(plain.inputs.begin() + static_cast<int64_t>(kFirstInput + left));
    plain.outputs.erase(plain.outputs.begin() + static_cast<int64_t>(kFirstOutput + left));
    plain.outputs.push_back({row, {}});
  }
  return result;
}

Value stacked(const NodeSite& site, const Item& sequence) {
  if (sequence.repeats) site.fail_node("the elements of the sequence differ in their extents");
  if (sequence.rows) return sequence.rows;
  if (!sequence.sequence || sequence.sequence.size() == 0)
    site.fail_node("needs a sequence that is not empty");
  Values rows;
  site.spend_nodes(static_cast<int64_t>(sequence.sequence.size()));
  for (size_t k = 0; k < sequence.sequence.size(); ++k) {
    const Value element = sequence.sequence.at(k).value;
    if (!element) site.fail_node("element ", k, " of the sequence is no tensor of numbers");
    if (!rows.empty() && element.type() != sequence.sequence.at(0).value.type())
      site.fail_node("which element it takes is not known, and they differ: ",
                     sequence.sequence.at(0).value.type(), " and ", element.type());
    rows.push_back(unsqueeze(element, {0}));
  }
  return concat(rows, 0);
}

Value joined_rows(Value rows, int64_t axis, bool new_axis) {
  const int64_t rank = static_cast<int64_t>(rows.shape().size());
  const int64_t at = from_start(axis, new_axis ? rank : rank - 1);
  require(at >= 0 && at < (new_axis ? rank : rank - 1), "axis ", axis,
          " is out of range for elements of rank ", rank - 1);
  Ints order;
  for (int64_t d = 1; d < rank; ++d) order.push_back(d);
  order.insert(order.begin() + at, 0);
  const Value moved = transpose(rows, order);
  if (new_axis) return moved;
  Dims shape = moved.shape();
  const auto first = shape.begin() + at;
  *first = *first * *(first + 1);
  shape.erase(first + 1);
  return reshape(moved, shape);
}

Item appended(const NodeSite& site, const Item& initial, const AppendedRows& rows,
              const Append& append) {
  Item item;
  if (append.is_sequence) {
    const bool is_empty = initial.sequence && initial.sequence.size() == 0;
    if (rows.repeats && !is_empty)
      site.fail_node("the elements of the sequence differ in their extents");
    item.rows = is_empty ? rows.rows : concat({stacked(site, initial), rows.rows}, 0);
    item.repeats = rows.repeats;
    item.repeats_along = rows.repeats_along;
    return item;
  }
  Value more = joined_rows(rows.rows, append.axis, false);
  if (rows.repeats) more = repeated(more, rows.repeats, append.axis);
  const int64_t rank = static_cast<int64_t>(more.shape().size());
  const auto at = static_cast<size_t>(from_start(append.axis, rank));
  const bool is_empty = initial.value && initial.value.shape().size() == more.shape().size() &&
                        initial.value.shape()[at].is(0);
  item.value = is_empty ? more : concat({initial.value, more}, append.axis);
  return item;
}

}  // namespace rlx::onnx
