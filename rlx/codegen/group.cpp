#include "rlx/codegen/group.h"

#include <algorithm>
#include <map>
#include <set>

#include "rlx/codegen/elementwise.h"
#include "rlx/codegen/loads.h"
#include "rlx/codegen/quads.h"
#include "rlx/codegen/render.h"
#include "rlx/codegen/scalar_formula.h"
#include "rlx/codegen/statements.h"

namespace rlx {
namespace {

// The dispatch that alone writes a value which no step reads; null where there is none such.
Dispatch* final_dispatch(Steps& steps, ValueId value) {
  Dispatch* found = nullptr;
  for (Step& step : steps.list) {
    if (const auto* copy = std::get_if<Copy>(&step.what)) {
      if (copy->source == value || copy->target == value) return nullptr;
      continue;
    }
    if (const auto* clear = std::get_if<Clear>(&step.what)) {
      if (clear->target == value) return nullptr;
      continue;
    }
    auto* dispatch = std::get_if<Dispatch>(&step.what);
    if (!dispatch) return nullptr;
    for (const Operand& operand : dispatch->operands) {
      if (operand.value != value) continue;
      const bool stores = operand.access == Access::write && !operand.atomic &&
                          operand.contiguous() && !dispatch->writes_words;
      if (found || !stores) return nullptr;
      found = dispatch;
    }
  }
  return found;
}

int64_t storage_bindings(const Dispatch& dispatch) {
  return static_cast<int64_t>(dispatch.operands.size()) + (dispatch.flags_errors ? 1 : 0);
}

// An op of the body lowered by itself.
struct Anchor {
  Steps steps;
  std::vector<Operand> results;
};

std::optional<Anchor> lower_anchor(const LowerSite& group, const Node& node,
                                   std::vector<Operand> inputs, std::vector<Operand> results) {
  Anchor anchor{{}, std::move(results)};
  bool refused = false;
  LowerSite site{node,
                 group.traits,
                 group.choices,
                 std::move(inputs),
                 anchor.results,
                 group.make_temporary,
                 {},
                 group.copy,
                 [&](const std::string&) -> Steps {
                   refused = true;
                   return {};
                 },
                 {}};
  anchor.steps = node.op->lower(site);
  if (refused) return std::nullopt;
  return anchor;
}

// The ops on single elements around a kernel, in order.
std::string described(const Graph& body, const std::string& kernel,
                      const std::vector<bool>& in_front) {
  std::string before, behind;
  for (size_t at = 0; at < body.nodes().size(); ++at) {
    const Node& node = body.nodes()[at];
    if (!scalar_formula(node)) continue;
    if (in_front[at])
      before += node.op->name + " + ";
    else
      behind += (behind.empty() && kernel.empty() ? "" : " + ") + node.op->name;
  }
  return before + kernel + behind;
}

// A result as its kernel stores it: element i of `shape` lies where `layout` says.
Operand as_stored(Operand result, const Dims& shape, const Layout& layout) {
  result.shape = shape;
  result.layout = layout;
  return result;
}

// The kernel stores nothing of what nobody reads.
void leave_out(Steps& steps, const Operand& result, const DeviceTraits& traits) {
  Dispatch* const dispatch = final_dispatch(steps, result.value);
  if (!dispatch) return;
  const auto written =
      std::find_if(dispatch->operands.begin(), dispatch->operands.end(),
                   [&](const Operand& operand) { return operand.value == result.value; });
  dispatch->prelude.push_back(text("fn store_", written->name, "(i: u32, v: ",
                                   device_storage(written->dtype, traits).compute, ") {}"));
  dispatch->operands.erase(written);
}

// The body without an anchor: a kernel made of it alone.
std::optional<Steps> lower_region(const LowerSite& site, const Graph& body, const Module& module,
                                  Statements& statements) {
  const size_t results = body.outputs().size();
  Formula formula;
  bool in_quads = false;  // words in another order are whole in quads alone
  for (size_t r = 0; r < results; ++r) {
    const Value value = body.outputs()[r].value;
    const auto stored = statements.stored(value);
    if (!stored || !(count(value.shape()) == count(site.out(results - 1).shape)))
      return std::nullopt;
    Operand result = as_stored(site.write(text("out", r), r), stored->shape, stored->layout);
    in_quads |= is_packed(result.dtype, site.traits) && !result.contiguous();
    if (r + 1 < results) {
      formula.more_results.push_back({std::move(result), stored->name});
      continue;
    }
    formula.expression = stored->name;
    formula.result = std::move(result);
  }
  formula.name = described(body, "", std::vector<bool>(body.nodes().size()));
  formula.operands = module.operands;
  formula.params = module.params;
  formula.includes = module.includes;
  formula.functions = module.functions;
  formula.statements = statements.lines;
  formula.is_region = true;
  if (static_cast<int64_t>(formula.operands.size() + results) > site.traits.max_storage_buffers)
    return std::nullopt;
  Dispatch dispatch = generate(formula, site.traits);
  if (in_quads && !always_in_quads(dispatch)) return std::nullopt;
  for (size_t r = 0; r < results; ++r) share_elements(dispatch, site.results[r].value);
  return dispatch;
}

// By node: is one of `nodes` computed from it? What only `stop` reads does not count.
std::vector<bool> made_of(const Graph& body, const std::vector<int>& nodes, int stop) {
  std::vector<bool> needed(body.nodes().size());
  for (const int at : nodes) needed[size_t(at)] = true;
  for (int at = static_cast<int>(needed.size()); at-- > 0;)
    for (const Value& input : body.node(at).inputs)
      if (needed[size_t(at)] && at != stop && input.present()) needed[size_t(input.node)] = true;
  return needed;
}

bool add_all(Statements& statements, const Graph& body, const std::vector<bool>& needed,
             int anchor) {
  for (int at = 0; at < static_cast<int>(needed.size()); ++at) {
    if (!needed[size_t(at)] || is_source(body.node(at))) continue;
    if (at == anchor)
      statements.set_anchor(at);
    else if (!statements.add(at))
      return false;
  }
  return true;
}

// An operand of the anchor that the body computes: a value of its own while the anchor is lowered.
struct Computed {
  ValueId value = -1;
  int node = -1;  // of the body
};

// Can all that an operand sees of its value be bound at once, as far as it is known?
bool fits_whole(const Operand& operand, const DeviceTraits& traits) {
  Dim end = operand.layout.offset + 1;
  for (size_t d = 0; d < operand.shape.size(); ++d)
    end = end + (operand.shape[d] - 1) * operand.layout.strides[d];
  return !end.is_number() ||
         bytes_of(operand.dtype, end, traits).number() <= traits.max_binding_bytes;
}

// The kernel loads element i of the operand by computing it.
bool write_load(const LowerSite& site, const Graph& body, const Computed& computed,
                Dispatch& dispatch, Module& module) {
  const auto place = std::find_if(dispatch.operands.begin(), dispatch.operands.end(),
                                  [&](const Operand& x) { return x.value == computed.value; });
  const Operand x = *place;
  dispatch.operands.erase(place);
  std::erase_if(dispatch.in_place,
                [&](const InPlace& pair) { return pair.from == computed.value; });
  const Dims& shape = body.node(computed.node).types[0].shape;
  const std::vector<bool> in_front(body.nodes().size(), true);
  Statements statements(site, body, module, count(shape), in_front, x.window);
  if (!add_all(statements, body, made_of(body, {computed.node}, -1), -1)) return false;
  const auto name = statements.name_of(body.value(computed.node), shape, false);
  if (!name) return false;
  // What is loaded anywhere keeps its place.
  for (const Operand& operand : module.operands)
    std::erase_if(dispatch.in_place,
                  [&](const InPlace& pair) { return pair.from == operand.value; });
  const auto bytes = [&](const Operand& operand) {
    return device_storage(operand.dtype, site.traits).bytes;
  };
  for (const Operand& operand : module.operands) {
    if (!operand.window && !fits_whole(operand, site.traits)) return false;
    if (operand.window && bytes(operand) > bytes(x)) return false;  // its parts may be too large
  }
  const std::string type = site.compute_type(x.dtype);
  const std::string lines =
      text(statements.loads(), statements.lines, "  return ", *name, ";\n}\n");
  if (x.contiguous()) {
    module.functions += text("fn load_", x.name, "(i: u32) -> ", type, " {\n", lines);
    return true;
  }
  for (Param& param : view_params(x)) module.params.push_back(std::move(param));
  module.functions += text(index_function(x), "fn computed_", x.name, "(i: u32) -> ", type, " {\n",
                           lines, "fn load_", x.name, "(i: u32) -> ", type, " { return computed_",
                           x.name, "(index_", x.name, "(i)); }\n");
  return true;
}

// The kernel stores the anchor's result, `y`, by computing the rest.
bool write_store(const LowerSite& site, const Graph& body, int anchor,
                 const std::vector<bool>& in_front, const Operand& y, Dispatch& dispatch,
                 Module& module) {
  std::set<ValueId> read_anywhere;  // by the anchor
  for (const Operand& operand : module.operands) read_anywhere.insert(operand.value);
  dispatch.operands.erase(std::find_if(dispatch.operands.begin(), dispatch.operands.end(),
                                       [&](const Operand& each) { return each.value == y.value; }));
  for (const Operand& operand : dispatch.operands) read_anywhere.insert(operand.value);
  dispatch.in_place.clear();
  const Dim elements = count(body.node(anchor).types[0].shape);
  Statements statements(site, body, module, elements, in_front, y.window);
  if (statements.is_behind_turn(anchor)) return false;
  std::vector<int> outputs;
  for (const GraphOutput& output : body.outputs()) outputs.push_back(output.value.node);
  if (!add_all(statements, body, made_of(body, outputs, anchor), anchor)) return false;
  std::vector<Operand> results;
  for (size_t r = 0; r < outputs.size(); ++r) {
    const Value value = body.outputs()[r].value;
    const auto stored_as = statements.stored(value);
    if (!stored_as || !(count(value.shape()) == elements) || is_packed(value.dtype(), site.traits))
      return false;
    Operand result = as_stored(site.write(text("out", r), r), stored_as->shape, stored_as->layout);
    if (result.contiguous()) result.window = y.window;
    statements.lines += text("  store_", result.name, "(i, ", stored_as->name, ");\n");
    results.push_back(std::move(result));
  }
  module.functions += text("fn store_", y.name, "(i: u32, v: ", site.compute_type(y.dtype), ") {\n",
                           statements.loads(), statements.lines, "}\n");
  dispatch.operands.insert(dispatch.operands.end(), module.operands.begin(), module.operands.end());
  module.operands.clear();
  dispatch.operands.insert(dispatch.operands.end(), results.begin(), results.end());
  for (const Operand& result : results) {
    share_elements(dispatch, result.value);
    std::erase_if(dispatch.in_place,
                  [&](const InPlace& pair) { return read_anywhere.count(pair.from) > 0; });
  }
  return true;
}

// False where the device does not bind as many buffers.
bool attach(Module& module, Dispatch& dispatch, const DeviceTraits& traits) {
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(dispatch.operands, module.operands);
  append(dispatch.params, module.params);
  append(dispatch.kernel.includes, module.includes);
  dispatch.quads.reset();  // its loads and stores are not by these functions
  if (!module.functions.empty()) module.functions.pop_back();  // render ends the line
  dispatch.prelude.push_back(module.functions);
  return storage_bindings(dispatch) <= traits.max_storage_buffers;
}

}  // namespace

AnchorTraits anchor_traits(const Node& node, const DeviceTraits& traits, const Choices& choices) {
  if (!node.op->lower || node.types.empty() || has_body(node)) return {};
  ValueId next = 0;
  std::vector<Operand> inputs, results;
  for (const Value& input : node.inputs)
    inputs.push_back(input.present() ? Operand(next++, input.type(), Access::read) : Operand());
  for (const TensorType& type : node.types) results.emplace_back(next++, type, Access::read);
  bool refused = false;
  const LowerSite site{node,
                       traits,
                       choices,
                       inputs,
                       results,
                       [&](const TensorType&) { return next++; },
                       {},
                       [](const Operand& from, const Operand& to) -> Steps {
                         return Copy{from.value, to.value};
                       },
                       [&](const std::string&) -> Steps {
                         refused = true;
                         return {};
                       },
                       {}};
  try {
    Steps steps = node.op->lower(site);
    if (refused) return {};
    AnchorTraits found;
    for (const Operand& input : inputs) {
      const auto load = input.value < 0 ? std::nullopt : only_load(steps, input.value);
      found.loads.push_back(load ? load->times : std::nullopt);
    }
    if (const Dispatch* dispatch = final_dispatch(steps, results[0].value)) {
      found.stores = true;
      found.bindings = storage_bindings(*dispatch);
    }
    return found;
  } catch (const Error&) {
    return {};  // it is said where the node itself is lowered
  }
}

namespace {

// What an operand of the anchor is a view of, and how it lies in that; none where that is no view.
std::optional<Operand> seen_through(const Graph& body, const std::vector<int>& views,
                                    Operand operand) {
  for (auto at = views.rbegin(); at != views.rend(); ++at) {
    const std::optional<Layout> layout = layout_of_part(body.node(*at), operand.layout);
    if (!layout) return std::nullopt;
    operand.shape = body.node(*at).types[0].shape;
    operand.layout = *layout;
  }
  return operand;
}

// The anchor's kernel, with its loads and its store taken over where the body computes them.
std::optional<Steps> lower_around(const LowerSite& site, const Graph& body, int at) {
  const Node& node = body.node(at);
  std::vector<int> body_inputs;  // by node: which operand of the group it is
  int next = 0;
  for (const Node& each : body.nodes()) body_inputs.push_back(is_input(each) ? next++ : -1);
  std::vector<Operand> operands;
  std::vector<Computed> computed;
  for (const Value& input : node.inputs) {
    operands.emplace_back();
    if (!input.present()) continue;
    Value from = input;
    std::vector<int> views;
    while (gives_view(from.producer())) {
      views.push_back(from.node);
      from = from.producer().inputs[0];
    }
    if (is_constant(from.producer()) && views.empty()) continue;  // the host's
    Operand operand;
    if (const int own = body_inputs[size_t(from.node)]; own >= 0) {
      operand = site.inputs[size_t(own)];
    } else {
      if (!is_pointwise(from.producer())) return std::nullopt;
      operand = Operand(site.make_temporary(from.type()), from.type(), Access::read);
      computed.push_back({operand.value, from.node});
    }
    const std::optional<Operand> seen = seen_through(body, views, std::move(operand));
    if (!seen) return std::nullopt;
    operands.back() = *seen;
  }
  std::vector<bool> in_front = made_of(body, {at}, -1);
  in_front[size_t(at)] = false;
  const bool takes_store = body.outputs().size() > 1 || body.outputs()[0].value.node != at;
  std::vector<Operand> results;
  for (const TensorType& type : node.types)
    if (takes_store || !results.empty())
      results.emplace_back(site.make_temporary(type), type, Access::read);
    else
      results.push_back(site.results[0]);
  std::optional<Anchor> anchor = lower_anchor(site, node, std::move(operands), results);
  if (!anchor) return std::nullopt;
  for (size_t r = 1; r < results.size(); ++r) leave_out(anchor->steps, results[r], site.traits);
  std::map<Dispatch*, Module> modules;
  for (const Computed& each : computed) {
    const auto load = only_load(anchor->steps, each.value);
    if (!load || !write_load(site, body, each, *load->dispatch, modules[load->dispatch]))
      return std::nullopt;
  }
  Dispatch* const store = takes_store ? final_dispatch(anchor->steps, results[0].value) : nullptr;
  if (takes_store) {
    if (!store) return std::nullopt;
    const Operand y =
        *std::find_if(store->operands.begin(), store->operands.end(),
                      [&](const Operand& each) { return each.value == results[0].value; });
    if (!write_store(site, body, at, in_front, y, *store, modules[store])) return std::nullopt;
  }
  for (auto& [dispatch, module] : modules) {
    if (!attach(module, *dispatch, site.traits)) return std::nullopt;
    dispatch->kernel.name = described(body, dispatch->kernel.name, in_front);
  }
  return std::move(anchor->steps);
}

}  // namespace

std::optional<Steps> lower_group(const LowerSite& site, const Graph& body) {
  int anchor = -1;
  for (int at = 0; at < static_cast<int>(body.nodes().size()); ++at) {
    const Node& node = body.node(at);
    if (is_source(node) || is_pointwise(node) || node.op->view) continue;
    if (anchor >= 0 || !node.op->lower || has_body(node)) return std::nullopt;
    anchor = at;
  }
  if (anchor >= 0) return lower_around(site, body, anchor);
  Module module;
  const std::vector<bool> all(body.nodes().size(), true), none(body.nodes().size());
  Statements statements(site, body, module, count(body.outputs()[0].value.shape()), none);
  if (!add_all(statements, body, all, -1)) return std::nullopt;
  return lower_region(site, body, module, statements);
}

}  // namespace rlx
