// ONNX operators of recurrent nets, sequences and optionals, random numbers.

#include <algorithm>
#include <cmath>

#include "rlx/import/onnx/appends.h"
#include "rlx/import/onnx/repeats.h"
#include "rlx/import/onnx/site.h"
#include "rlx/ops/ops_core.h"
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

// ---- Recurrent nets ----

using Recurrent = Values (*)(Value, Value, Value, const RecurrentOptions&);

template <Recurrent kNet, bool kCell>
Items recurrent(Site site) {
  const Dims& r = site.in(2).shape();
  if (site.attribute("hidden_size") && r.size() == 3 && r[2].is_number() &&
      !r[2].is(site.integer("hidden_size")))
    site.fail_node("hidden_size is ", site.integer("hidden_size"), ", and R is ",
                   site.in(2).type());
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
Item sequence_of_rows(Value rows) {
  Item item;
  item.rows = rows;
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
  if (item.is_sequence() || item.is_none) site.fail_node("the elements of a sequence are tensors");
  return item;
}

Items sequence_construct(Site site) {
  for (const Item& item : site.inputs) element(site, item);
  return {sequence_of(site.inputs)};
}
Items sequence_empty(Site) { return {sequence_of(Items{})}; }
Items sequence_at(Site site) {
  if (site.has(0) && (site.inputs[0].rows || !site.maybe_ints(1))) {
    const Value at = site.in(1);
    return {gather(stacked(site, site.inputs[0]), at.shape().empty() ? at : reshape(at, Dims{}))};
  }
  const Sequence& items = site.sequence(0);
  return {items.at(static_cast<size_t>(position_of(site, 1, items.size(), false)))};
}
Items sequence_insert(Site site) {
  if (site.has(0) && site.inputs[0].rows && !site.has(2))
    return {
        sequence_of_rows(concat({stacked(site, site.inputs[0]), unsqueeze(site.in(1), {0})}, 0))};
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
  if (site.has(0) && site.inputs[0].rows)
    return {squeeze(shape_of(site.inputs[0].rows, 0, 1), {0})};
  Tensor length(DType::i64, {});
  length.set_integer(0, static_cast<int64_t>(site.sequence(0).size()));
  return {site.constant(length)};
}
Items concat_from_sequence(Site site) {
  Values parts;
  const int64_t axis = site.integer("axis");
  const bool new_axis = site.flag("new_axis");
  if (site.has(0) && site.inputs[0].rows) {
    const Item& item = site.inputs[0];
    const int64_t last = rank(item.rows.type()) - 1;  // of the elements
    const bool fits = !new_axis && (axis < 0 ? axis + last : axis) == item.repeats_along;
    const Value rows =
        joined_rows(item.repeats && fits ? item.rows : stacked(site, item), axis, new_axis);
    return {item.repeats ? repeated(rows, item.repeats, axis) : rows};
  }
  const Sequence& items = site.sequence(0);
  for (size_t k = 0; k < items.size(); ++k) {
    const Value part = tensor_in(site, items.at(k));
    parts.push_back(new_axis ? unsqueeze(part, {axis}) : part);
  }
  return {concat(parts, axis)};
}
// What is at each place of an axis, as rows.
Value rows_along(Value x, int64_t axis) {
  Ints order{axis};
  for (int64_t d = 0; d < rank(x.type()); ++d)
    if (d != axis) order.push_back(d);
  return transpose(x, order);
}

// Are they all 1? However many there are: ConstantOfShape repeats one number.
bool are_ones(Value lengths) {
  const rlx::Node& node = lengths.producer();
  const Value source = node.op->name == "expand" ? node.inputs[0] : lengths;
  const auto known = known_numbers(source);
  return known && std::all_of(known->begin(), known->end(), [](int64_t n) { return n == 1; });
}

Items split_to_sequence(Site site) {
  const Value x = site.in(0);
  const int64_t axis = site.integer("axis", 0);
  const int64_t positive = axis < 0 ? axis + rank(x.type()) : axis;
  const Dim& length = x.shape().at(static_cast<size_t>(positive));
  const bool counts = !site.has(1) || site.in(1).shape().empty();
  const bool squeezes = !site.has(1) && !site.flag("keepdims", true);
  const bool singles = !site.has(1) || ((counts || !site.maybe_ints(1)) && are_ones(site.in(1)));
  if (singles && !length.is_number()) {
    const Value rows = rows_along(x, positive);
    return {sequence_of_rows(squeezes ? rows : unsqueeze(rows, {positive + 1}))};
  }
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
Value seed_of(Site site, int64_t seed) {
  Tensor key(DType::u32, {2});
  key.set_integer(0, seed & 0xffffffff);
  key.set_integer(1, static_cast<int64_t>(site.node.offset) & 0xffffffff);
  return site.constant(key);
}
// The generators' seed is a float, Dropout's an integer.
Value seed_of(Site site) {
  const double seed = site.real("seed", 0);
  return seed_of(site, std::abs(seed) < 0x1p62 ? static_cast<int64_t>(seed) : 0);
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
  const Value seed = seed_of(site, site.integer("seed", 0));
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
      {"LSTM", recurrent<lstm, true>},
      {"Optional", optional_operator},
      {"OptionalGetElement", optional_get},
      {"OptionalHasElement", optional_has},
      {"RNN", recurrent<rnn, false>},
      {"RandomNormal", normal_operator},
      {"RandomNormalLike", normal_like},
      {"RandomUniform", uniform_operator},
      {"RandomUniformLike", uniform_like},
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
