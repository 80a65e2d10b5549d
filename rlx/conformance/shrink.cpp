#include "rlx/conformance/shrink.h"

#include <array>
#include <functional>
#include <set>

#include "rlx/ir/evaluate.h"

namespace rlx {
namespace {

// One way to make a graph smaller.
struct Change {
  std::vector<GraphOutput> outputs;         // in place of the graph's
  int cut = -1;                             // this node's results become inputs
  std::map<std::string, Dim> symbols = {};  // become these numbers
  int64_t halved = 0;                       // dims of this extent are halved
  std::string shorter = {};                 // this symbol's value is halved
};

// Which nodes the outputs need once `cut` needs no operands.
std::vector<bool> needed(const Graph& graph, const Change& change) {
  std::vector<bool> need(graph.nodes().size(), false);
  for (const GraphOutput& output : change.outputs)
    need[static_cast<size_t>(output.value.node)] = true;
  for (size_t at = need.size(); at-- > 0;) {
    if (!need[at] || static_cast<int>(at) == change.cut) continue;
    for (const Value& input : graph.nodes()[at].inputs)
      if (input.present()) need[static_cast<size_t>(input.node)] = true;
  }
  return need;
}

Dims changed(const Dims& shape, const Change& change) {
  Dims result;
  for (const Dim& dim : shape) {
    const Dim number = dim.substitute(change.symbols);
    result.push_back(change.halved > 0 && number.is(change.halved) ? Dim(change.halved / 2)
                                                                   : number);
  }
  return result;
}

Attrs changed(Attrs attrs, const Change& change) {
  for (const auto& [name, attr] : Attrs(attrs))
    if (const Dims* shape = std::get_if<Dims>(&attr.variant()))
      attrs.set(name, changed(*shape, change));
  return attrs;
}

Shape changed_extents(const Dims& shape, const Shape& extents, const Change& change) {
  Shape result = extents;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].is_number())
      result[d] = shape[d].number();
    else if (shape[d].symbol() == change.shorter)
      result[d] /= 2;
  }
  return result;
}

// The leading block of a tensor.
Tensor block(const Tensor& tensor, const Shape& shape) {
  if (tensor.shape() == shape) return tensor;
  Tensor result(tensor.dtype(), shape);
  const Shape strides = strides_of(tensor.shape());
  for (int64_t i = 0; i < result.count(); ++i) {
    int64_t rest = i, from = 0;
    for (size_t d = shape.size(); d-- > 0;) {
      from += rest % shape[d] * strides[d];
      rest /= shape[d];
    }
    result.set(i, tensor.at(from));
  }
  return result;
}

RandomGraph apply(const RandomGraph& random, const Change& change) {
  const std::vector<bool> need = needed(random.graph, change);
  Evaluation evaluation;
  if (change.cut >= 0) evaluation = evaluate(random.graph, random.inputs, {.keep_results = true});
  RandomGraph result;
  for (const auto& [name, range] : random.graph.symbols())
    if (!change.symbols.count(name)) result.graph.symbol(name, range.high, range.low);
  std::vector<Values> moved(need.size());
  for (size_t at = 0; at < need.size(); ++at) {
    const Node& node = random.graph.nodes()[at];
    if (!need[at]) continue;
    if (static_cast<int>(at) == change.cut) {
      for (size_t r = 0; r < node.types.size(); ++r) {
        const std::string name = text("cut", at, '.', r);
        result.inputs.emplace(name, evaluation.results[at][r]);
        moved[at].push_back(result.graph.input(name, node.types[r]));
      }
    } else if (is_source(node)) {
      const TensorType type{node.types[0].dtype, changed(node.types[0].shape, change)};
      moved[at] = {result.graph.add_source(*node.op, type, node.attrs, node.name)};
      if (!is_input(node)) continue;
      const Tensor& tensor = random.inputs.at(node.name);
      result.inputs.emplace(node.name,
                            block(tensor, changed_extents(type.shape, tensor.shape(), change)));
    } else {
      Values inputs;
      for (const Value& input : node.inputs)
        inputs.push_back(
            input.present()
                ? moved[static_cast<size_t>(input.node)][static_cast<size_t>(input.result)]
                : Value{});
      const Value first = result.graph.add(node.op, inputs, changed(node.attrs, change));
      for (size_t r = 0; r < node.types.size(); ++r)
        moved[at].push_back(first.of(static_cast<int>(r)));
    }
  }
  for (const GraphOutput& output : change.outputs)
    result.graph.output(
        output.name,
        moved[static_cast<size_t>(output.value.node)][static_cast<size_t>(output.value.result)]);
  return result;
}

std::map<std::string, Dim> symbol_numbers(const RandomGraph& random) {
  SymbolValues values;
  for (const Node& node : random.graph.nodes())
    if (is_input(node))
      bind_input(node.name, node.types[0], random.inputs.at(node.name).type(), values);
  return {values.begin(), values.end()};
}

// What to try, the most promising first.
std::vector<Change> changes_of(const RandomGraph& random) {
  const std::vector<GraphOutput>& outputs = random.graph.outputs();
  std::vector<Change> changes;
  if (outputs.size() > 1)
    for (const GraphOutput& output : outputs) changes.push_back({{output}});
  const std::map<std::string, Dim> numbers = symbol_numbers(random);
  if (!numbers.empty()) changes.push_back({.outputs = outputs, .symbols = numbers});
  // An earlier value may be wrong already.
  if (outputs.size() == 1)
    for (const Value& input : outputs[0].value.producer().inputs)
      if (input.present()) changes.push_back({{{outputs[0].name, input}}});
  for (int at = 0; at < static_cast<int>(random.graph.nodes().size()); ++at)
    if (!is_source(random.graph.node(at))) changes.push_back({.outputs = outputs, .cut = at});
  std::set<int64_t, std::greater<>> extents;
  for (const Node& node : random.graph.nodes())
    if (is_input(node))
      for (const Dim& dim : node.types[0].shape)
        if (dim.is_number() && dim.number() > 1) extents.insert(dim.number());
  for (const int64_t extent : extents) changes.push_back({.outputs = outputs, .halved = extent});
  for (const auto& [symbol, value] : numbers)
    changes.push_back({.outputs = outputs, .shorter = symbol});
  return changes;
}

// Every change must make this smaller, so that shrinking ends.
std::array<int64_t, 4> size_of(const RandomGraph& random) {
  int64_t computed = 0, symbolic = 0, elements = 0;
  for (const Node& node : random.graph.nodes()) {
    computed += !is_source(node);
    symbolic += !is_concrete(node.types[0].shape);
  }
  for (const auto& [name, tensor] : random.inputs) elements += tensor.count();
  return {computed, static_cast<int64_t>(random.graph.outputs().size()), symbolic, elements};
}

bool still_fails(const RandomGraph& random, const Fails& fails) {
  try {
    return binds_all_symbols(random.graph) && fails(random);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

RandomGraph shrink(RandomGraph random, const Fails& fails) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const Change& change : changes_of(random)) {
      try {
        RandomGraph candidate = apply(random, change);
        if (size_of(candidate) >= size_of(random) || !still_fails(candidate, fails)) continue;
        random = std::move(candidate);
        smaller = true;
        break;
      } catch (const Error&) {  // it does not fit together any more
      }
    }
  }
  return random;
}

}  // namespace rlx
