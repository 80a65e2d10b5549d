#include "rlx/ir/graph.h"

#include <algorithm>

#include "rlx/ir/known.h"
#include "rlx/ir/text_numbers.h"

namespace rlx {
namespace {

OpDef source(const char* name) {
  OpDef op;
  op.name = name;
  op.family = "structure";
  op.inputs = {0, 0, {}};
  op.infer = [](const InferSite& site) -> Types {
    fail(ErrorKind::invalid_graph, site.op.name, ": its type is given, not inferred");
  };
  op.gradient_reason = "a source has no operands";
  op.host_reason = "a source computes nothing";
  return op;
}

void take_name(GraphData& graph, const OpDef& op, const std::string& name) {
  require(!name.empty(), op.name, ": needs a name");
  if (graph.source_names.emplace(&op, name).second) return;
  for (const Node& node : graph.nodes)  // it may have been taken by a node that is no more
    require(node.op.get() != &op || node.name != name, op.name, ": there is one named '", name,
            "' already");
}

void check_room(const GraphData& graph) {
  if (graph.nodes.size() >= graph.most_nodes)
    fail(ErrorKind::limit, "the graph would have more than ", graph.most_nodes,
         " nodes, which is its limit");
}

void check_arity(const OpDef& op, const Values& inputs) {
  const Arity& arity = op.inputs;
  if (inputs.size() < arity.min || inputs.size() > arity.max) {
    const std::string wanted = arity.min == arity.max ? text(arity.min)
                               : arity.max == kMany   ? text("at least ", arity.min)
                                                      : text(arity.min, " to ", arity.max);
    fail(ErrorKind::invalid_graph, op.name, ": takes ", wanted,
         arity.max == 1 ? " input" : " inputs", ", got ", inputs.size());
  }
  for (size_t i = 0; i < std::min(arity.min, inputs.size()); ++i)
    require(inputs[i].present(), op.name, ": input ", i, " ('", arity.name(i), "') is missing");
}

// Refuses attributes the op does not take and fills in the defaults of those it does.
Attrs complete(const OpDef& op, Attrs attrs) {
  for (const auto& [name, attr] : attrs) {
    const std::string& given = name;  // emscripten's compiler captures no structured binding
    const bool known = std::any_of(op.attrs.begin(), op.attrs.end(),
                                   [&](const AttrSpec& spec) { return spec.name == given; });
    if (known) continue;
    std::vector<std::string> names;
    for (const AttrSpec& spec : op.attrs) names.push_back(spec.name);
    fail(ErrorKind::invalid_graph, op.name, ": has no attribute '", name, "'",
         names.empty() ? "; it takes none" : text("; it takes ", joined(names)));
  }
  for (const AttrSpec& spec : op.attrs) {
    if (attrs.has(spec.name)) continue;
    if (spec.otherwise)
      attrs.set(spec.name, *spec.otherwise);
    else
      require(spec.optional, op.name, ": attribute '", spec.name, "' is missing");
  }
  return attrs;
}

// Is node `at` among those that `node` is computed from?
bool depends_on(const GraphData& graph, int node, int at) {
  std::vector<bool> needed(graph.nodes.size(), false);
  needed[size_t(node)] = true;
  for (int next = node; next > at; --next)
    if (needed[size_t(next)])
      for (const Value& input : graph.nodes[size_t(next)].inputs)
        if (input.present()) needed[size_t(input.node)] = true;
  return needed[size_t(at)];
}

}  // namespace

#define RLX_SOURCE(kind)                   \
  const OpDef& kind##_op() {               \
    static const OpDef op = source(#kind); \
    return op;                             \
  }                                        \
  bool is_##kind(const Node& node) { return node.op.get() == &kind##_op(); }
RLX_SOURCE(input)
RLX_SOURCE(weight)
RLX_SOURCE(constant)
RLX_SOURCE(state)
#undef RLX_SOURCE

bool is_source(const Node& node) {
  return is_input(node) || is_weight(node) || is_constant(node) || is_state(node);
}

bool has_body(const Node& node) {
  return std::any_of(node.attrs.begin(), node.attrs.end(), [](const auto& attr) {
    return std::holds_alternative<GraphPtr>(attr.second.variant());
  });
}

const Tensor* tensor_of(const Node& node) {
  return is_constant(node) || is_weight(node) ? node.attrs.find<Tensor>("value") : nullptr;
}

const Tensor* initial_of(const Node& node) {
  return is_state(node) ? node.attrs.find<Tensor>("value") : nullptr;
}

namespace {

GraphData& made(const Shared<GraphData>& data) {
  if (!data) fail(ErrorKind::invalid_input, "graph: it was moved, there is nothing in it");
  return *data;
}

}  // namespace

Graph::Graph() : data_(std::make_unique<GraphData>()) {}
Graph::Graph(Graph&& other) noexcept = default;
Graph& Graph::operator=(Graph&& other) noexcept = default;
Graph::~Graph() = default;

namespace {

std::optional<int> fresh_number(std::string_view symbol) {
  constexpr int64_t kMost = 1'000'000'000;
  if (symbol.empty() || symbol[0] != 's') return std::nullopt;
  const std::optional<int64_t> number = read_integer(symbol.substr(1));
  if (!number || *number < 0 || *number >= kMost) return std::nullopt;
  return static_cast<int>(*number);
}

}  // namespace

void skip_fresh_symbol(GraphData& graph, std::string_view symbol) {
  const std::optional<int> number = fresh_number(symbol);
  if (number) graph.fresh_symbols = std::max(graph.fresh_symbols, *number + 1);
}

Value Graph::add_source(const OpDef& op, const TensorType& type, const Attrs& attrs,
                        const std::string& name) {
  check_room(made(data_));
  Node node{static_op(op), {}, attrs, {type}, name};
  if (const Tensor* value = tensor_of(node)) {
    require(value->type() == type, op.name, " '", name, "': its tensor is ", value->type(),
            ", not ", type);
    if (is_constant(node)) node.host_values = {host_value_of(*value)};
  }
  const Tensor* initial = initial_of(node);
  require(!initial || initial->type() == type, "state '", name, "': it starts as ",
          initial ? initial->type() : type, ", not as ", type);
  require(!is_constant(node) || tensor_of(node), "constant '", name, "': has no value");
  if (is_constant(node)) {
    if (node.name.empty()) node.name = text("constant_", made(data_).nodes.size());
  } else {
    take_name(made(data_), op, name);
  }
  // A source may use names that we would give: ours are then others.
  for (const Dim& dim : type.shape)
    for (const std::string& symbol : dim.symbols()) skip_fresh_symbol(made(data_), symbol);
  if (node.host_values.empty()) node.host_values.resize(1);
  made(data_).nodes.push_back(std::move(node));
  return value(static_cast<int>(made(data_).nodes.size()) - 1);
}

Value Graph::input(const std::string& name, const TensorType& type) {
  return add_source(input_op(), type, {}, name);
}
Value Graph::weight(const std::string& name, const Tensor& tensor) {
  return add_source(weight_op(), tensor.type(), {{"value", tensor.sealed()}}, name);
}
Value Graph::weight(const std::string& name, const TensorType& type) {
  return add_source(weight_op(), type, {}, name);
}
Value Graph::constant(const Tensor& tensor, const std::string& name) {
  return add_source(constant_op(), tensor.type(), {{"value", tensor.sealed()}}, name);
}
Value Graph::state(const std::string& name, const TensorType& type) {
  require(is_concrete(type.shape), "state '", name, "': ", type,
          " must have a fixed shape; use its capacity");
  return add_source(state_op(), type, {}, name);
}

Value Graph::state(const std::string& name, const Tensor& initial) {
  return add_source(state_op(), initial.type(), {{"value", initial}}, name);
}

namespace {

// A number of a formula, that an imported graph has under a name.
bool is_named_number(const Node& node, const std::string& name) {
  return is_constant(node) && node.name == name && tensor_of(node)->count() == 1 &&
         is_float(node.types[0].dtype);
}

// It was taken for known: what has been decided by it must not be.
void check_decides_nothing(const GraphData& graph, int number) {
  std::vector<bool> depends(graph.nodes.size(), false);
  depends[size_t(number)] = true;
  bool is_read = false;
  for (size_t at = size_t(number) + 1; at < graph.nodes.size(); ++at) {
    const Node& node = graph.nodes[at];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i] || !depends[size_t(node.inputs[i].node)]) continue;
      depends[at] = is_read = true;
      const std::vector<size_t>& host = node.op->host_inputs;
      if (std::find(host.begin(), host.end(), i) != host.end())
        fail(ErrorKind::invalid_graph, "turn_into_state: '", graph.nodes[size_t(number)].name,
             "' decides a shape, of '", node.name, "'");
    }
  }
  for (const GraphOutput& output : graph.outputs) is_read |= output.value.node == number;
  if (!is_read)
    fail(ErrorKind::invalid_graph, "turn_into_state: nothing reads '",
         graph.nodes[size_t(number)].name, "': if its number is in an attribute, it stays there");
}

}  // namespace

Value Graph::turn_into_state(const std::string& weight) {
  for (size_t at = 0; at < made(data_).nodes.size(); ++at) {
    Node& node = made(data_).nodes[at];
    const bool is_number = is_named_number(node, weight);
    if (!is_number && (!is_weight(node) || node.name != weight)) continue;
    if (is_number) check_decides_nothing(made(data_), static_cast<int>(at));
    take_name(made(data_), state_op(), weight);
    made(data_).source_names.erase({&weight_op(), weight});
    node.op = static_op(state_op());
    if (is_number)
      for (Node& each : made(data_).nodes) each.known.reset();
    return value(static_cast<int>(at));
  }
  fail(ErrorKind::invalid_graph, "turn_into_state: there is no weight '", weight, "'");
}

void Graph::replace_uses(Value old, Value replacement) {
  require(old.graph == &made(data_) && replacement.graph == &made(data_),
          "replace_uses: a value is of another graph");
  require(old.type() == replacement.type(), "replace_uses: '", old.producer().name, "' is ",
          old.type(), ", its replacement ", replacement.type());
  const auto change = [&](Value& value) {
    if (value == old) value = replacement;
  };
  for (size_t at = 0; at < made(data_).nodes.size(); ++at) {
    Node& node = made(data_).nodes[at];
    if (static_cast<int>(at) == replacement.node) continue;  // it may be made of the old value
    const bool reads = std::count(node.inputs.begin(), node.inputs.end(), old) != 0;
    if (!reads) continue;
    if (static_cast<int>(at) < replacement.node) {
      // What the replacement is computed from keeps the old value.
      require(depends_on(made(data_), replacement.node, static_cast<int>(at)),
              "replace_uses: node '", node.name, "' comes before the replacement");
      continue;
    }
    for (Value& input : node.inputs) change(input);
  }
  for (GraphOutput& output : made(data_).outputs) change(output.value);
  for (StateUpdate& update : made(data_).updates) change(update.next);
  for (Node& node : made(data_).nodes) node.known.reset();
}

void Graph::update(Value state, Value next) {
  require(state.graph == &made(data_) && next.graph == &made(data_),
          "update: a value is of another graph");
  require(is_state(state.producer()), "update: '", state.producer().name, "' is not a state");
  require(state.type() == next.type(), "update: state '", state.producer().name, "' is ",
          state.type(), ", its next value is ", next.type());
  require(made(data_).updated_states.insert(state.node).second, "update: state '",
          state.producer().name, "' is updated twice");
  made(data_).updates.push_back({state, next});
}

void Graph::output(const std::string& name, Value value) {
  require(value.graph == &made(data_), "output '", name, "': the value is of another graph");
  require(!name.empty(), "output: needs a name");
  require(made(data_).output_names.insert(name).second, "output: there is one named '", name,
          "' already");
  made(data_).outputs.push_back({name, value});
}

Dim Graph::symbol(const std::string& name, int64_t max, int64_t min) {
  Dim dim(name);
  require(0 <= min && min <= max, "symbol '", name, "': cannot lie in ", min, "..", max);
  const auto [at, added] = made(data_).symbols.emplace(name, Interval{min, max});
  require(added || (at->second.low == min && at->second.high == max), "symbol '", name,
          "' has been given other bounds");
  return dim;
}

Inferred infer_types(const OpDef& op, const std::vector<const TensorType*>& inputs,
                     const std::vector<const HostValue*>& host_values, const Attrs& attrs,
                     const std::function<Dim()>& fresh_symbol) {
  Inferred inferred;
  const InferSite site{
      op, inputs, attrs, host_values, fresh_symbol, &inferred.checks, &inferred.definitions};
  inferred.types = op.infer(site);
  inferred.host_values.resize(inferred.types.size());
  if (op.symbolic) inferred.host_values[0] = op.symbolic(site);
  return inferred;
}

namespace {

Value append(GraphData& graph, OpRef op, const Values& inputs, const Attrs& attrs,
             const std::string& name) {
  try {
    check_room(graph);
    check_arity(*op, inputs);
    std::vector<const TensorType*> types;
    std::vector<const HostValue*> host_values;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value& input = inputs[i];
      require(!input.present() || input.graph == &graph, op->name,
              ": an operand is of another graph");
      types.push_back(input.present() ? &input.type() : nullptr);
      host_values.push_back(nullptr);
      if (!input.present()) continue;
      const auto& known = input.producer().host_values[static_cast<size_t>(input.result)];
      const bool needed = std::count(op->host_inputs.begin(), op->host_inputs.end(), i) != 0;
      if (needed || op->symbolic) learn_elements(input);
      if (needed && !known) make_symbols(input);
      if (known) host_values.back() = &*known;
    }
    Attrs completed = complete(*op, attrs);
    const auto fresh = [&] { return Dim(text('s', graph.fresh_symbols++)); };
    Inferred inferred = infer_types(*op, types, host_values, completed, fresh);
    const int index = static_cast<int>(graph.nodes.size());
    const std::string node_name = name.empty() ? op->name + '_' + std::to_string(index) : name;
    graph.nodes.push_back({std::move(op), inputs, std::move(completed), std::move(inferred.types),
                           node_name, "", std::move(inferred.checks),
                           std::move(inferred.host_values), std::move(inferred.definitions)});
    return {&graph, index, 0};
  } catch (Error& error) {
    if (!name.empty()) error.add_note(text("at node '", name, "'"));
    throw;
  }
}

}  // namespace

Value constant_beside(Value value, const Tensor& tensor) {
  auto& nodes = value.graph->nodes;
  nodes.push_back({.op = static_op(constant_op()),
                   .attrs = {{"value", tensor.sealed()}},
                   .types = {tensor.type()},
                   .name = text("constant_", nodes.size()),
                   .host_values = {host_value_of(tensor)}});
  return {value.graph, static_cast<int>(nodes.size()) - 1};
}

Value Graph::add(OpRef op, const Values& inputs, const Attrs& attrs, const std::string& name) {
  return append(made(data_), std::move(op), inputs, attrs, name);
}

Value Value::apply(const OpDef& op, const Values& inputs, const Attrs& attrs) const {
  require(present(), op.name, ": the first operand is absent");
  return append(*graph, static_op(op), inputs, attrs, "");
}

void Graph::set_name(Value value, const std::string& name) {
  Node& node = made(data_).nodes[static_cast<size_t>(value.node)];
  if (is_source(node) && !is_constant(node)) {
    made(data_).source_names.erase({node.op.get(), node.name});
    take_name(made(data_), *node.op, name);
  }
  node.name = name;
}
void Graph::set_origin(Value value, const std::string& origin) {
  made(data_).nodes[static_cast<size_t>(value.node)].origin = origin;
}

Graph Graph::clone() const {
  Graph copy;
  *copy.data_ = made(data_);
  const auto move = [&](Value& value) {
    if (value.present()) value.graph = copy.data_.get();
  };
  for (Node& node : copy.data_->nodes)
    for (Value& input : node.inputs) move(input);
  for (GraphOutput& output : copy.data_->outputs) move(output.value);
  for (StateUpdate& update : copy.data_->updates) move(update.state), move(update.next);
  return copy;
}

}  // namespace rlx
