#include "rlx/backend/backend.h"

#include <algorithm>

namespace rlx {

Counters difference(const Counters& after, const Counters& before) {
  return {after.runs - before.runs,
          after.plans - before.plans,
          after.pipelines - before.pipelines,
          after.buffers - before.buffers,
          after.bind_groups - before.bind_groups,
          after.submits - before.submits,
          after.uploads - before.uploads,
          after.upload_bytes - before.upload_bytes,
          after.readbacks - before.readbacks,
          after.readback_bytes - before.readback_bytes,
          after.dispatches - before.dispatches,
          after.host_steps - before.host_steps};
}

SymbolRanges plan_ranges(const Compiled& compiled, const SymbolValues& symbols) {
  SymbolRanges ranges = compiled.bounds;
  for (const auto& [name, value] : symbols) ranges.emplace(name, Interval{value, value});
  return ranges;
}

const MemoryPlan& Plans::plan(const Compiled& compiled, const DeviceTraits& traits,
                              const SymbolValues& symbols, Counters& counters) {
  std::string key;
  for (const auto& [name, value] : symbols)
    if (compiled.planned_by.count(name)) key += text(name, '=', value, ' ');
  if (const auto found = by_values_.find(key); found != by_values_.end()) return found->second;
  MemoryPlan made = plan_memory(compiled.lowered, traits, plan_ranges(compiled, symbols));
  ++counters.plans;
  return by_values_.emplace(std::move(key), std::move(made)).first->second;
}

void check_budget(const Compiled& compiled, const MemoryPlan& plan) {
  if (compiled.memory_budget == 0) return;
  int64_t weights = 0, states = 0, inputs = 0;
  for (size_t v = 0; v < plan.bytes_of.size(); ++v) {
    const int64_t bytes = std::max<int64_t>(plan.bytes_of[v], 0);
    switch (compiled.lowered.values[v].kind) {
      case ValueKind::weight:
      case ValueKind::constant:
        weights += bytes;
        break;
      case ValueKind::state:
        states += bytes;
        break;
      case ValueKind::input:
        inputs += bytes;
        break;
      default:
        break;
    }
  }
  const int64_t total = weights + states + inputs + plan.peak_bytes;
  if (total > compiled.memory_budget)
    fail(ErrorKind::limit, "run: needs ", total, " bytes (", weights, " of weights, ", states,
         " of state, ", inputs, " of inputs, ", plan.peak_bytes,
         " of other values); the budget is ", compiled.memory_budget);
}

void report_plan(const Lowered& lowered, const MemoryPlan& plan, RunReport& report) {
  report.slots = static_cast<int64_t>(plan.slot_bytes.size());
  report.peak_bytes = plan.peak_bytes;
  for (size_t v = 0; v < lowered.values.size(); ++v) {
    const ValueKind kind = lowered.values[v].kind;
    if (kind == ValueKind::weight || kind == ValueKind::constant)
      report.weight_bytes += plan.bytes_of[v];
    if (kind == ValueKind::state) report.state_bytes += plan.bytes_of[v];
  }
}

Compiled::Compiled(Graph g, Lowered l)
    : graph(std::move(g)),
      lowered(std::move(l)),
      binder(graph, lowered.bodies),
      bounds(graph.symbols()) {
  for (const LoweredValue& value : lowered.values)
    for (const Dim& dim : value.type.shape)
      for (const std::string& symbol : dim.symbols())
        if (!bounds.count(symbol)) planned_by.insert(symbol);
}

bool RunBinding::update(const Compiled& compiled, const RunRequest& request) {
  size_t next = 0;
  bool same = !seen_.empty() || request.inputs.empty();
  const bool first = seen_.empty();
  for (const Node& node : compiled.graph.nodes()) {
    if (!is_input(node)) continue;
    const size_t i = next++;
    const bool on_device = i < request.device_inputs.size() && request.device_inputs[i].present();
    const Shape& shape = on_device ? request.device_inputs[i].shape() : request.inputs[i].shape();
    const DType dtype = on_device ? request.device_inputs[i].dtype() : request.inputs[i].dtype();
    const bool elements = node.host_values[0].has_value();
    if (elements && on_device) {
      seen_.clear();  // half of it is of this run
      fail(ErrorKind::invalid_input, "run: input '", node.name,
           "' decides shapes or control flow, so it must be a host tensor");
    }
    const Tensor::Mark mark = elements ? request.inputs[i].mark() : Tensor::Mark{};
    if (i >= seen_.size())
      seen_.emplace_back();
    else if (seen_[i].dtype == dtype && seen_[i].shape == shape && seen_[i].elements == mark)
      continue;
    seen_[i] = {dtype, shape, mark};
    same = false;
  }
  if (same && !first) {
    // What the data of the last run told is forgotten: this run's may tell something else.
    if (binding_.symbols != by_inputs_.symbols) binding_ = by_inputs_;
    return false;
  }

  binding_ = {};
  try {
    TensorMap inputs;
    std::map<std::string, TensorType> elsewhere;
    next = 0;
    for (const Node& node : compiled.graph.nodes()) {
      if (!is_input(node)) continue;
      const size_t i = next++;
      const bool on_device = i < request.device_inputs.size() && request.device_inputs[i].present();
      if (!on_device)
        inputs.emplace(node.name, request.inputs[i]);
      else
        elsewhere.emplace(node.name, TensorType{request.device_inputs[i].dtype(),
                                                request.device_inputs[i].shape()});
    }
    compiled.binder.bind_inputs(inputs, elsewhere, binding_);
    compiled.binder.resolve(binding_);
    by_inputs_ = binding_;
  } catch (...) {
    seen_.clear();  // a binding that failed is none
    throw;
  }
  return true;
}

void settle_result(const Compiled& compiled, const LoweredValue& value, const Tensor& given,
                   Binding& binding) {
  const Dims& dims = value.type.shape;
  if (!is_bound(dims, binding.symbols)) {
    for (size_t d = 0; d < dims.size(); ++d)
      if (const auto symbol = dims[d].symbol())
        binding.symbols.insert_or_assign(*symbol, given.shape()[d]);
    return compiled.binder.resolve(binding);
  }
  const Shape shape = bound(dims, binding.symbols);
  if (given.dtype() == value.type.dtype && given.count() == count(shape)) return;
  fail(ErrorKind::invalid_graph, "'", value.name, "' is ", TensorType{value.type.dtype, shape},
       ", and its op gave ", given.type());
}

Tensor follow_view(const Tensor& root, const Operand& operand, const SymbolValues& symbols) {
  const Shape shape = bound(operand.shape, symbols);
  if (operand.contiguous()) return root.shape() == shape ? root : root.first(shape);
  Shape strides;
  for (const Dim& stride : operand.layout.strides) strides.push_back(stride.value(symbols));
  Tensor result(operand.dtype, shape);
  const size_t width = static_cast<size_t>(bytes_of(operand.dtype));
  const std::byte* from = root.bytes().data();
  std::byte* to = result.count() > 0 ? result.mutable_bytes().data() : nullptr;
  Shape index(shape.size(), 0);
  int64_t at = operand.layout.offset.value(symbols);
  for (int64_t i = 0; i < result.count(); ++i) {
    std::memcpy(to + static_cast<size_t>(i) * width, from + static_cast<size_t>(at) * width, width);
    for (size_t d = shape.size(); d-- > 0;) {  // counts like an odometer
      at += strides[d];
      if (++index[d] < shape[d]) break;
      at -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
  return result;
}

}  // namespace rlx
