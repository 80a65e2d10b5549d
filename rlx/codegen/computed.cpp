#include "rlx/codegen/computed.h"

#include <algorithm>

#include "rlx/codegen/element_function.h"
#include "rlx/codegen/loads.h"
#include "rlx/codegen/pointwise.h"
#include "rlx/codegen/render.h"

namespace rlx {
namespace {

// What an operand is a view of, and how it lies in that; none where that is no view.
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

// Can all that an operand sees of its value be bound at once, as far as it is known?
bool fits_whole(const Operand& operand, const DeviceTraits& traits) {
  Dim end = operand.layout.offset + 1;
  for (size_t d = 0; d < operand.shape.size(); ++d)
    end = end + (operand.shape[d] - 1) * operand.layout.strides[d];
  return !end.is_number() ||
         bytes_of(operand.dtype, end, traits).number() <= traits.max_binding_bytes;
}

bool is_kernel(const Node& node) {
  return !is_source(node) && !is_pointwise(node) && !node.op->view;
}

// Makes an operand that is read anywhere one of the module's, or another name of one.
void add_operand(const LowerSite& site, const Operand& operand, Module& module) {
  module.anywhere.insert(operand.value);
  for (const Operand& known : module.operands) {
    const bool same = known.value == operand.value && known.shape == operand.shape &&
                      known.layout == operand.layout && !known.window;
    if (!same) continue;
    module.functions +=
        text("fn load_", operand.name, "(i: u32) -> ", site.compute_type(operand.dtype),
             " { return load_", known.name, "(i); }\n");
    return;
  }
  module.operands.push_back(operand);
}

}  // namespace

std::optional<BodyOperands> operands_in_body(const LowerSite& site, const Graph& body,
                                             const Node& node) {
  std::vector<int> body_inputs;  // by node: which operand of the group it is
  int next = 0;
  for (const Node& each : body.nodes()) body_inputs.push_back(is_input(each) ? next++ : -1);
  BodyOperands found;
  for (const Value& input : node.inputs) {
    found.operands.emplace_back();
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
      if (is_source(from.producer())) return std::nullopt;
      operand = Operand(site.make_temporary(from.type()), from.type(), Access::read);
      found.computed.push_back({operand.value, from.node});
    }
    const std::optional<Operand> seen = seen_through(body, views, std::move(operand));
    if (!seen) return std::nullopt;
    found.operands.back() = *seen;
  }
  return found;
}

std::optional<Steps> lower_in_body(const LowerSite& site, const Node& node,
                                   std::vector<Operand> inputs, std::vector<Operand> results) {
  bool refused = false;
  const LowerSite own{node,
                      site.traits,
                      site.choices,
                      std::move(inputs),
                      std::move(results),
                      site.make_temporary,
                      {},
                      site.copy,
                      [&](const std::string&) -> Steps {
                        refused = true;
                        return {};
                      },
                      {}};
  Steps steps = node.op->lower(own);
  if (refused) return std::nullopt;
  return steps;
}

std::optional<Steps> lower_alone(const Node& node, const DeviceTraits& traits,
                                 const Choices& choices) {
  if (!node.op->lower || node.types.empty() || has_body(node)) return std::nullopt;
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
    return refused ? std::nullopt : std::optional(std::move(steps));
  } catch (const Error&) {
    return std::nullopt;  // it is said where the node itself is lowered
  }
}

bool is_map(const Node& node, const DeviceTraits& traits, const Choices& choices) {
  if (traits.on_host() || !is_kernel(node) || node.types.size() != 1) return false;
  std::optional<Steps> steps = lower_alone(node, traits, choices);
  if (!steps || !element_function(*steps, "map")) return false;
  const auto load = only_load(*steps, 0);
  return load && load->times;
}

std::vector<bool> made_of(const Graph& body, const std::vector<int>& nodes,
                          const std::vector<bool>& stops) {
  std::vector<bool> needed(body.nodes().size());
  for (const int at : nodes) needed[size_t(at)] = true;
  for (int at = static_cast<int>(needed.size()); at-- > 0;)
    for (const Value& input : body.node(at).inputs)
      if (needed[size_t(at)] && !stops[size_t(at)] && input.present())
        needed[size_t(input.node)] = true;
  return needed;
}

std::vector<bool> kernels_of(const Graph& body) {
  std::vector<bool> kernels;
  for (const Node& node : body.nodes()) kernels.push_back(is_kernel(node));
  return kernels;
}

bool add_all(Statements& statements, const Graph& body, const std::vector<bool>& needed, int anchor,
             const std::optional<Operand>& staged) {
  for (int at = 0; at < static_cast<int>(needed.size()); ++at) {
    if (!needed[size_t(at)] || is_source(body.node(at))) continue;
    if (at == anchor)
      staged ? statements.set_staged(at, *staged) : statements.set_anchor(at);
    else if (!statements.add(at))
      return false;
  }
  return true;
}

bool write_load(const LowerSite& site, const Graph& body, const Computed& computed,
                const Operand& x, Module& module) {
  const Dims& shape = body.node(computed.node).types[0].shape;
  const std::vector<bool> in_front(body.nodes().size(), true);
  Statements statements(site, body, module, count(shape), in_front, x.window);
  if (!add_all(statements, body, made_of(body, {computed.node}, kernels_of(body)), -1))
    return false;
  const auto name = statements.name_of(body.value(computed.node), shape, false);
  if (!name) return false;
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
  // What is loaded anywhere keeps its place.
  for (const Operand& operand : module.operands) module.anywhere.insert(operand.value);
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

std::optional<std::string> write_map(const LowerSite& site, const Graph& body, int at,
                                     Module& module) {
  const Node& node = body.node(at);
  if (!is_kernel(node) || node.types.size() != 1 || !node.op->lower || has_body(node))
    return std::nullopt;
  std::string name = text(node.op->name, '_', at);
  if (!module.write(name)) return name;
  std::optional<BodyOperands> found = operands_in_body(site, body, node);
  if (!found) return std::nullopt;
  const Operand result(site.make_temporary(node.types[0]), node.types[0], Access::read);
  const auto steps = lower_in_body(site, node, std::move(found->operands), {result});
  if (!steps) return std::nullopt;
  std::optional<ElementFunction> function = element_function(*steps, name);
  if (!function) return std::nullopt;
  for (const Operand& operand : function->operands) {
    const auto computed =
        std::find_if(found->computed.begin(), found->computed.end(),
                     [&](const Computed& each) { return each.value == operand.value; });
    if (computed != found->computed.end()) {
      if (!write_load(site, body, *computed, operand, module)) return std::nullopt;
    } else {
      if (!fits_whole(operand, site.traits)) return std::nullopt;
      add_operand(site, operand, module);
    }
  }
  for (const auto& [common, lines] : function->common)
    if (module.write(common)) module.functions += lines;
  module.functions += function->module.functions;
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(module.params, function->module.params);
  append(module.constants, function->module.constants);
  module.flags_errors |= function->module.flags_errors;
  return name;
}

}  // namespace rlx
