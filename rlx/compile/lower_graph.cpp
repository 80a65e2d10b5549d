#include "rlx/compile/lower_graph.h"

#include <algorithm>
#include <set>

#include "rlx/codegen/channels_last.h"
#include "rlx/codegen/elementwise.h"
#include "rlx/codegen/host_group.h"
#include "rlx/codegen/scalar_formula.h"
#include "rlx/codegen/shards.h"
#include "rlx/compile/instantiate.h"
#include "rlx/ir/evaluate.h"
#include "rlx/lower/host_values.h"

namespace rlx::detail {
namespace {

constexpr auto kIfOperandsAre = CallTraits::ChannelsLast::if_operands_are;

class Lowering {
 public:
  Lowering(const Graph& graph, const DeviceTraits& traits, const LowerOptions& options)
      : traits_(traits), options_(options), fresh_symbols_(graph.data()->fresh_symbols) {
    lowered_.bounds = graph.symbols();
    for (const Node& node : graph.nodes()) lowered_.nodes.push_back({node.op->name, node.name});
  }

  // Lowers a graph's nodes; `inputs` stands for its inputs when it is a body.
  std::vector<Operand> lower(const Graph& graph, const std::vector<Operand>* inputs, Steps& steps) {
    const bool is_body = inputs != nullptr;
    Scope scope{graph, host_only_nodes(graph, is_body), bindable_nodes(graph, is_body), {}, {}, {}};
    const std::string around = running_;
    if (is_body) running_ = running_symbol(bodies_.size() - 1);
    note_rules(graph, running_);
    // The passes have left out what a graph does not need, but not what its bodies do not.
    const std::vector<bool> live = live_nodes(graph);
    size_t next_input = 0;
    for (size_t at = 0; at < graph.nodes().size(); ++at) {
      const Node& node = graph.nodes()[at];
      auto& operands = scope.operands.emplace_back();
      if (is_body && !live[at] && !is_input(node)) continue;
      if (is_source(node)) {
        if (is_input(node) && inputs)
          operands.push_back((*inputs)[next_input++]);
        else
          take_source(scope, at);
        continue;
      }
      if (scope.host_only[at]) continue;
      try {
        operands = lower_node(scope, static_cast<int>(at), steps);
      } catch (Error& error) {
        error.add_note(text("at node '", node.name, "'"));
        throw;
      }
    }
    running_ = around;
    std::vector<Operand> outputs;
    for (const GraphOutput& output : graph.outputs())
      outputs.push_back(operand_of(scope, output.value, steps));
    for (const StateUpdate& update : graph.updates()) {
      const ValueId state = operand_of(scope, update.state, steps).value;
      const ValueId next = contiguous(operand_of(scope, update.next, steps), steps).value;
      lowered_.updates.push_back({state, next});
    }
    return outputs;
  }

  Lowered finish(const Graph& graph) {
    Steps steps;
    const std::vector<Operand> outputs = lower(graph, nullptr, steps);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorType& type = graph.outputs()[i].value.type();
      lowered_.outputs.push_back({graph.outputs()[i].name,
                                  before_updates(contiguous(outputs[i], steps).value, steps),
                                  type});
    }
    for (Lowered::Update& update : lowered_.updates)
      if (update.next != update.state) update.next = before_updates(update.next, steps);
    for (const Lowered::Update& update : lowered_.updates)
      steps.add(Copy{update.next, update.state});
    lowered_.steps = std::move(steps);
    lower_bind_steps(graph);
    return std::move(lowered_);
  }

 private:
  // The updates overwrite their states: who wants one as it was takes a copy before.
  ValueId before_updates(ValueId value, Steps& steps) {
    const bool overwritten =
        std::any_of(lowered_.updates.begin(), lowered_.updates.end(),
                    [&](const Lowered::Update& update) { return update.state == value; });
    if (!overwritten) return value;
    const LoweredValue state = lowered_.values[size_t(value)];
    const ValueId kept = make_value(ValueKind::temporary, state.name, state.type);
    steps.add(Copy{value, kept});
    return kept;
  }

  struct Scope {
    const Graph& graph;
    std::vector<bool> host_only, bindable;
    std::vector<std::vector<Operand>> operands;  // by node and result
    std::set<std::pair<int, int>> fetched;
    std::vector<std::pair<Operand, Operand>> copies;  // of views, and where they are
  };

  ValueId make_value(ValueKind kind, const std::string& name, const TensorType& type) {
    lowered_.values.push_back({kind, name, type, {}, false});
    return static_cast<ValueId>(lowered_.values.size()) - 1;
  }

  // What must hold, and what symbols stand for, wherever the nodes run.
  void note_rules(const Graph& graph, const std::string& running) {
    for (const Node& node : graph.nodes()) {
      for (const DimCheck& check : node.checks)
        lowered_.checks.push_back({check, node.name, running});
      lowered_.definitions.insert(node.definitions.begin(), node.definitions.end());
    }
  }

  static Operand whole(ValueId value, const TensorType& type) {
    return {value, type, Access::read};
  }

  // A source's value, unless only the host needs it; what a user may name is listed all the same.
  void take_source(Scope& scope, size_t at) {
    const Node& node = scope.graph.nodes()[at];
    Lowered::Source source{node.name, node.types[0]};
    if (!scope.host_only[at]) {
      const ValueKind kind = is_input(node)    ? ValueKind::input
                             : is_weight(node) ? ValueKind::weight
                             : is_state(node)  ? ValueKind::state
                                               : ValueKind::constant;
      source.value = make_value(kind, node.name, node.types[0]);
      if (const Tensor* tensor = is_state(node) ? initial_of(node) : tensor_of(node))
        lowered_.values.back().source = *tensor;
      scope.operands[at].push_back(whole(source.value, node.types[0]));
    }
    if (is_input(node)) {
      const std::optional<HostValue>& host = node.host_values[0];
      if (host && host->own_symbols) source.elements = host->elements;
      lowered_.inputs.push_back(std::move(source));
    } else if (is_weight(node)) {
      lowered_.weights.push_back(std::move(source));
    } else if (is_state(node)) {
      lowered_.states.push_back(std::move(source));
    }
  }

  // The host's own copy of a value, in the steps that bind a run.
  ValueId host_value(const TensorType& type, const std::string& name) {
    const ValueId value = make_value(ValueKind::temporary, name, type);
    lowered_.values.back().on_host = true;
    return value;
  }

  // Shape arithmetic that expressions cannot say: calls on the host, whose results bind symbols.
  void lower_bind_steps(const Graph& graph) {
    const std::vector<bool> bindable = bindable_nodes(graph);
    std::map<std::pair<int, int>, ValueId> made;
    const auto operand = [&](const Value& input) -> Operand {
      if (!input.present()) return {};
      const auto [at, added] = made.emplace(std::pair(input.node, input.result), -1);
      if (!added) return whole(at->second, input.type());
      const Node& node = input.producer();
      const auto& host = node.host_values[size_t(input.result)];
      if (is_input(node)) {
        at->second = input_on_host(node.name);
      } else if (const Tensor* tensor = tensor_of(node)) {
        at->second = host_value(input.type(), node.name);
        lowered_.values.back().kind = ValueKind::constant;
        lowered_.values.back().source = *tensor;
      } else if (host) {  // known as expressions only
        at->second = host_value(input.type(), node.name);
        add(Write{at->second, {host->elements.begin(), host->elements.end()}}, input.node,
            lowered_.bind);
      }
      return whole(at->second, input.type());
    };
    for (const int at : nodes_to_evaluate(graph, bindable)) {
      const Node& node = graph.node(at);
      const bool told = std::all_of(node.host_values.begin(), node.host_values.end(),
                                    [](const auto& host) { return host && !host->own_symbols; });
      if (told) continue;  // as expressions, which are written where a call reads them
      Call call{node.op->name, node.attrs, {}, {}, ""};
      call.version = node.op->version;
      bool at_hand = true;
      for (const Value& input : node.inputs) {
        call.inputs.push_back(operand(input));
        at_hand &= !input.present() || call.inputs.back().value >= 0;
      }
      if (!at_hand) continue;  // a step of the run will tell
      for (size_t r = 0; r < node.types.size(); ++r) {
        const ValueId value = host_value(node.types[r], node.name);
        made[{at, static_cast<int>(r)}] = value;
        call.results.push_back(value);
      }
      const std::vector<ValueId> results = call.results;
      add(std::move(call), at, lowered_.bind);
      for (size_t r = 0; r < results.size(); ++r)
        if (const auto& host = node.host_values[r]; host && host->own_symbols)
          add(Fetch{results[r], node.types[r].dtype, host->elements, ""}, at, lowered_.bind);
    }
  }

  // An input that only the host reads has a value all the same, of which a device sees nothing.
  ValueId input_on_host(const std::string& name) {
    for (Lowered::Source& input : lowered_.inputs) {
      if (input.name != name) continue;
      if (input.value < 0) {
        input.value = host_value(input.type, name);
        lowered_.values.back().kind = ValueKind::input;
      }
      return input.value;
    }
    return -1;
  }

  // A value as an operand; one that only the binding knows is written to the device here.
  Operand operand_of(Scope& scope, Value value, Steps& steps) {
    auto& known = scope.operands[size_t(value.node)];
    const bool made = size_t(value.result) < known.size() && known[size_t(value.result)].value >= 0;
    if (made) return known[size_t(value.result)];
    const Node& node = value.producer();
    const auto& host = node.host_values[size_t(value.result)];
    require(host.has_value(), node.op->name, ": the value of '", node.name,
            "' is not known on the host");
    const Operand to = whole(make_value(ValueKind::result, node.name, value.type()), value.type());
    if (traits_.on_host())
      add(Write{to.value, {host->elements.begin(), host->elements.end()}}, value.node, steps);
    else
      emit(write_host_value(*host, to, traits_), value.node, steps);
    known.resize(std::max(known.size(), size_t(value.result) + 1), Operand{});
    return known[size_t(value.result)] = to;
  }

  // Reads back a host operand that only the device can tell.
  void fetch(Scope& scope, Value value, const Node& reader, Steps& steps) {
    if (scope.bindable[size_t(value.node)]) return;
    const auto& host = value.producer().host_values[size_t(value.result)];
    if (!host || !host->own_symbols || !scope.fetched.emplace(value.node, value.result).second)
      return;
    const Operand operand = contiguous(operand_of(scope, value, steps), steps);
    Fetch step{operand.value, value.dtype(), host->elements,
               text(reader.op->name, " needs the values of '", value.producer().name, "'")};
    add(std::move(step), value.node, steps);
  }

  template <class S>
  static void add(S step, int node, Steps& steps) {
    steps.add(std::move(step));
    steps.list.back().node = node;
  }

  // The operand as a whole value: a copy where it is a view, or only the first part of one.
  Operand contiguous(const Operand& operand, Steps& steps) {
    const Dims& whole_shape = lowered_.values[size_t(operand.value)].type.shape;
    if (operand.contiguous() && count(operand.shape) == count(whole_shape)) return operand;
    const TensorType type{operand.dtype, operand.shape};
    Operand copy = whole(make_value(ValueKind::temporary,
                                    lowered_.values[size_t(operand.value)].name + ".copy", type),
                         type);
    emit(copy_steps(operand, copy), -1, steps);
    return copy;
  }

  Steps copy_steps(const Operand& from, const Operand& to) const {
    if (traits_.on_host()) return Copy{from.value, to.value, from, to};
    return copy_view(from, to, traits_);
  }

  // Of a value too large to bind whole, a view of a small part binds only that part.
  void bind_part(Operand& operand) const {
    if (operand.access != Access::read || operand.window || operand.atomic) return;
    const TensorType& whole = lowered_.values[size_t(operand.value)].type;
    if (fits_binding(whole.dtype, whole.shape, traits_)) return;
    Dim first = operand.layout.offset, last = first;
    for (size_t d = 0; d < operand.shape.size(); ++d) {
      const Dim& stride = operand.layout.strides[d];
      Dim& end = runs_backwards(stride) ? first : last;
      end = end + (operand.shape[d] - 1) * stride;
    }
    const Dim bytes = bytes_of(operand.dtype, last - first + 1, traits_);
    if (bytes.range({}).high <= traits_.max_binding_bytes - traits_.storage_alignment)
      operand.window = {first, last - first + 1};
  }

  // A kernel stores element by element; a packed result gets a temporary and a packing step.
  void emit(Dispatch dispatch, int node, Steps& steps) {
    std::vector<Dispatch> packing;
    for (Operand& operand : dispatch.operands) {
      const bool ends_here =
          std::any_of(dispatch.in_place.begin(), dispatch.in_place.end(),
                      [&](const InPlace& pair) { return pair.from == operand.value; });
      if (!ends_here) bind_part(operand);
      if (operand.access == Access::read || dispatch.writes_words ||
          !is_packed(operand.dtype, traits_))
        continue;
      require(operand.access == Access::write, dispatch.kernel.name, ": cannot update packed ",
              operand.dtype, " in place");
      const TensorType wide{unpacked(operand.dtype), operand.shape};
      Operand temporary =
          whole(make_value(ValueKind::temporary, dispatch.kernel.name + ".wide", wide), wide);
      Operand packed = operand;
      packed.window.reset();  // it was the wide result's, of which there are more bytes
      packing.push_back(copy_view(temporary, packed, traits_));
      operand.value = temporary.value;
      operand.dtype = wide.dtype;
    }
    node = reported(node);
    dispatch.flag_code = node + 1;
    if (dispatch.flags_errors && lowered_.flag < 0)
      lowered_.flag = make_value(ValueKind::flag, "error flag", {DType::u32, {4}});
    add(std::move(dispatch), node, steps);
    for (Dispatch& pack : packing) add(std::move(pack), node, steps);
  }

  void emit(Steps more, int node, Steps& steps) {
    for (Step& step : more.list) {
      if (auto* dispatch = std::get_if<Dispatch>(&step.what)) {
        emit(std::move(*dispatch), step.node < 0 ? node : step.node, steps);
        continue;
      }
      set_node(step, reported(node));
      if (const auto* call = std::get_if<Call>(&step.what)) check_strict(call->op, call->reason);
      steps.list.push_back(std::move(step));
    }
  }

  // Steps of bodies too are known by the node that holds them.
  static void set_node(Step& step, int node) {
    if (step.node < 0) step.node = node;
    const auto set_all = [&](Steps& steps) {
      for (Step& inner : steps.list) set_node(inner, node);
    };
    if (auto* branch = std::get_if<If>(&step.what))
      set_all(branch->then), set_all(branch->otherwise);
    if (auto* loop = std::get_if<Loop>(&step.what)) set_all(loop->body);
  }

  void check_strict(const std::string& op, const std::string& reason) const {
    if (options_.strict && !traits_.on_host() && !reason.empty())
      fail(ErrorKind::unsupported, op, ": would run on the host: ", reason);
  }

  // A body's steps are known to the report and the error flag by the node that holds the body.
  int reported(int node) const { return body_of_ >= 0 ? body_of_ : node; }

  // Why a node cannot run on this device; empty when it can.
  std::string host_reason(const Node& node) const {
    if (!node.op->lower)
      return node.op->host_reason.empty() ? text("there is no kernel for ", node.op->name)
                                          : node.op->host_reason;
    const auto beyond = [&](const TensorType& type) {
      return !device_storage(type.dtype, traits_).exists;
    };
    for (const Value& input : node.inputs)
      if (input.present() && beyond(input.type()))
        return text(input.dtype(), " does not exist on a device");
    for (const TensorType& type : node.types)
      if (beyond(type)) return text(type.dtype, " does not exist on a device");
    return scalar_host_reason(node);
  }

  std::optional<Operand> as_view(const Node& node, const Operand& input) const {
    if (!node.op->view) return std::nullopt;
    std::vector<const TensorType*> types;
    std::vector<const HostValue*> hosts;
    for (const Value& operand : node.inputs) {
      types.push_back(operand.present() ? &operand.type() : nullptr);
      const auto* known =
          operand.present() ? &operand.producer().host_values[size_t(operand.result)] : nullptr;
      hosts.push_back(known && known->has_value() ? &**known : nullptr);
    }
    const InferSite infer{*node.op, types, node.attrs, hosts, {}};
    std::optional<Layout> layout = node.op->view({infer, node.types[0], input.layout});
    if (!layout) return std::nullopt;
    Operand view = input;
    view.shape = node.types[0].shape;
    view.layout = std::move(*layout);
    return view;
  }

  std::vector<Operand> lower_node(Scope& scope, int at, Steps& steps) {
    const Node& node = scope.graph.node(at);
    std::vector<Operand> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool host =
          std::count(node.op->host_inputs.begin(), node.op->host_inputs.end(), i) != 0;
      if (host && node.inputs[i].present()) fetch(scope, node.inputs[i], node, steps);
      if (!node.inputs[i].present())
        inputs.emplace_back();
      else if (host)
        inputs.push_back(known_or_none(scope, node.inputs[i]));
      else
        inputs.push_back(operand_of(scope, node.inputs[i], steps));
    }
    // A view needs its elements on the device; what that cannot hold is copied on the host.
    const bool held = traits_.on_host() || device_storage(node.types[0].dtype, traits_).exists;
    if (held && !inputs.empty() && inputs[0].value >= 0) {
      if (const auto view = as_view(node, inputs[0])) return {*view};
      if (traits_.on_host() && node.op->view && !inputs[0].contiguous())
        if (const auto view = as_view(node, copied_once(scope, inputs[0], steps))) return {*view};
    }

    std::vector<Operand> results;
    for (size_t r = 0; r < node.types.size(); ++r)
      results.push_back(whole(
          make_value(ValueKind::result, r ? text(node.name, '.', r) : node.name, node.types[r]),
          node.types[r]));
    const auto call = [&](const std::string& why) {
      return call_of(scope, at, inputs, results, why);
    };
    const auto put_channels_last = [&](size_t r) {
      const Dims& shape = node.types[r].shape;
      lowered_.values[size_t(results[r].value)].type.shape = channels_last_memory(shape);
      results[r].layout = channels_last_layout(shape);
      return results[r];
    };
    const bool native = traits_.on_host() && !has_body(node);
    const std::string reason = native ? "" : host_reason(node);
    if (native) {
      const bool follows =
          is_tile_op(node) &&
          gives_channels_last({.channels_last = kIfOperandsAre}, node.types[0].shape, inputs);
      if (follows) {
        put_channels_last(0);
        emit(tile_call(node, inputs, results[0]), at, steps);
        return results;
      }
      if (node.types[0].dtype == DType::f32 &&
          gives_channels_last(traits_.calls_of(node.op->name), node.types[0].shape, inputs))
        put_channels_last(0);
    }
    if (native || !reason.empty()) {
      emit(call(reason), at, steps);
      return results;
    }
    const LowerSite site{
        node,
        traits_,
        options_.choices,
        inputs,
        results,
        [&](const TensorType& type) {
          return make_value(ValueKind::temporary, node.name + ".temporary", type);
        },
        [&](const GraphPtr& body, const std::vector<Operand>& operands,
            const std::optional<Dim>& iteration) {
          return lower_body(*body, operands, iteration, at);
        },
        [&](const Operand& from, const Operand& to) { return copy_steps(from, to); },
        call,
        [&](const GraphPtr& body) {
          bodies_.push_back(instantiate(*body, inputs, std::nullopt,
                                        text("body", bodies_.size(), '.'), fresh_symbols_));
          note_rules(*bodies_.back(), running_);
          return bodies_.back();
        },
        put_channels_last};
    emit(node.op->lower(site), at, steps);
    return results;
  }

  // The node as a call: every operand is there, and a view only where the call can read it.
  Steps call_of(Scope& scope, int at, std::vector<Operand> inputs,
                const std::vector<Operand>& results, const std::string& reason) {
    const Node& node = scope.graph.node(at);
    Steps steps;
    const bool views = node.op->elementwise || traits_.calls_of(node.op->name).reads_views;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!node.inputs[i].present()) continue;
      inputs[i] = traits_.on_host() ? operand_of(scope, node.inputs[i], steps)
                                    : operand_for_host(scope, node.inputs[i], steps);
      if (traits_.on_host() && !views) inputs[i] = copied_once(scope, inputs[i], steps);
    }
    Call call{node.op->name, node.attrs, inputs, {}, reason};
    call.version = node.op->version;
    call.may_fail = !node.op->elementwise;
    for (const Operand& result : results) {
      call.results.push_back(result.value);
      if (!result.contiguous()) call.stored = results;
    }
    for (const size_t i : node.op->in_place)
      if (i < inputs.size() && inputs[i].value >= 0 && inputs[i].dtype == results[0].dtype &&
          inputs[i].shape == results[0].shape && inputs[i].contiguous() && results[0].contiguous())
        call.in_place.push_back({inputs[i].value, results[0].value});
    steps.add(std::move(call));
    return steps;
  }

  // What a device does not have yet and the host knows need not go there and back.
  Operand operand_for_host(Scope& scope, Value value, Steps& steps) {
    const Node& node = value.producer();
    const auto& host = node.host_values[size_t(value.result)];
    if (!host || known_or_none(scope, value).value >= 0) return operand_of(scope, value, steps);
    const ValueId written = host_value(value.type(), node.name);
    add(Write{written, {host->elements.begin(), host->elements.end()}}, value.node, steps);
    return whole(written, value.type());
  }

  // A view as a whole value, copied for its first reader.
  Operand copied_once(Scope& scope, const Operand& operand, Steps& steps) {
    if (operand.contiguous()) return operand;  // perhaps the first part of its value
    for (const auto& [view, copy] : scope.copies)
      if (view.value == operand.value && view.shape == operand.shape &&
          view.layout == operand.layout)
        return copy;
    const Operand copy = contiguous(operand, steps);
    scope.copies.emplace_back(operand, copy);
    return copy;
  }

  Operand known_or_none(Scope& scope, Value value) {
    const auto& known = scope.operands[size_t(value.node)];
    return size_t(value.result) < known.size() ? known[size_t(value.result)] : Operand{};
  }

  LoweredBody lower_body(const Graph& body, const std::vector<Operand>& inputs,
                         const std::optional<Dim>& iteration, int node) {
    const size_t index = bodies_.size();
    const int first_symbol = fresh_symbols_;
    const std::shared_ptr<Graph> graph =
        instantiate(body, inputs, iteration, text("body", index, '.'), fresh_symbols_);
    bodies_.push_back(graph);
    const int outer = body_of_;
    if (body_of_ < 0) body_of_ = node;
    LoweredBody lowered;
    lowered.outputs = lower(*graph, &inputs, lowered.steps);
    for (Operand& output : lowered.outputs) output = contiguous(output, lowered.steps);
    Bind bind{running_symbol(index), Dim(1), symbols_of_bodies(index, first_symbol), true};
    const bool checked = std::any_of(graph->nodes().begin(), graph->nodes().end(),
                                     [](const Node& each) { return !each.checks.empty(); });
    if (checked || !bind.forget.empty())
      lowered.steps.list.insert(lowered.steps.list.begin(), Step{std::move(bind), -1});
    body_of_ = outer;
    return lowered;
  }

  // The symbols that get their values while bodies run, of the bodies from `first` on.
  std::vector<std::string> symbols_of_bodies(size_t first, int first_symbol) const {
    std::vector<std::string> symbols;
    for (int s = first_symbol; s < fresh_symbols_; ++s) symbols.push_back(text('s', s));
    for (size_t i = first; i < bodies_.size(); ++i) {
      if (i > first) symbols.push_back(running_symbol(i));
      for (const Node& node : bodies_[i]->nodes())
        for (const std::optional<HostValue>& host : node.host_values)
          if (host && host->own_symbols)
            for (const Dim& element : host->elements)
              if (const auto symbol = element.symbol()) symbols.push_back(*symbol);
    }
    return symbols;
  }

  const DeviceTraits& traits_;
  const LowerOptions& options_;
  int fresh_symbols_;
  int body_of_ = -1;
  std::string running_;  // the symbol of the body that is being lowered
  std::vector<std::shared_ptr<const Graph>> bodies_;
  Lowered lowered_;
};

}  // namespace

Lowered lower_graph(const Graph& graph, const DeviceTraits& traits, const LowerOptions& options) {
  return Lowering(graph, traits, options).finish(graph);
}

}  // namespace rlx::detail
