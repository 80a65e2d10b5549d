// Where slices that are neighbours in one value go through the same ops on single elements, the ops
// are applied to the value before it is sliced: what was a kernel for each slice is one. Ops whose
// results a concat puts side by side again leave no slice behind; others are joined where each
// slice would have kernels of its own, and their results become slices, which are views.

#include <algorithm>
#include <map>
#include <set>

#include "rlx/codegen/pointwise.h"
#include "rlx/codegen/scalar_formula.h"
#include "rlx/ir/text.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/views.h"
#include "rlx/passes/grouping.h"
#include "rlx/passes/match.h"
#include "rlx/passes/passes.h"
#include "rlx/passes/slices.h"

namespace rlx {
namespace {

// Values of which each is the same function of another slice, in the order of the slices.
struct Row {
  Values values;
  size_t axis = 0;  // counted from the last, since operands may have fewer
  bool operator<(const Row& other) const {
    const auto key = [](const Row& row) {
      std::vector<std::pair<int, int>> all;
      for (const Value& value : row.values) all.emplace_back(value.node, value.result);
      return all;
    };
    return std::pair(axis, key(*this)) < std::pair(other.axis, key(other));
  }
};

// The extent along an axis counted from the last; 1 where there is none.
Dim extent_of(const Value& value, size_t axis) {
  const Dims& shape = value.shape();
  return axis < shape.size() ? shape[shape.size() - 1 - axis] : Dim(1);
}

bool is_single(const Node& node) {
  return !is_source(node) && node.types.size() == 1 && node.definitions.empty() &&
         scalar_formula(node) && scalar_host_reason(node).empty() && !keeps_order(node);
}

struct Part {
  Value of;
  Stretch stretch;
  size_t axis;  // counted from the last
};
std::optional<Part> part_of(const Value& value) {
  if (is_source(value.producer())) return std::nullopt;
  const auto stretch = stretch_of(value.producer());
  if (!stretch) return std::nullopt;
  return Part{value.producer().inputs[0], *stretch, value.shape().size() - 1 - stretch->axis};
}

// What the values of a row are parts of, and which; none where they are no neighbours in one value.
std::optional<Part> joined_part(const Row& row) {
  std::optional<Part> whole;
  for (const Value& value : row.values) {
    const auto next = part_of(value);
    if (!next || next->axis != row.axis) return std::nullopt;
    if (!whole) {
      whole = next;
      continue;
    }
    if (!(next->of == whole->of) ||
        next->stretch.first != whole->stretch.first + whole->stretch.count)
      return std::nullopt;
    whole->stretch.count += next->stretch.count;
  }
  return whole;
}

// Is it one value, which all slices are computed with alike?
bool is_shared(const Row& row) {
  const Value& first = row.values.front();
  return extent_of(first, row.axis).is(1) &&
         std::all_of(row.values.begin(), row.values.end(),
                     [&](const Value& value) { return value == first; });
}

// The operands of a row of ops; none where they are not the same op.
std::optional<std::vector<Row>> operands_of(const Row& row, const Dims& counts) {
  const Node& first = row.values.front().producer();
  if (!is_single(first)) return std::nullopt;
  std::vector<Row> operands(first.inputs.size(), Row{{}, row.axis});
  for (size_t k = 0; k < row.values.size(); ++k) {
    const Value& value = row.values[k];
    const Node& node = value.producer();
    const bool same =
        node.op.get() == first.op.get() && node.inputs.size() == first.inputs.size() &&
        same_attrs(node.attrs, first.attrs) && extent_of(value, row.axis) == counts[k];
    if (!same || node.types[0].dtype != first.types[0].dtype) return std::nullopt;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].present()) return std::nullopt;
      operands[i].values.push_back(node.inputs[i]);
    }
  }
  return operands;
}

// What the ops may be that a row is made of.
struct Inside {
  Dims counts;  // of each slice, along the axis
  std::function<bool(int node)> allowed;
  size_t ops = 0;  // that were found
};

bool can_be_joined(const Row& row, Inside& inside) {
  constexpr size_t kMostOps = 256;
  if (joined_part(row)) {
    for (size_t k = 0; k < row.values.size(); ++k)
      if (!(extent_of(row.values[k], row.axis) == inside.counts[k])) return false;
    return true;
  }
  for (const Value& value : row.values)
    if (is_source(value.producer()) || !inside.allowed(value.node)) return false;
  if (++inside.ops > kMostOps) return false;
  const auto operands = operands_of(row, inside.counts);
  return operands && !std::all_of(operands->begin(), operands->end(), is_shared) &&
         std::all_of(operands->begin(), operands->end(), [&](const Row& each) {
           return is_shared(each) || can_be_joined(each, inside);
         });
}

class Joining {
 public:
  Joining(const Graph& from, const PassTarget& target) : from_(from), target_(target) {
    readers_.resize(from.nodes().size());
    leaves_.resize(from.nodes().size());
    for (size_t at = 0; at < from.nodes().size(); ++at)
      for (const Value& input : from.nodes()[at].inputs)
        if (input.present()) readers_[size_t(input.node)].push_back(static_cast<int>(at));
    for (const GraphOutput& output : from.outputs()) leaves_[size_t(output.value.node)] = true;
    for (const StateUpdate& update : from.updates()) leaves_[size_t(update.next.node)] = true;
  }

  PassResult run() {
    find_concats();
    if (has_siblings()) find_regions();
    if (concats_.empty() && results_.empty()) return {};
    Graph made = rebuild(from_, [&](const RewriteSite& site) -> std::optional<Values> {
      if (const auto concat = concats_.find(site.at); concat != concats_.end())
        return Values{joined(concat->second, site)};
      const auto found = results_.find(site.at);
      if (found == results_.end()) return std::nullopt;
      const auto& [row, k] = found->second;
      Dim first = 0;
      for (size_t before = 0; before < k; ++before)
        first = first + extent_of(row.values[before], row.axis);
      const size_t axis = site.node.types[0].shape.size() - 1 - row.axis;
      return Values{
          slice_axis(joined(row, site), axis, first, first + extent_of(row.values[k], row.axis))};
    });
    return {alive(std::move(made)), changes_};
  }

 private:
  static Dims counts_of(const Row& row) {
    Dims counts;
    for (const Value& value : row.values) counts.push_back(extent_of(value, row.axis));
    return counts;
  }

  // Concats of what has been computed of slices, and is read by nobody else.
  void find_concats() {
    for (size_t at = 0; at < from_.nodes().size(); ++at) {
      const Node& node = from_.nodes()[at];
      if (!is_op(node, "concat") || node.inputs.size() < 2) continue;
      const Value& first = node.inputs[0];
      const size_t axis = axis_of("concat", node.attrs.get<int64_t>("axis"), first.type());
      const Row row{node.inputs, first.shape().size() - 1 - axis};
      Inside inside{counts_of(row), [&](int op) {
                      return readers_[size_t(op)].size() == 1 && !leaves_[size_t(op)];
                    }};
      if (joined_part(row) || !can_be_joined(row, inside)) continue;
      concats_.emplace(static_cast<int>(at), row);
      ++changes_;
    }
  }

  // Do ops on single elements read several slices of one value? Only then are regions looked for.
  bool has_siblings() const {
    std::set<std::pair<int, int>> sliced;
    for (size_t at = 0; at < from_.nodes().size(); ++at) {
      const Node& node = from_.nodes()[at];
      const auto& readers = readers_[at];
      const bool is_read = std::any_of(readers.begin(), readers.end(),
                                       [&](int reader) { return is_single(from_.node(reader)); });
      if (is_source(node) || !is_read || !stretch_of(node)) continue;
      if (!sliced.emplace(node.inputs[0].node, node.inputs[0].result).second) return true;
    }
    return false;
  }

  // Nodes that one kernel computes, all of them ops on single elements.
  struct Region {
    std::vector<int> nodes;
    Values outputs;
  };
  std::vector<Region> regions() const {
    Grouping grouping(from_, target_.traits, target_.choices, nullptr);
    const std::vector<Grouping::Group> groups = grouping.find();
    std::vector<Region> found;
    const auto add = [&](Region region) {
      const bool single = std::all_of(region.nodes.begin(), region.nodes.end(), [&](int at) {
        return is_single(from_.node(at)) && !leaves_[size_t(at)];
      });
      if (single && !region.outputs.empty()) found.push_back(std::move(region));
    };
    for (const Grouping::Group& group : groups)
      if (!group.nodes.empty() && group.anchor < 0) add({group.nodes, grouping.outputs_of(group)});
    for (int at = 0; at < static_cast<int>(from_.nodes().size()); ++at)
      if (grouping.group_of()[size_t(at)] < 0 && !is_source(from_.node(at)))
        add({{at}, {from_.value(at)}});
    return found;
  }

  void find_regions() {
    // By what is sliced, the axis and the ops: where each region's first slice begins.
    std::map<std::string, std::vector<std::pair<int64_t, Region>>> alike;
    for (Region& region : regions()) {
      std::string key;
      std::optional<Part> part;
      for (const int at : region.nodes) {
        key += from_.node(at).op->name + ' ';
        for (const Value& input : from_.node(at).inputs)
          if (input.present() && !part) part = part_of(input);
      }
      if (!part) continue;
      key += text(part->of.node, '.', part->of.result, ' ', part->axis);
      alike[key].emplace_back(part->stretch.first, std::move(region));
    }
    for (auto& [key, list] : alike) {
      std::stable_sort(list.begin(), list.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t first = 0; first + 1 < list.size();) {
        size_t end = list.size();  // the longest run that can be joined
        while (end > first + 1 && !join(list, first, end)) --end;
        first = std::max(end, first + 1);
      }
    }
  }

  // Can whoever reads a value see it as a view that lies so?
  bool is_read_as_view(int value, const Layout& layout) const {
    const auto& readers = readers_[size_t(value)];
    return std::all_of(readers.begin(), readers.end(), [&](int reader) {
      const Node& node = from_.node(reader);
      if (!node.op->view || is_single(node)) return true;
      const std::optional<Layout> seen = layout_of_part(node, layout);
      return seen && is_read_as_view(reader, *seen);
    });
  }
  // As a slice of a value that is longer along the axis.
  bool is_read_as_slice(const Value& value, size_t axis) const {
    Dims longer = value.shape();
    Dim& extent = longer[longer.size() - 1 - axis];
    extent = extent * 2 + 1;
    return is_read_as_view(value.node, {extent_of(value, axis), strides_of(longer)});
  }

  bool join(const std::vector<std::pair<int64_t, Region>>& list, size_t first, size_t end) {
    const size_t axis = part_axis(list[first].second);
    std::vector<Row> rows;
    for (size_t r = 0; r < list[first].second.outputs.size(); ++r) {
      Row row{{}, axis};
      for (size_t k = first; k < end; ++k) {
        const Region& region = list[k].second;
        if (region.outputs.size() != list[first].second.outputs.size()) return false;
        if (!is_read_as_slice(region.outputs[r], axis)) return false;
        row.values.push_back(region.outputs[r]);
      }
      std::vector<int> members;
      for (size_t k = first; k < end; ++k)
        members.insert(members.end(), list[k].second.nodes.begin(), list[k].second.nodes.end());
      Inside inside{counts_of(row), [&](int op) {
                      return std::find(members.begin(), members.end(), op) != members.end();
                    }};
      if (!can_be_joined(row, inside) || inside.ops == 0) return false;
      rows.push_back(std::move(row));
    }
    for (const Row& row : rows)
      for (size_t k = 0; k < row.values.size(); ++k)
        results_.emplace(row.values[k].node, std::pair(row, k));
    ++changes_;
    return true;
  }
  size_t part_axis(const Region& region) const {
    for (const int at : region.nodes)
      for (const Value& input : from_.node(at).inputs)
        if (const auto part = input.present() ? part_of(input) : std::nullopt) return part->axis;
    return 0;
  }

  // The row as one value of the new graph.
  Value joined(const Row& row, const RewriteSite& site) {
    if (is_shared(row)) return site.moved(row.values.front());
    if (const auto made = made_.find(row); made != made_.end()) return made->second;
    Value value;
    if (const auto whole = joined_part(row)) {
      value = site.moved(whole->of);
      const Stretch& part = whole->stretch;
      if (!whole->of.shape()[part.axis].is(part.count))
        value = slice_axis(value, part.axis, part.first, part.first + part.count);
    } else {
      const Node& node = row.values.front().producer();
      const auto operands = operands_of(row, counts_of(row));
      Values inputs;
      for (const Row& operand : *operands) inputs.push_back(joined(operand, site));
      value = site.to.add(node.op, inputs, node.attrs, node.name);
      site.to.set_origin(value, node.origin);
    }
    return made_[row] = value;
  }

  const Graph& from_;
  const PassTarget& target_;
  std::vector<std::vector<int>> readers_;
  std::vector<bool> leaves_;
  std::map<int, Row> concats_;                     // by node
  std::map<int, std::pair<Row, size_t>> results_;  // by node: which of a row it is
  std::map<Row, Value> made_;
  int64_t changes_ = 0;
};

PassResult run(const Graph& graph, const PassTarget& target, const PassSite&) {
  if (target.traits.on_host()) return {};
  return Joining(graph, target).run();
}

}  // namespace

const Pass join_slices{"join-slices", "Computes alike slices before they are sliced.", run, false};

}  // namespace rlx
