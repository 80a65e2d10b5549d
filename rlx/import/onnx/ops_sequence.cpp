// ONNX operators with bodies, recurrent nets, sequences and optionals, random numbers.

#include <algorithm>
#include <set>

#include "rlx/import/onnx/site.h"
#include "rlx/ops/bodies.h"
#include "rlx/ops/ops_control.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_loop.h"
#include "rlx/ops/ops_random.h"
#include "rlx/ops/ops_recurrent.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

Items items_of(const Values& values) { return {values.begin(), values.end()}; }

Value tensor_in(Site site, const Item& item) {
  if (!item.value) site.fail_node("joins tensors of numbers, and there is something else");
  return item.value;
}

// ---- Control flow ----

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
                     [](const Item& item) { return !item.sequence && !item.is_none; });
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
bool changes_shapes(const rlx::Graph& body, const Values& carried) {
  std::set<std::string> outer;
  for (const rlx::Node& node : body.nodes())
    for (size_t d = 0; is_input(node) && d < node.types[0].shape.size(); ++d)
      for (const std::string& symbol : node.types[0].shape[d].symbols()) outer.insert(symbol);
  for (size_t i = 1; i < body.outputs().size(); ++i) {
    const TensorType& leaves = body.outputs()[i].value.type();
    if (i <= carried.size()) {
      if (differ(leaves, carried[i - 1].type())) return true;
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

Items loop_operator(Site site) {
  const Graph& body = site.body("body");
  if (!carries_tensors(site) || !gives_tensors(body)) return unrolled(site, body);
  Values carried;
  Types types{{DType::i64, {}}, {DType::boolean, {}}};
  for (size_t i = 2; i < site.inputs.size(); ++i) {
    carried.push_back(site.in(i));
    types.push_back(carried.back().type());
  }
  Bodies bodies = site.make_bodies({&body}, types);
  if (changes_shapes(bodies.graphs[0], carried)) return unrolled(site, body);
  const auto single = [](Value v) { return !v || v.shape().empty() ? v : reshape(v, Dims{}); };
  const auto enters = site.has(1) ? site.maybe_ints(1) : Ints{1};
  if (site.has(0) && enters && enters->at(0) != 0 &&
      always_goes_on(bodies.graphs[0], bodies.captured))
    return items_of(loop(single(site.in(0)), carried, without_condition(bodies.graphs[0]),
                         {.captured = bodies.captured}));
  return items_of(while_loop(single(site.maybe(0)), single(site.maybe(1)), carried,
                             std::move(bodies.graphs[0]), bodies.captured));
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

// ---- Recurrent nets ----

using Recurrent = Values (*)(Value, Value, Value, const RecurrentOptions&);

template <Recurrent kNet, bool kCell>
Items recurrent(Site site) {
  RecurrentOptions options;
  options.bias = site.maybe(3);
  options.sequence_lens = site.maybe(4);
  options.initial_h = site.maybe(5);
  if (kCell) {
    options.initial_c = site.maybe(6);
    options.peepholes = site.maybe(7);
  }
  options.direction = site.string("direction", "forward");
  options.layout = site.integer("layout", 0);
  options.clip = site.real("clip", 0);
  options.activations = site.strings("activations");
  options.activation_alpha = site.floats("activation_alpha");
  options.activation_beta = site.floats("activation_beta");
  options.input_forget = site.flag("input_forget");
  options.linear_before_reset = site.flag("linear_before_reset");
  return items_of(kNet(site.in(0), site.in(1), site.in(2), options));
}

// ---- Sequences and optionals, of which the graph knows the lengths ----

Item sequence_of(Sequence sequence) {
  Item item;
  item.sequence = std::move(sequence);
  return item;
}
Item sequence_of(Items items) { return sequence_of(Sequence(std::move(items))); }

// All its elements, to change them. What that costs is told: a model may do it at every step.
Items copied(Site site, const Sequence& sequence) {
  constexpr int64_t kItemsLikeANode = 16;
  site.spend_nodes(1 + static_cast<int64_t>(sequence.size()) / kItemsLikeANode);
  return sequence.all();
}

int64_t position_of(Site site, size_t i, size_t size, bool one_past) {
  const int64_t count = static_cast<int64_t>(size), at = site.known_ints(i).at(0);
  const int64_t from_start = at < 0 ? at + count : at;
  if (from_start < 0 || from_start >= count + (one_past ? 1 : 0))
    site.fail_node("position ", at, " is out of range for a sequence of ", count);
  return from_start;
}

// A sequence has tensors; one within another, and so on, would be as deep as a file has nodes.
const Item& element(Site site, const Item& item) {
  if (item.sequence || item.is_none) site.fail_node("the elements of a sequence are tensors");
  return item;
}

Items sequence_construct(Site site) {
  for (const Item& item : site.inputs) element(site, item);
  return {sequence_of(site.inputs)};
}
Items sequence_empty(Site) { return {sequence_of(Items{})}; }
Items sequence_at(Site site) {
  const Sequence& items = site.sequence(0);
  return {items.at(static_cast<size_t>(position_of(site, 1, items.size(), false)))};
}
Items sequence_insert(Site site) {
  const Sequence& items = site.sequence(0);
  const size_t at =
      site.has(2) ? static_cast<size_t>(position_of(site, 2, items.size(), true)) : items.size();
  const Item& item = element(site, site.inputs.at(1));
  if (at == items.size() && !items.is_shared()) return {sequence_of(items.with(item))};
  Items copy = copied(site, items);
  copy.insert(copy.begin() + static_cast<int64_t>(at), item);
  return {sequence_of(std::move(copy))};
}
Items sequence_erase(Site site) {
  const Sequence& items = site.sequence(0);
  if (items.size() == 0) site.fail_node("the sequence has no element");
  const size_t at = site.has(1) ? static_cast<size_t>(position_of(site, 1, items.size(), false))
                                : items.size() - 1;
  if (at + 1 == items.size()) return {sequence_of(items.first(at))};
  Items copy = copied(site, items);
  copy.erase(copy.begin() + static_cast<int64_t>(at));
  return {sequence_of(std::move(copy))};
}
Items sequence_length(Site site) {
  Tensor length(DType::i64, {});
  length.set_integer(0, static_cast<int64_t>(site.sequence(0).size()));
  return {site.constant(length)};
}
Items concat_from_sequence(Site site) {
  Values parts;
  const int64_t axis = site.integer("axis");
  const bool new_axis = site.flag("new_axis");
  const Sequence& items = site.sequence(0);
  for (size_t k = 0; k < items.size(); ++k) {
    const Value part = tensor_in(site, items.at(k));
    parts.push_back(new_axis ? unsqueeze(part, {axis}) : part);
  }
  return {concat(parts, axis)};
}
Items split_to_sequence(Site site) {
  const Value x = site.in(0);
  const int64_t axis = site.integer("axis", 0);
  const int64_t positive = axis < 0 ? axis + rank(x.type()) : axis;
  const Dim& length = x.shape().at(static_cast<size_t>(positive));
  const bool counts = !site.has(1) || site.in(1).shape().empty();
  if (counts && !length.is_number()) site.fail_node("needs a known extent, ", length, " is not");
  Dims lengths;
  if (counts) {
    const int64_t each = site.has(1) ? site.known_ints(1).at(0) : 1;
    if (each <= 0) site.fail_node("a length of ", each, " is not positive");
    if (length.number() > 0) site.spend_nodes((length.number() - 1) / each + 1);  // for the parts
    for (int64_t left = length.number(); left > 0; left -= each)
      lengths.emplace_back(std::min(left, each));
  } else {
    lengths = site.known_dims(1);
  }
  const bool squeezes = !site.has(1) && !site.flag("keepdims", true);
  Items items;
  for (const Value part : split(x, lengths, axis))
    items.emplace_back(squeezes ? squeeze(part, {axis}) : part);
  return {sequence_of(std::move(items))};
}

// The body for each element in turn; other sequences go along, tensors stay.
Items sequence_map(Site site) {
  const Graph& body = site.body("body");
  std::vector<Items> columns(body.outputs.size());
  for (size_t k = 0; k < site.sequence(0).size(); ++k) {
    Items inputs;
    for (const Item& input : site.inputs)
      inputs.push_back(input.sequence ? input.sequence.at(k) : input);
    const Items results = site.inline_body(body, inputs);
    for (size_t i = 0; i < columns.size(); ++i) columns[i].push_back(element(site, results[i]));
  }
  Items outputs;
  for (Items& column : columns) outputs.push_back(sequence_of(std::move(column)));
  return outputs;
}

Items optional_operator(Site site) {
  if (!site.inputs.empty()) return {site.inputs[0]};
  Item none;
  none.is_none = true;
  return {none};
}
Items optional_get(Site site) {
  if (!site.has(0)) site.fail_node("the optional has no element");
  return {site.inputs[0]};
}
Items optional_has(Site site) {
  return {site.constant(Tensor::scalar(DType::boolean, site.has(0) ? 1 : 0))};
}

// ---- Random numbers ----

// A generator without a seed is one that may give the same numbers at every run.
Value seed_of(Site site) {
  const double seed = site.real("seed", 0);
  Tensor key(DType::u32, {2});
  key.set_integer(0, static_cast<int64_t>(seed) & 0xffffffff);
  key.set_integer(1, static_cast<int64_t>(site.node.offset) & 0xffffffff);
  return site.constant(key);
}
DType dtype_attribute(Site site, DType otherwise) {
  if (!site.attribute("dtype")) return otherwise;
  const std::optional<DType> dtype = dtype_of(static_cast<int>(site.integer("dtype")));
  if (!dtype) site.fail_node("the dtype is none of rlx");
  return *dtype;
}
Dims shape_attribute(Site site) {
  const Ints shape = site.ints("shape");
  return {shape.begin(), shape.end()};
}
Value uniform(Site site, const Dims& shape, DType dtype) {
  return random_uniform(seed_of(site), shape, site.real("low", 0), site.real("high", 1), dtype);
}
Value gaussian(Site site, const Dims& shape, DType dtype) {
  return random_normal(seed_of(site), shape, site.real("mean", 0), site.real("scale", 1), dtype);
}
Items uniform_operator(Site site) {
  return {uniform(site, shape_attribute(site), dtype_attribute(site, DType::f32))};
}
Items uniform_like(Site site) {
  const Value x = site.in(0);
  return {uniform(site, x.shape(), dtype_attribute(site, x.dtype()))};
}
Items normal_operator(Site site) {
  return {gaussian(site, shape_attribute(site), dtype_attribute(site, DType::f32))};
}
Items normal_like(Site site) {
  const Value x = site.in(0);
  return {gaussian(site, x.shape(), dtype_attribute(site, x.dtype()))};
}
Items bernoulli(Site site) {
  const Value x = site.in(0);
  const Value chance = random_uniform(seed_of(site), x.shape(), 0, 1, x.dtype());
  return {cast(less(chance, x), dtype_attribute(site, x.dtype()))};
}

// Where nothing trains, dropout passes everything on.
Items dropout_operator(Site site) {
  const Value x = site.in(0);
  const auto all_kept = [&] {
    return Items{x, expand(site.constant(Tensor::scalar(DType::boolean, 1)), x.shape())};
  };
  if (site.opset < 12) return all_kept();
  const auto training = site.has(2) ? site.maybe_ints(2) : Ints{0};
  if (training && training->at(0) == 0) return all_kept();
  const double ratio = site.has(1) ? site.known_number(1) : 0.5;
  const Value seed = seed_of(site);
  const Value y = dropout(x, seed, ratio), kept = dropout_mask(x, seed, ratio);
  if (training) return {y, kept};
  return {where(site.in(2), y, x), logical_or(kept, logical_not(site.in(2)))};
}

}  // namespace

std::span<const Operator> sequence_operators() {
  static constexpr Operator kOperators[] = {
      {"Bernoulli", bernoulli},
      {"ConcatFromSequence", concat_from_sequence},
      {"Dropout", dropout_operator},
      {"GRU", recurrent<gru, false>},
      {"If", if_operator},
      {"LSTM", recurrent<lstm, true>},
      {"Loop", loop_operator},
      {"Optional", optional_operator},
      {"OptionalGetElement", optional_get},
      {"OptionalHasElement", optional_has},
      {"RNN", recurrent<rnn, false>},
      {"RandomNormal", normal_operator},
      {"RandomNormalLike", normal_like},
      {"RandomUniform", uniform_operator},
      {"RandomUniformLike", uniform_like},
      {"Scan", scan_operator},
      {"SequenceAt", sequence_at},
      {"SequenceConstruct", sequence_construct},
      {"SequenceEmpty", sequence_empty},
      {"SequenceErase", sequence_erase},
      {"SequenceInsert", sequence_insert},
      {"SequenceLength", sequence_length},
      {"SequenceMap", sequence_map},
      {"SplitToSequence", split_to_sequence},
  };
  return kOperators;
}

}  // namespace rlx::onnx
