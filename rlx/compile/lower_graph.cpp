#include "rlx/compile/lower_graph.h"

#include <algorithm>
#include <set>

#include "rlx/codegen/channels_last.h"
#include "rlx/codegen/elementwise.h"
#include "rlx/codegen/host_group.h"
#include "rlx/codegen/scalar_formula.h"
#include "rlx/compile/bind_steps.h"
#include "rlx/compile/instantiate.h"
#include "rlx/ir/evaluate.h"
#include "rlx/lower/host_values.h"
#include "rlx/ops/words.h"

namespace rlx::detail {
namespace {

constexpr auto kIfOperandsAre = CallTraits::ChannelsLast::if_operands_are;

class Lowering {
 public:
  Lowering(const Graph& graph, const DeviceTraits& traits, const LowerOptions& options)
      : traits_(traits),
        options_(options),
        fresh_symbols_(graph.data()->fresh_symbols),
        emission_(lowered_, traits, options) {
    lowered_.bounds = graph.symbols();
  }

  // Lowers a graph's nodes. When it is a body, `inputs` stands for its inputs and its nodes are
  // reported as parts of the one that holds it: "loop/add".
  std::vector<Operand> lower(const Graph& graph, const std::vector<Operand>* inputs,
                             const std::string& holder, Steps& steps) {
    const bool is_body = inputs != nullptr;
    const int first_node = static_cast<int>(lowered_.nodes.size());
    for (const Node& node : graph.nodes())
      lowered_.nodes.push_back({node.op->name, holder + node.name});
    Scope scope{
        graph, host_only_nodes(graph, is_body), bindable_nodes(graph, is_body), first_node, {}, {},
        {}};
    const std::string around = running_;
    if (is_body) running_ = running_symbol(bodies_.size() - 1);
    note_rules(graph, running_);
    // The passes have left out what a graph does not need, but not what its bodies do not.
    const std::vector<bool> live = live_nodes(graph);
    if (!is_body) note_words(graph);
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
      if (!is_body && passes_words_on_[at]) {
        operands.push_back(operand_of(scope, node.inputs[0], steps));
        continue;
      }
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
      const ValueId next = emission_.contiguous(operand_of(scope, update.next, steps), steps).value;
      lowered_.updates.push_back({state, next});
    }
    return outputs;
  }

  Lowered finish(const Graph& graph) {
    Steps steps;
    const std::vector<Operand> outputs = lower(graph, nullptr, "", steps);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorType& type = graph.outputs()[i].value.type();
      lowered_.outputs.push_back(
          {graph.outputs()[i].name,
           before_updates(emission_.contiguous(outputs[i], steps).value, steps), type});
    }
    for (Lowered::Update& update : lowered_.updates)
      if (update.next != update.state) update.next = before_updates(update.next, steps);
    for (const Lowered::Update& update : lowered_.updates)
      steps.add(Copy{update.next, update.state});
    lowered_.steps = std::move(steps);
    add_bind_steps(graph, lowered_, emission_);
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
    const ValueId kept = emission_.make_value(ValueKind::temporary, state.name, state.type);
    steps.add(Copy{value, kept});
    return kept;
  }

  struct Scope {
    const Graph& graph;
    std::vector<bool> host_only, bindable;
    int first_node;                              // of Lowered::nodes
    std::vector<std::vector<Operand>> operands;  // by node and result
    std::set<std::pair<int, int>> fetched;
    std::vector<std::pair<Operand, Operand>> copies;  // of views, and where they are
  };

  // 64-bit integers in two words come and leave as the host has them: an input that is read as
  // words alone, and words that are outputs and nothing else, need no step.
  void note_words(const Graph& graph) {
    passes_words_on_.assign(graph.nodes().size(), false);
    is_in_words_.assign(graph.nodes().size(), false);
    if (traits_.on_host()) return;
    std::vector<bool> entering(graph.nodes().size(), false), read(entering);
    for (const Node& node : graph.nodes())
      for (const Value& input : node.inputs)
        if (input.present()) (is_words_entering(node) ? entering : read)[size_t(input.node)] = true;
    std::vector<bool> leaving(graph.nodes().size(), false);
    for (const GraphOutput& output : graph.outputs()) leaving[size_t(output.value.node)] = true;
    for (const StateUpdate& update : graph.updates()) read[size_t(update.next.node)] = true;
    for (size_t at = 0; at < graph.nodes().size(); ++at) {
      const Node& node = graph.nodes()[at];
      is_in_words_[at] =
          is_input(node) && entering[at] && !read[at] && !leaving[at] && !node.host_values[0];
      passes_words_on_[at] = (is_words_leaving(node) && leaving[at] && !read[at]) ||
                             (is_words_entering(node) && is_in_words_[size_t(node.inputs[0].node)]);
    }
  }

  // What must hold, and what symbols stand for, wherever the nodes run.
  void note_rules(const Graph& graph, const std::string& running) {
    for (const Node& node : graph.nodes()) {
      for (const DimCheck& check : node.checks)
        lowered_.checks.push_back({check, node.name, running});
      lowered_.definitions.insert(node.definitions.begin(), node.definitions.end());
    }
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
      const bool in_words = is_input(node) && is_in_words_[at];
      const TensorType type = in_words ? words_type(node.types[0]) : node.types[0];
      source.value = emission_.make_value(kind, node.name, type);
      if (const Tensor* tensor = is_state(node) ? initial_of(node) : tensor_of(node))
        lowered_.values.back().source = *tensor;
      scope.operands[at].push_back(Emission::whole(source.value, type));
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

  // None where a run decides some of it.
  static std::optional<Tensor> numbers_of(const HostValue& host, const TensorType& type) {
    const auto is_number = [](const Dim& dim) { return dim.is_number(); };
    if (!is_concrete(type.shape) ||
        !std::all_of(host.elements.begin(), host.elements.end(), is_number))
      return std::nullopt;
    Tensor tensor(type.dtype, concrete(type.shape));
    for (size_t i = 0; i < host.elements.size(); ++i)
      tensor.set_integer(static_cast<int64_t>(i), host.elements[i].number());
    return tensor;
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
    known.resize(std::max(known.size(), size_t(value.result) + 1), Operand{});
    if (const std::optional<Tensor> tensor = numbers_of(*host, value.type())) {
      const ValueId constant = emission_.make_value(ValueKind::constant, node.name, value.type());
      lowered_.values.back().source = *tensor;
      return known[size_t(value.result)] = Emission::whole(constant, value.type());
    }
    const Operand to = Emission::whole(
        emission_.make_value(ValueKind::result, node.name, value.type()), value.type());
    if (traits_.on_host())
      Emission::add(Write{to.value, {host->elements.begin(), host->elements.end()}},
                    scope.first_node + value.node, steps);
    else
      emission_.emit(Steps(write_host_value(*host, to, traits_)), scope.first_node + value.node,
                     steps);
    return known[size_t(value.result)] = to;
  }

  // Reads back a host operand that only the device can tell.
  void fetch(Scope& scope, Value value, const Node& reader, Steps& steps) {
    if (scope.bindable[size_t(value.node)]) return;
    const auto& host = value.producer().host_values[size_t(value.result)];
    if (!host || !host->own_symbols || !scope.fetched.emplace(value.node, value.result).second)
      return;
    const Operand operand = emission_.contiguous(operand_of(scope, value, steps), steps);
    Fetch step{operand.value, value.dtype(), host->elements,
               text(reader.op->name, " needs the values of '", value.producer().name, "'")};
    Emission::add(std::move(step), scope.first_node + value.node, steps);
  }

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
      results.push_back(Emission::whole(
          emission_.make_value(ValueKind::result, r ? text(node.name, '.', r) : node.name,
                               node.types[r]),
          node.types[r]));
    const auto call = [&](const std::string& why) -> Steps {
      // Integers that follow from shapes are written by the run, which knows the shapes.
      const std::optional<HostValue>& host = node.host_values[0];
      if (!traits_.on_host() && results.size() == 1 && host && !host->own_symbols)
        return write_host_value(*host, results[0], traits_);
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
          is_tile_op(node, traits_) && flows_channels_last(node.types[0].dtype) &&
          gives_channels_last({.channels_last = kIfOperandsAre}, node.types[0].shape, inputs);
      // Tiles convert what is narrower than f32 in registers.
      const bool narrow = is_tile_op(node, traits_) && node.types[0].dtype != DType::f32 &&
                          is_tile_float(node.types[0].dtype);
      if (follows || narrow) {
        if (follows) put_channels_last(0);
        emission_.emit(tile_call(node, inputs, results[0]), scope.first_node + at, steps);
        return results;
      }
      if (flows_channels_last(node.types[0].dtype) &&
          gives_channels_last(traits_.calls_of(node.op->name), node.types[0].shape, inputs))
        put_channels_last(0);
    }
    if (native || !reason.empty()) {
      emission_.emit(chosen(call(reason), node.name), scope.first_node + at, steps);
      return results;
    }
    const LowerSite site{
        node,
        traits_,
        options_.choices,
        inputs,
        results,
        [&](const TensorType& type) {
          return emission_.make_value(ValueKind::temporary, node.name + ".temporary", type);
        },
        [&](const GraphPtr& body, const std::vector<Operand>& operands,
            const std::optional<Dim>& iteration) {
          return lower_body(*body, operands, iteration, scope.first_node + at);
        },
        [&](const Operand& from, const Operand& to) { return emission_.copy_steps(from, to); },
        call,
        [&](const GraphPtr& body) {
          bodies_.push_back(instantiate(*body, inputs, std::nullopt,
                                        text("body", bodies_.size(), '.'), fresh_symbols_));
          note_rules(*bodies_.back(), running_);
          return bodies_.back();
        },
        put_channels_last};
    emission_.emit(chosen(node.op->lower(site), node.name), scope.first_node + at, steps);
    return results;
  }

  // What was chosen for the kernels of an engine becomes attributes of their calls: call.OP.NAME,
  // and for one node call.OP.NAME@NODE.
  Steps chosen(Steps steps, const std::string& node) const {
    for (Step& step : steps.list)
      if (auto* call = std::get_if<Call>(&step.what)) {
        const std::string prefix = text("call.", call->op, '.');
        const auto& values = options_.choices.values;
        for (const bool of_one : {false, true})
          for (auto it = values.lower_bound(prefix);
               it != values.end() && it->first.compare(0, prefix.size(), prefix) == 0; ++it) {
            const size_t name = it->first.find('@', prefix.size());
            if ((name != std::string::npos) != of_one ||
                (of_one && it->first.compare(name + 1, std::string::npos, node) != 0))
              continue;
            call->attrs.set(it->first.substr(prefix.size(), name - prefix.size()), it->second);
          }
      }
    return steps;
  }

  // Kernels that go on with a tile compute no f64: that is left to the reference, which reads
  // tensors row after row.
  bool reads_views(const Node& node) const {
    const CallTraits traits = traits_.calls_of(node.op->name);
    const auto is_double = [](const Value& input) {
      return input.present() && input.dtype() == DType::f64;
    };
    return traits.reads_views &&
           !(traits.finishes && std::any_of(node.inputs.begin(), node.inputs.end(), is_double));
  }

  // The node as a call: every operand is there, and a view only where the call can read it.
  Steps call_of(Scope& scope, int at, std::vector<Operand> inputs,
                const std::vector<Operand>& results, const std::string& reason) {
    const Node& node = scope.graph.node(at);
    Steps steps;
    const bool views = node.op->elementwise || reads_views(node);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!node.inputs[i].present()) continue;
      inputs[i] = traits_.on_host() ? operand_of(scope, node.inputs[i], steps)
                                    : operand_for_host(scope, node.inputs[i], steps);
      if (traits_.on_host() && !views) inputs[i] = copied_once(scope, inputs[i], steps);
    }
    Call call{node.op->name, node.attrs, inputs, {}, reason};
    call.version = node.op->version;
    call.may_fail = !node.op->elementwise && !node.op->never_fails;
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

  // An operand of a call on the host. Integers that the host knows are written for it there, not on
  // the device and read back.
  Operand operand_for_host(Scope& scope, Value value, Steps& steps) {
    const Node& node = value.producer();
    const auto& host = node.host_values[size_t(value.result)];
    if (!host || known_or_none(scope, value).value >= 0) return operand_of(scope, value, steps);
    const ValueId written = emission_.make_host_value(value.type(), node.name);
    Emission::add(Write{written, {host->elements.begin(), host->elements.end()}},
                  scope.first_node + value.node, steps);
    return Emission::whole(written, value.type());
  }

  // A view as a whole value, copied for its first reader.
  Operand copied_once(Scope& scope, const Operand& operand, Steps& steps) {
    if (operand.contiguous()) return operand;  // perhaps the first part of its value
    for (const auto& [view, copy] : scope.copies)
      if (view.value == operand.value && view.shape == operand.shape &&
          view.layout == operand.layout)
        return copy;
    const Operand copy = emission_.contiguous(operand, steps);
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
    LoweredBody lowered;
    lowered.outputs =
        lower(*graph, &inputs, lowered_.nodes[size_t(node)].name + "/", lowered.steps);
    for (Operand& output : lowered.outputs) output = emission_.contiguous(output, lowered.steps);
    Bind bind{running_symbol(index), Dim(1), symbols_of_bodies(index, first_symbol), true};
    const bool checked = std::any_of(graph->nodes().begin(), graph->nodes().end(),
                                     [](const Node& each) { return !each.checks.empty(); });
    if (checked || !bind.forget.empty()) {
      lowered.steps.list.insert(lowered.steps.list.begin(), Step{std::move(bind), -1});
      binds_.insert(index);
    }
    return lowered;
  }

  // The symbols that get their values while bodies run, of the bodies from `first` on.
  std::vector<std::string> symbols_of_bodies(size_t first, int first_symbol) const {
    std::vector<std::string> symbols;
    for (int s = first_symbol; s < fresh_symbols_; ++s) symbols.push_back(text('s', s));
    for (size_t i = first; i < bodies_.size(); ++i) {
      if (binds_.count(i)) symbols.push_back(running_symbol(i));
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
  std::string running_;                              // the symbol of the body that is being lowered
  std::vector<bool> passes_words_on_, is_in_words_;  // nodes of the graph, see note_words
  std::vector<std::shared_ptr<const Graph>> bodies_;
  std::set<size_t> binds_;  // the bodies that begin by telling that they run
  Lowered lowered_;
  Emission emission_;
};

}  // namespace

Lowered lower_graph(const Graph& graph, const DeviceTraits& traits, const LowerOptions& options) {
  return Lowering(graph, traits, options).finish(graph);
}

}  // namespace rlx::detail
