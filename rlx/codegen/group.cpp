#include "rlx/codegen/group.h"

#include <algorithm>
#include <map>
#include <set>

#include "rlx/codegen/computed.h"
#include "rlx/codegen/elementwise.h"
#include "rlx/codegen/loads.h"
#include "rlx/codegen/quads.h"
#include "rlx/codegen/scalar_formula.h"

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

// The ops on single elements around a kernel, and maps, in order.
struct Around {
  std::string before, behind;
};
Around around(const Graph& body, int anchor, const std::vector<bool>& in_front) {
  const std::vector<bool> kernels = kernels_of(body);
  Around found;
  for (size_t at = 0; at < body.nodes().size(); ++at) {
    const Node& node = body.nodes()[at];
    if (int(at) == anchor || !(kernels[at] || scalar_formula(node))) continue;
    if (in_front[at])
      found.before += node.op->name + " + ";
    else
      found.behind += " + " + node.op->name;
  }
  return found;
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

// What another kernel has stored for a region to go on with.
struct Staged {
  int node;
  Operand stored;
};

// The body without an anchor, or what is behind it: a kernel made of that alone.
std::optional<Steps> lower_region(const LowerSite& site, const Graph& body,
                                  const std::optional<Staged>& staged = {}) {
  const int anchor = staged ? staged->node : -1;
  const std::vector<bool> kernels = kernels_of(body);
  std::vector<int> apart, outputs;  // whose operands are at other elements
  for (size_t at = 0; at < kernels.size(); ++at)
    if (kernels[at]) apart.push_back(static_cast<int>(at));
  for (const GraphOutput& output : body.outputs()) outputs.push_back(output.value.node);
  std::vector<bool> in_front = made_of(body, apart, std::vector<bool>(kernels.size()));
  for (const int at : apart) in_front[size_t(at)] = false;
  Module module;
  const Dim elements = count(body.outputs()[0].value.shape());
  Statements statements(site, body, module, elements, in_front);
  const std::vector<bool> needed = made_of(body, outputs, kernels);
  if (anchor >= 0 && statements.is_behind_turn(anchor)) return std::nullopt;
  if (!add_all(statements, body, needed, anchor,
               staged ? std::optional(staged->stored) : std::nullopt))
    return std::nullopt;
  const size_t results = outputs.size();
  Formula formula;
  bool in_quads = false;  // words in another order are whole in quads alone
  for (size_t r = 0; r < results; ++r) {
    const Value value = body.outputs()[r].value;
    const auto stored = statements.stored(value);
    if (!stored || !(count(value.shape()) == elements)) return std::nullopt;
    Operand result = as_stored(site.write(text("out", r), r), stored->shape, stored->layout);
    in_quads |= is_packed(result.dtype, site.traits) && !result.contiguous();
    if (r + 1 < results) {
      formula.more_results.push_back({std::move(result), stored->name});
      continue;
    }
    formula.expression = stored->name;
    formula.result = std::move(result);
  }
  const std::string ops =
      around(body, anchor, staged ? in_front : std::vector<bool>(kernels.size())).behind;
  formula.name = ops.empty() ? "store" : ops.substr(3);
  std::vector<Operand> read_anywhere;
  const std::vector<std::string>& loaded = statements.loaded_operands();
  for (const Operand& operand : module.operands)
    (std::find(loaded.begin(), loaded.end(), operand.name) == loaded.end() ? read_anywhere
                                                                           : formula.operands)
        .push_back(operand);
  formula.params = module.params;
  formula.includes = module.includes;
  formula.functions = module.functions;
  formula.statements = statements.lines;
  formula.is_region = true;
  Dispatch dispatch = generate(formula, site.traits);
  if (apart.size() > (staged ? 1 : 0)) {  // maps
    dispatch.quads.reset();
    dispatch.operands.insert(dispatch.operands.begin(), read_anywhere.begin(), read_anywhere.end());
    dispatch.constants.insert(dispatch.constants.end(), module.constants.begin(),
                              module.constants.end());
    dispatch.flags_errors = module.flags_errors;
  }
  if (storage_bindings(dispatch) > site.traits.max_storage_buffers) return std::nullopt;
  if (in_quads && !always_in_quads(dispatch)) return std::nullopt;
  for (size_t r = 0; r < results; ++r) share_elements(dispatch, site.results[r].value);
  std::erase_if(dispatch.in_place,
                [&](const InPlace& pair) { return module.anywhere.count(pair.from) > 0; });
  return dispatch;
}

// An operand that the kernel is to compute is none of the dispatch any more.
Operand taken_out(Dispatch& dispatch, ValueId value) {
  const auto place = std::find_if(dispatch.operands.begin(), dispatch.operands.end(),
                                  [&](const Operand& x) { return x.value == value; });
  Operand x = *place;
  dispatch.operands.erase(place);
  std::erase_if(dispatch.in_place, [&](const InPlace& pair) { return pair.from == value; });
  return x;
}

// The kernel stores the anchor's result, `y`, by computing the rest.
bool write_store(const LowerSite& site, const Graph& body, int anchor,
                 const std::vector<bool>& in_front, const Operand& y, Dispatch& dispatch,
                 Module& module) {
  std::set<ValueId> read_anywhere;  // by the anchor
  dispatch.operands.erase(std::find_if(dispatch.operands.begin(), dispatch.operands.end(),
                                       [&](const Operand& each) { return each.value == y.value; }));
  for (const Operand& operand : dispatch.operands) read_anywhere.insert(operand.value);
  dispatch.in_place.clear();
  const Dim elements = count(body.node(anchor).types[0].shape);
  Statements statements(site, body, module, elements, in_front, y.window);
  if (statements.is_behind_turn(anchor)) return false;
  std::vector<int> outputs;
  for (const GraphOutput& output : body.outputs()) outputs.push_back(output.value.node);
  if (!add_all(statements, body, made_of(body, outputs, kernels_of(body)), anchor)) return false;
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
    std::erase_if(dispatch.in_place, [&](const InPlace& pair) {
      return read_anywhere.count(pair.from) > 0 || module.anywhere.count(pair.from) > 0;
    });
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
  append(dispatch.constants, module.constants);
  dispatch.flags_errors |= module.flags_errors;
  append(dispatch.kernel.includes, module.includes);
  dispatch.quads.reset();  // its loads and stores are not by these functions
  if (!module.functions.empty()) module.functions.pop_back();  // render ends the line
  dispatch.prelude.push_back(module.functions);
  return storage_bindings(dispatch) <= traits.max_storage_buffers;
}

}  // namespace

AnchorTraits anchor_traits(const Node& node, const DeviceTraits& traits, const Choices& choices) {
  std::optional<Steps> steps = lower_alone(node, traits, choices);
  if (!steps) return {};
  AnchorTraits found;
  ValueId value = 0;  // as lower_alone counts them
  for (const Value& input : node.inputs) {
    const auto load = input.present() ? only_load(*steps, value++) : std::nullopt;
    found.loads.push_back(load ? load->times : std::nullopt);
  }
  if (const Dispatch* dispatch = final_dispatch(*steps, value)) {
    found.stores = true;
    found.bindings = storage_bindings(*dispatch);
  }
  return found;
}

namespace {

// The anchor's kernel, with its loads and its store taken over where the body computes them.
std::optional<Steps> lower_around(const LowerSite& site, const Graph& body, int at) {
  const Node& node = body.node(at);
  std::optional<BodyOperands> operands = operands_in_body(site, body, node);
  if (!operands) return std::nullopt;
  std::vector<bool> in_front = made_of(body, {at}, std::vector<bool>(body.nodes().size()));
  in_front[size_t(at)] = false;
  const bool takes_store = body.outputs().size() > 1 || body.outputs()[0].value.node != at;
  // Its kernel stores element by element what a region then makes whole words of.
  const bool stages =
      takes_store && is_packed(node.types[0].dtype, site.traits) &&
      std::any_of(body.outputs().begin(), body.outputs().end(), [&](const GraphOutput& output) {
        return is_packed(output.value.dtype(), site.traits);
      });
  std::vector<Operand> results;
  for (TensorType type : node.types) {
    if (!takes_store && results.empty()) {
      results.push_back(site.results[0]);
      continue;
    }
    if (stages && results.empty()) type.dtype = unpacked(type.dtype);
    results.emplace_back(site.make_temporary(type), type, Access::read);
  }
  std::optional<Steps> steps = lower_in_body(site, node, std::move(operands->operands), results);
  if (!steps) return std::nullopt;
  for (size_t r = 1; r < results.size(); ++r) leave_out(*steps, results[r], site.traits);
  std::map<Dispatch*, Module> modules;
  for (const Computed& each : operands->computed) {
    const auto load = only_load(*steps, each.value);
    if (!load) return std::nullopt;
    Dispatch& dispatch = *load->dispatch;
    Module& module = modules[&dispatch];
    if (!write_load(site, body, each, taken_out(dispatch, each.value), module)) return std::nullopt;
    std::erase_if(dispatch.in_place,
                  [&](const InPlace& pair) { return module.anywhere.count(pair.from) > 0; });
  }
  Dispatch* const store =
      takes_store && !stages ? final_dispatch(*steps, results[0].value) : nullptr;
  if (takes_store && !stages) {
    if (!store) return std::nullopt;
    const Operand y =
        *std::find_if(store->operands.begin(), store->operands.end(),
                      [&](const Operand& each) { return each.value == results[0].value; });
    if (!write_store(site, body, at, in_front, y, *store, modules[store])) return std::nullopt;
  }
  const Around ops = around(body, at, in_front);
  for (auto& [dispatch, module] : modules) {
    if (!attach(module, *dispatch, site.traits)) return std::nullopt;
    dispatch->kernel.name = ops.before + dispatch->kernel.name + (stages ? "" : ops.behind);
  }
  if (stages) {
    std::optional<Steps> rest = lower_region(site, body, Staged{at, results[0]});
    if (!rest) return std::nullopt;
    steps->append(std::move(*rest));
  }
  return steps;
}

}  // namespace

std::optional<Steps> lower_group(const LowerSite& site, const Graph& body) {
  const std::vector<bool> kernels = kernels_of(body);
  std::vector<int> all, others;  // that are no maps
  for (size_t at = 0; at < kernels.size(); ++at)
    if (kernels[at]) all.push_back(static_cast<int>(at));
  for (const int at : all) {
    const Node& node = body.node(at);
    if (!node.op->lower || has_body(node)) return std::nullopt;
    if (all.size() == 1 || !is_map(node, site.traits, site.choices)) others.push_back(at);
  }
  if (others.size() > 1) return std::nullopt;
  if (!others.empty())
    if (auto steps = lower_around(site, body, others[0])) return steps;
  const bool only_maps = std::all_of(all.begin(), all.end(), [&](int at) {
    return is_map(body.node(at), site.traits, site.choices);
  });
  return only_maps ? lower_region(site, body) : std::nullopt;
}

}  // namespace rlx
