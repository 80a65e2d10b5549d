// ONNX's If, Loop and Scan.

#include "rlx/ops/ops_control.h"

#include <algorithm>
#include <functional>
#include <set>

#include "rlx/import/onnx/appends.h"
#include "rlx/import/onnx/repeats.h"
#include "rlx/import/onnx/site.h"
#include "rlx/ops/bodies.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_loop.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

Items items_of(const Values& values) { return {values.begin(), values.end()}; }

Value tensor_in(Site site, const Item& item) {
  if (!item.value) site.fail_node("joins tensors of numbers, and there is something else");
  return item.value;
}

// Sequences and optionals are not among what a graph's values can be.
bool gives_tensors(const Graph& body) {
  return std::all_of(body.outputs.begin(), body.outputs.end(), [](const ValueInfo& output) {
    return output.type.kind == TypeInfo::Kind::tensor || output.type.kind == TypeInfo::Kind::none;
  });
}

// Is the body one node of this type, beside constants?
bool computes_only(const Graph& body, std::string_view type) {
  const Node* only = nullptr;
  for (const Node& node : body.nodes) {
    if (node.op == "Constant") continue;
    if (only) return false;
    only = &node;
  }
  return only && only->op == type;
}

// torch.squeeze(x, d) is exported as If(dim d == 1) Squeeze else Identity. A graph's ranks are
// fixed, so where the dim is a symbol the model is taken to mean the first; squeeze then holds a
// run to it.
Items if_operator(Site site) {
  const Graph &then = site.body("then_branch"), &otherwise = site.body("else_branch");
  const auto known = gives_tensors(then) ? site.maybe_ints(0) : site.known_ints(0);
  if (known) return site.inline_body(known->at(0) != 0 ? then : otherwise, {});
  if (computes_only(then, "Squeeze") && computes_only(otherwise, "Identity"))
    return site.inline_body(then, {});
  Bodies bodies = site.make_bodies({&then, &otherwise}, {});
  const Value condition = site.in(0);
  const Value flag = condition.shape().empty() ? condition : reshape(condition, Dims{});
  return items_of(
      if_else(flag, bodies.captured, std::move(bodies.graphs[0]), std::move(bodies.graphs[1])));
}

// The body once for each iteration, which must be known now.
Items unrolled(Site site, const Graph& body) {
  const int64_t most = site.has(0) ? site.known_ints(0).at(0) : INT64_MAX;
  bool goes_on = !site.has(1) || site.known_ints(1).at(0) != 0;
  Items carried(site.inputs.begin() + std::min<int64_t>(2, int64_t(site.inputs.size())),
                site.inputs.end());
  if (body.outputs.size() < 1 + carried.size())
    site.fail_node("the body has ", body.outputs.size(), " outputs");
  std::vector<Values> stacked(body.outputs.size() - 1 - carried.size());
  for (int64_t k = 0; k < most && goes_on; ++k) {
    if (site.spending) site.spending->iterations(1);
    Tensor iteration(DType::i64, {});
    iteration.set_integer(0, k);
    Items inputs{site.constant(iteration), site.constant(Tensor::scalar(DType::boolean, 1))};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    const Items results = site.inline_body(body, inputs);
    const auto next = results[0].value ? known_numbers(results[0].value) : std::nullopt;
    if (!next) site.fail_node("is unrolled, so its condition must be known");
    goes_on = next->at(0) != 0;
    for (size_t i = 0; i < carried.size(); ++i) carried[i] = results[1 + i];
    for (size_t i = 0; i < stacked.size(); ++i)
      stacked[i].push_back(unsqueeze(tensor_in(site, results[1 + carried.size() + i]), {0}));
  }
  Items results = carried;
  for (const Values& rows : stacked) {
    if (rows.empty()) site.fail_node("is unrolled, but there is no iteration to stack");
    results.emplace_back(concat(rows, 0));
  }
  return results;
}

bool carries_tensors(Site site) {
  return std::all_of(site.inputs.begin(), site.inputs.end(),
                     [](const Item& item) { return !item.is_sequence() && !item.is_none; });
}

bool differ(const TensorType& a, const TensorType& b) {
  if (a.shape.size() != b.shape.size()) return true;
  for (size_t d = 0; d < a.shape.size(); ++d) {
    const Dim apart = a.shape[d] - b.shape[d];
    if (apart.is_number() && !apart.is(0)) return true;
  }
  return false;
}

// Has a carried value another shape in each iteration, or a row that is to be stacked one that only
// the iteration tells?
bool changes_shapes(const rlx::Graph& body, size_t carried) {
  const Values inputs = body_inputs(body);
  std::set<std::string> outer;
  for (const rlx::Node& node : body.nodes())
    for (size_t d = 0; is_input(node) && d < node.types[0].shape.size(); ++d)
      for (const std::string& symbol : node.types[0].shape[d].symbols()) outer.insert(symbol);
  for (size_t i = 1; i < body.outputs().size(); ++i) {
    const TensorType& leaves = body.outputs()[i].value.type();
    if (i <= carried) {
      if (differ(leaves, inputs.at(1 + i).type())) return true;
      continue;
    }
    for (const Dim& dim : leaves.shape)
      for (const std::string& symbol : dim.symbols())
        if (!outer.count(symbol)) return true;
  }
  return false;
}

// Does the body go on whatever happens: is its condition the one it is given, which is true, or a
// constant that is?
bool always_goes_on(const rlx::Graph& body, const Values& captured) {
  const Values inputs = body_inputs(body);
  const Value next = body.outputs()[0].value;
  if (next == inputs[1]) return true;
  const auto is_true = [](Value value) {
    const auto known = known_numbers(value);
    return known && known->at(0) != 0;
  };
  for (size_t i = 0; i < captured.size(); ++i)
    if (next == inputs[inputs.size() - captured.size() + i]) return is_true(captured[i]);
  return is_true(next);
}

// The body without its condition, which is always true.
rlx::Graph without_condition(const rlx::Graph& body) {
  rlx::Graph plain;
  Values given;
  for (const Value& input : body_inputs(body))
    given.push_back(given.size() == 1 ? plain.constant(Tensor::scalar(DType::boolean, 1))
                                      : plain.input(input.producer().name, input.type()));
  const Values outputs = rlx::inline_body(body, given, plain);
  for (size_t i = 1; i < outputs.size(); ++i) plain.output(body.outputs()[i].name, outputs[i]);
  return plain;
}

// Does the condition of the body follow from constants, as far as its node tells?
bool has_plain_condition(const Graph& body) {
  if (body.outputs.empty()) return true;
  for (const Node& node : body.nodes)
    for (const std::string& output : node.outputs)
      if (output == body.outputs[0].name)
        return node.op == "Identity" || node.op == "Constant" || node.op == "Cast";
  return true;
}

// What is done to a body when it is made.
using Finish = std::function<void(rlx::Graph&)>;

Items loop_of(Site site, const Graph& body, const Finish& finish = {}) {
  if (!carries_tensors(site) || !gives_tensors(body)) return unrolled(site, body);
  Values carried;
  Types types{{DType::i64, {}}, {DType::boolean, {}}};
  for (size_t i = 2; i < site.inputs.size(); ++i) {
    carried.push_back(site.in(i));
    types.push_back(carried.back().type());
  }
  Bodies bodies = site.make_bodies({&body}, types);
  if (finish) finish(bodies.graphs[0]);
  if (changes_shapes(bodies.graphs[0], carried.size())) return unrolled(site, body);
  const auto single = [](Value v) { return !v || v.shape().empty() ? v : reshape(v, Dims{}); };
  const auto enters = site.has(1) ? site.maybe_ints(1) : Ints{1};
  if (site.has(0) && enters && enters->at(0) != 0 &&
      always_goes_on(bodies.graphs[0], bodies.captured))
    return items_of(loop(single(site.in(0)), carried, without_condition(bodies.graphs[0]),
                         {.captured = bodies.captured}));
  return items_of(while_loop(single(site.maybe(0)), single(site.maybe(1)), carried,
                             std::move(bodies.graphs[0]), bodies.captured));
}

// What is appended by Concat has the extents of what it is appended to, beside the axis: where the
// data decides them, a run is held to that.
void give_extents(Value& row, const Dims& initial, int64_t axis) {
  const auto rank = static_cast<int64_t>(initial.size());
  const int64_t at = axis < 0 ? axis + rank : axis;
  Dims shape = row.shape();
  if (static_cast<int64_t>(shape.size()) != rank) return;
  for (int64_t d = 0; d < rank; ++d)
    if (d != at && initial[size_t(d)].is_number()) shape[size_t(d)] = initial[size_t(d)];
  if (!(shape == row.shape())) row = reshape(row, shape);
}

Items loop_operator(Site site) {
  const Graph& body = site.body("body");
  const bool is_counted =
      site.has(0) && site.maybe_ints(0).has_value() && has_plain_condition(body);
  if (is_counted) return loop_of(site, body);
  const AppendingBody appending = without_appends(body);
  if (appending.appends.empty()) return loop_of(site, body);
  NodeSite plain = site;
  for (size_t k = appending.appends.size(); k-- > 0;)
    plain.inputs.erase(plain.inputs.begin() +
                       static_cast<int64_t>(2 + appending.appends[k].carried));
  // The axis of each row that repeats an element: how often is a further output then.
  std::vector<std::optional<int64_t>> repeats(appending.appends.size());
  size_t counts = 0;
  const auto finish = [&](rlx::Graph& made) {
    std::vector<GraphOutput>& outputs = made.data()->outputs;
    const size_t first = outputs.size() - appending.appends.size();
    for (size_t i = 0; i < appending.appends.size(); ++i) {
      const Append& append = appending.appends[i];
      const Item& initial = site.inputs.at(2 + append.carried);
      if (const auto row = repeated_row(outputs[first + i].value);
          row && (append.is_sequence || append.axis == row->axis)) {
        repeats[i] = row->axis;
        outputs[first + i].value = row->element;
        made.output(text("count of ", outputs[first + i].name), row->count);
        ++counts;
      }
      if (!append.is_sequence && initial.value)
        give_extents(outputs[first + i].value, initial.value.shape(), append.axis);
    }
  };
  Items results = loop_of(plain, appending.body, finish);
  if (results.size() + 1 == appending.body.outputs.size()) {  // it was unrolled
    repeats.assign(repeats.size(), std::nullopt);
    counts = 0;
  }
  const size_t first = results.size() - appending.appends.size() - counts;
  std::vector<AppendedRows> rows;
  size_t next = results.size() - counts;
  for (size_t i = 0; i < repeats.size(); ++i) {
    rows.push_back({tensor_in(site, results[first + i])});
    if (repeats[i]) rows.back().repeats = results[next++].value;
    rows.back().repeats_along = repeats[i].value_or(0);
  }
  results.resize(first);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Append& append = appending.appends[i];
    results.insert(results.begin() + static_cast<int64_t>(append.carried),
                   appended(site, site.inputs.at(2 + append.carried), rows[i], append));
  }
  return results;
}

Values scan_of(Site site, const Values& all, ScanOptions options) {
  const Graph& body = site.body("body");
  const auto scanned_count = static_cast<size_t>(site.integer("num_scan_inputs"));
  if (scanned_count > all.size()) site.fail_node("num_scan_inputs is ", scanned_count);
  const Values states(all.begin(), all.end() - static_cast<int64_t>(scanned_count));
  const Values scanned(all.end() - static_cast<int64_t>(scanned_count), all.end());
  Types types;
  for (const Value state : states) types.push_back(state.type());
  for (size_t i = 0; i < scanned.size(); ++i) {
    TensorType slice = scanned[i].type();
    const int64_t axis = i < options.input_axes.size() ? options.input_axes[i] : 0;
    const int64_t end = rank(slice);
    if (axis < -end || axis >= end)
      site.fail_node("axis ", axis, " is out of range for ", slice, " (rank ", end, ")");
    slice.shape.erase(slice.shape.begin() + (axis < 0 ? axis + end : axis));
    types.push_back(slice);
  }
  Bodies bodies = site.make_bodies({&body}, types);
  options.captured = bodies.captured;
  return scan(states, scanned, bodies.graphs[0], options);
}

// In opset 8 all operands had a batch, each element of which is scanned for itself.
Items batched_scan(Site site) {
  if (site.has(0)) site.fail_node("of opset 8 takes no lengths of sequences");
  const Values all = site.all_inputs(1);
  const Dim batch = all.empty() ? Dim(0) : all[0].shape().at(0);
  if (!batch.is_number() || batch.is(0)) site.fail_node("of opset 8 needs a known batch");
  std::vector<Values> rows;
  for (int64_t b = 0; b < batch.number(); ++b) {
    Values here;
    for (const Value value : all) here.push_back(squeeze(slice(value, {b}, {b + 1}, {0}), {0}));
    const Values results = scan_of(site, here, {.input_directions = site.ints("directions")});
    rows.resize(results.size());
    for (size_t i = 0; i < results.size(); ++i) rows[i].push_back(unsqueeze(results[i], {0}));
  }
  Items items;
  for (const Values& row : rows) items.emplace_back(concat(row, 0));
  return items;
}

Items scan_operator(Site site) {
  if (site.opset < 9) return batched_scan(site);
  return items_of(scan_of(site, site.all_inputs(),
                          {.input_axes = site.ints("scan_input_axes"),
                           .output_axes = site.ints("scan_output_axes"),
                           .input_directions = site.ints("scan_input_directions"),
                           .output_directions = site.ints("scan_output_directions")}));
}

}  // namespace

std::span<const Operator> control_operators() {
  static constexpr Operator kOperators[] = {
      {"If", if_operator},
      {"Loop", loop_operator},
      {"Scan", scan_operator},
  };
  return kOperators;
}

}  // namespace rlx::onnx
