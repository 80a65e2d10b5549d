// A table says along which axes an op may be cut: which axis of each operand goes with an axis of
// the results. Parts are copied out, since a kernel binds all between their first and last element,
// computed, and put together again; copies and concat are taken in shards themselves. A softmax
// whose one row is too long becomes what it is made of.

#include <algorithm>
#include <map>

#include "rlx/codegen/shards.h"
#include "rlx/ops/ops_core.h"
#include "rlx/passes/match.h"
#include "rlx/passes/passes.h"

namespace rlx {
namespace {

constexpr int kWhole = -1;
constexpr int64_t kMostParts = 64;  // of one node, each with steps of its own

struct Cut {
  int axis;                   // of all results
  std::vector<int> operands;  // an axis of each; kWhole: all of it goes with every part
};
using Cuts = std::vector<Cut>;

int rank_of(const Value& value) { return static_cast<int>(value.shape().size()); }
int axis_in(const Node& node, int rank) {
  const int axis = static_cast<int>(node.attrs.get<int64_t>("axis"));
  return axis < 0 ? axis + rank : axis;
}
bool same_extent(const Value& a, const Value& b, int axis) {
  return a.shape()[size_t(axis)] == b.shape()[size_t(axis)];
}

// Along every axis but the one it runs along.
Cuts beside_axis(const Node& node) {
  const int rank = rank_of(node.inputs[0]), along = axis_in(node, rank);
  const int kept = static_cast<int>(node.types[0].shape.size());
  Cuts cuts;
  for (int d = 0; d < rank; ++d)
    if (d != along) cuts.push_back({kept == rank || d < along ? d : d - 1, {d, kWhole}});
  return cuts;
}

Cuts gathered(const Node& node) {
  const int rank = rank_of(node.inputs[0]), at = rank_of(node.inputs[1]);
  const int along = axis_in(node, rank);
  Cuts cuts;
  for (int d = 0; d < rank; ++d)
    if (d != along) cuts.push_back({d < along ? d : d - 1 + at, {d, kWhole}});
  for (int d = 0; d < at; ++d) cuts.push_back({along + d, {kWhole, d}});
  return cuts;
}

Cuts scattered(const Node& node) {
  const int rank = rank_of(node.inputs[0]), at = rank_of(node.inputs[1]);
  const int along = axis_in(node, rank);
  Cuts cuts;
  for (int d = 0; d < rank; ++d)
    if (d != along) cuts.push_back({d, {d, kWhole, d < along ? d : d - 1 + at}});
  return cuts;
}

// Where the indices have the extents of x, each row is by itself.
Cuts by_element(const Node& node) {
  const int rank = rank_of(node.inputs[0]), along = axis_in(node, rank);
  Cuts cuts;
  for (int d = 0; d < rank; ++d)
    if (d != along && same_extent(node.inputs[0], node.inputs[1], d))
      cuts.push_back({d, {d, d, d}});
  return cuts;
}

Cuts tuples(const Node& node) {
  const Dim& depth = node.inputs[1].shape().back();
  if (!depth.is_number() || node.attrs.get<int64_t>("batch_dims") != 0) return {};
  const int first = static_cast<int>(depth.number()), at = rank_of(node.inputs[1]) - 1;
  Cuts cuts;
  for (int d = first; d < rank_of(node.inputs[0]); ++d)
    cuts.push_back({d, {d, kWhole, at + d - first}});
  return cuts;
}

Cuts convolved(const Node& node) {
  Cuts cuts{{0, {0, kWhole, kWhole}}};
  if (node.attrs.get<int64_t>("groups") == 1)
    cuts.push_back({1, {kWhole, is_op(node, "conv") ? 0 : 1, 0}});
  return cuts;
}

Cuts pooled(const Node& /*node*/) { return {{0, {0}}, {1, {1}}}; }

Cuts attended(const Node& node) {
  const bool heads_first = node.attrs.get<std::string>("layout") == "bhsd";
  // An axis of the scores, in what broadcasts to them.
  const auto of_scores = [&](size_t i, int axis) {
    if (i >= node.inputs.size() || !node.inputs[i].present()) return kWhole;
    const int at = axis - 4 + rank_of(node.inputs[i]);
    return at < 0 || node.inputs[i].shape()[size_t(at)].is(1) ? kWhole : at;
  };
  const auto cut = [&](int axis, int others, int score) {
    const int of_sink = score == 1 ? 0 : kWhole;
    return Cut{axis, {axis, others, others, of_scores(3, score), of_scores(4, score), of_sink}};
  };
  Cuts cuts{cut(0, 0, 0)};
  if (rank_of(node.inputs[0]) != 4) return cuts;
  const int heads = heads_first ? 1 : 2, rows = heads_first ? 2 : 1;
  if (same_extent(node.inputs[0], node.inputs[1], heads)) cuts.push_back(cut(heads, heads, 1));
  if (!node.attrs.get<bool>("causal") && node.attrs.get<int64_t>("window") < 0)
    cuts.push_back(cut(rows, kWhole, 2));
  return cuts;
}

// Columns, beside rows that only a run counts: those the kernel takes in shards itself.
Cuts multiplied(const Node& node) {
  const Dims &a = node.inputs[0].shape(), &b = node.inputs[1].shape();
  if (is_concrete(a) || b.size() != 2) return {};
  return {{static_cast<int>(node.types[0].shape.size()) - 1, {kWhole, 1}}};
}

const std::map<std::string, Cuts (*)(const Node&)>& table() {
  static const std::map<std::string, Cuts (*)(const Node&)> cuts{
      {"softmax", beside_axis},      {"log_softmax", beside_axis},
      {"argmax", beside_axis},       {"argmin", beside_axis},
      {"sort", beside_axis},         {"top_k", beside_axis},
      {"cumsum", beside_axis},       {"cumprod", beside_axis},
      {"gather", gathered},          {"gather_elements", by_element},
      {"scatter", scattered},        {"scatter_elements", by_element},
      {"scatter_nd", tuples},        {"conv", convolved},
      {"conv_transpose", convolved}, {"max_pool", pooled},
      {"average_pool", pooled},      {"lp_pool", pooled},
      {"attention", attended},       {"matmul", multiplied},
  };
  return cuts;
}

class Splitting {
 public:
  Splitting(const Graph& graph, const DeviceTraits& traits) : graph_(graph), traits_(traits) {
    for (const Node& node : graph.nodes())
      for (const Value& input : node.inputs)
        if (input.present() && input.result > 0) second_read_[input.node] = true;
    for (const GraphOutput& output : graph.outputs())
      if (output.value.result > 0) second_read_[output.value.node] = true;
  }

  PassResult run() {
    const bool any = std::any_of(graph_.nodes().begin(), graph_.nodes().end(),
                                 [&](const Node& node) { return is_beyond(node); });
    if (!any) return {};
    int64_t changes = 0;
    Graph made = rebuild(graph_, [&](const RewriteSite& site) {
      auto parts = rewritten(site);
      changes += parts.has_value();
      return parts;
    });
    if (changes == 0) return {};
    return {std::move(made), changes};
  }

 private:
  bool is_large(const TensorType& type) const {
    return is_concrete(type.shape) && !fits_binding(type.dtype, type.shape, traits_);
  }
  bool is_beyond(const Node& node) const {
    return table().count(node.op->name) > 0 &&
           (std::any_of(node.types.begin(), node.types.end(),
                        [&](const TensorType& type) { return is_large(type); }) ||
            std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value& input) {
              return input.present() && is_large(input.type());
            }));
  }

  std::optional<Values> rewritten(const RewriteSite& site) {
    const Node& node = site.node;
    if (!is_beyond(node) || (is_op(node, "max_pool") && second_read_.count(site.at) > 0))
      return std::nullopt;
    const Cuts cuts = table().at(node.op->name)(node);
    std::vector<bool> tried(cuts.size(), false);
    int64_t parts = 1;
    if (auto made = split(site, cuts, tried, site.inputs, node.types, parts)) return made;
    return from_parts(site);
  }

  // The results of the node on operands that may be parts already; none where no cut helps.
  std::optional<Values> split(const RewriteSite& site, const Cuts& cuts, std::vector<bool> tried,
                              const Values& inputs, const Types& types, int64_t& parts) {
    const auto large = [&](const Cut& cut) {
      int64_t bytes = 0;
      for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i].present() && i < cut.operands.size() && cut.operands[i] != kWhole)
          bytes = std::max(bytes, bytes_on_device(inputs[i].type()));
      for (const TensorType& type : types) bytes = std::max(bytes, bytes_on_device(type));
      return bytes;
    };
    bool fits = true;
    for (const Value& input : inputs) fits = fits && !(input.present() && is_large(input.type()));
    for (const TensorType& type : types) fits = fits && !is_large(type);
    if (fits) {
      const Value first = site.to.add(site.node.op, inputs, site.attrs, site.node.name);
      Values results;
      for (size_t r = 0; r < types.size(); ++r) results.push_back(first.of(static_cast<int>(r)));
      return results;
    }
    for (size_t c = 0; c < cuts.size(); ++c) {
      const Dim& extent = types[0].shape[size_t(cuts[c].axis)];
      if (tried[c] || !extent.is_number() || extent.number() < 2 ||
          large(cuts[c]) <= traits_.max_binding_bytes)
        continue;
      tried[c] = true;
      const int64_t whole = extent.number();
      const int64_t fitting = static_cast<int64_t>(
          static_cast<double>(traits_.max_binding_bytes - traits_.storage_alignment) /
          static_cast<double>(large(cuts[c])) * static_cast<double>(whole));
      const int64_t step = std::clamp<int64_t>(fitting, 1, whole - 1);
      parts *= (whole + step - 1) / step;
      if (parts > kMostParts) return std::nullopt;
      std::vector<Values> pieces(types.size());
      for (int64_t first = 0; first < whole; first += step) {
        const int64_t end = std::min(whole, first + step);
        Types piece_types = types;
        for (TensorType& type : piece_types) type.shape[size_t(cuts[c].axis)] = end - first;
        const auto made =
            split(site, cuts, tried, cut_out(inputs, cuts[c], first, end), piece_types, parts);
        if (!made) return std::nullopt;
        for (size_t r = 0; r < types.size(); ++r) pieces[r].push_back((*made)[r]);
      }
      Values results;
      for (const Values& piece : pieces) results.push_back(concat(piece, cuts[c].axis));
      return results;
    }
    return std::nullopt;
  }

  int64_t bytes_on_device(const TensorType& type) const {
    if (!is_concrete(type.shape)) return 0;
    return bytes_of(type.dtype, count(type.shape), traits_).number();
  }

  static Values cut_out(const Values& inputs, const Cut& cut, int64_t first, int64_t end) {
    Values operands = inputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].present() || i >= cut.operands.size() || cut.operands[i] == kWhole) continue;
      const int axis = cut.operands[i];
      // As it is, and in memory of its own, which a view would not have.
      const Value part = slice(operands[i], {first}, {end}, {axis});
      operands[i] = where(constant_beside(part, Tensor::scalar(DType::boolean, 1)), part, part);
    }
    return operands;
  }

  // A softmax by the ops that it is made of, which take shards.
  static std::optional<Values> from_parts(const RewriteSite& site) {
    const bool logarithm = is_op(site.node, "log_softmax");
    if (!is_op(site.node, "softmax") && !logarithm) return std::nullopt;
    const Value x = site.inputs[0];
    if (x.dtype() != DType::f32) return std::nullopt;
    const Ints axis{site.node.attrs.get<int64_t>("axis")};
    const Value from = x - reduce_max(x, axis, true), powers = exp(from);
    const Value total = sum(powers, axis, true);
    return Values{logarithm ? from - log(total) : powers / total};
  }

  const Graph& graph_;
  const DeviceTraits& traits_;
  std::map<int, bool> second_read_;  // nodes of which results behind the first are read
};

PassResult run(const Graph& graph, const PassTarget& target, const PassSite& /*site*/) {
  if (target.traits.on_host()) return {};
  return Splitting(graph, target.traits).run();
}

}  // namespace

// What no part fits stays, and is refused with its size.
const Pass split_large{"split-large", "Computes in parts what is more than a device binds at once.",
                       run, false};

}  // namespace rlx
