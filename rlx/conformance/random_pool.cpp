#include "rlx/conformance/random_pool.h"

#include <cmath>

#include "rlx/ir/evaluate.h"

namespace rlx {
namespace {

constexpr int64_t kMostElements = 4096;
constexpr double kTame = 1e4;  // beyond it, rounding errors drown what is compared

}  // namespace

RandomPool::RandomPool(uint64_t seed) : random(seed) {
  constexpr int64_t kExtents[] = {1, 1, 2, 3, 4, 5, 7, 8, 13, 17, 33};
  for (int i = 0; i < 4; ++i) dims.emplace_back(random.chance(0.04) ? 0 : random.pick(kExtents));
  for (const char* symbol : {"n", "m"}) {
    if (!random.chance(0.25)) continue;
    symbols[symbol] = random.between(1, 19);
    dims.push_back(random.chance(0.5) ? graph.symbol(symbol, 24) : Dim(symbol));
  }
}

Value RandomPool::add_input(DType dtype, const Dims& shape, CaseInput::Fill fill, int64_t limit) {
  const std::string name = text('x', inputs.size());
  const Shape extents = bound(shape, symbols);
  if (count(extents) > kMostElements)
    fail(ErrorKind::limit, "an input of ", count(extents), " elements");
  inputs.emplace(name, random_tensor(dtype, extents, fill, limit, false, random));
  const Value value = graph.input(name, {dtype, shape});
  keep(value, true);
  return value;
}

void RandomPool::add_float_input() {
  const DType dtype = random.chance(0.15) ? DType::f16 : DType::f32;
  for (int tries = 0; tries < 10; ++tries) {
    Dims shape;
    for (int64_t rank = random.between(0, 4); rank > 0; --rank) shape.push_back(random.pick(dims));
    if (count(bound(shape, symbols)) > kMostElements) continue;
    add_input(dtype, shape);
    return;
  }
  add_input(dtype, {random.pick(dims)});
}

PoolEntry RandomPool::any() {
  return choose([](const PoolEntry&) { return true; });
}
PoolEntry RandomPool::any_of(DType dtype) {
  return choose([&](const PoolEntry& e) { return e.value.dtype() == dtype; });
}
PoolEntry RandomPool::any_float(int64_t rank_from) {
  return choose([&](const PoolEntry& e) {
    return is_float(e.value.dtype()) && rank(e.value.type()) >= rank_from;
  });
}
PoolEntry RandomPool::any_exact_float(int64_t rank_from) {
  return choose([&](const PoolEntry& e) {
    return e.exact && is_float(e.value.dtype()) && rank(e.value.type()) >= rank_from;
  });
}
PoolEntry RandomPool::any_ranked() {
  return choose([](const PoolEntry& e) { return rank(e.value.type()) > 0; });
}

PoolEntry RandomPool::partner_of(Value x) {
  if (random.chance(0.4)) {
    for (size_t i = entries.size(); i-- > 0;)
      if (entries[i].value.type() == x.type() && entries[i].value != x) return entries[i];
  }
  Dims shape = x.shape();
  const int64_t dropped = random.between(0, random.chance(0.3) ? rank(x.type()) : 0);
  shape.erase(shape.begin(), shape.begin() + dropped);
  for (Dim& dim : shape)
    if (random.chance(0.2)) dim = 1;
  return {add_input(x.dtype(), shape), true};
}

int64_t RandomPool::computed() const {
  int64_t nodes = 0;
  for (const Node& node : graph.nodes()) nodes += !is_source(node);
  return nodes;
}

void RandomPool::try_step(RandomStep step) {
  const size_t node_count = graph.nodes().size(), entry_count = entries.size();
  try {
    step(*this);
    if (binds_all_symbols(graph) && is_tame(node_count)) return;
  } catch (const Error&) {  // the operands did not fit after all
  }
  undo(node_count, entry_count);
}

void RandomPool::undo(size_t node_count, size_t entry_count) {
  auto& nodes = graph.data()->nodes;
  for (size_t i = node_count; i < nodes.size(); ++i)
    if (is_input(nodes[i])) inputs.erase(nodes[i].name);
  nodes.resize(node_count, Node{});
  entries.resize(entry_count);
}

// Are the values from this node on small and finite? Those that only their own step reads may hide
// others by being as low as masks are, and be NaN where the step asks for that.
bool RandomPool::is_tame(size_t first_node) const {
  constexpr double kHidden = -1e30;
  const Evaluation evaluation = evaluate(graph, inputs, {.keep_results = true});
  std::vector<bool> kept(evaluation.results.size(), false);
  for (const PoolEntry& entry : entries) kept[static_cast<size_t>(entry.value.node)] = true;
  bool asks = false;
  for (size_t node = first_node; node < evaluation.results.size(); ++node)
    asks |= graph.nodes()[node].op->name == "is_nan";
  const auto may_be_inside = [&](double element) {
    return element <= kHidden || (asks && std::isnan(element));
  };
  for (size_t node = first_node; node < evaluation.results.size(); ++node)
    for (const Tensor& tensor : evaluation.results[node]) {
      if (tensor.count() > kMostElements) return false;
      for (int64_t i = 0; i < tensor.count(); ++i) {
        const double element = tensor.at(i);
        if (!(std::abs(element) < kTame) && (kept[node] || !may_be_inside(element))) return false;
      }
    }
  return true;
}

void RandomPool::add_outputs() {
  std::vector<bool> read(graph.nodes().size(), false);
  for (const Node& node : graph.nodes())
    for (const Value& input : node.inputs)
      if (input.present()) read[static_cast<size_t>(input.node)] = true;
  int outputs = 0;
  for (const PoolEntry& entry : entries) {
    const bool unread = !read[static_cast<size_t>(entry.value.node)];
    const bool wanted = unread ? !is_source(entry.value.producer()) : random.chance(0.1);
    if (wanted) graph.output(text('y', outputs++), entry.value);
  }
  if (outputs == 0) graph.output("y0", entries.back().value);
}

}  // namespace rlx
