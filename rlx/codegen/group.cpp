#include "rlx/codegen/group.h"

#include <algorithm>
#include <map>

#include "rlx/codegen/elementwise.h"
#include "rlx/codegen/render.h"
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

// An op of the body lowered by itself, its results temporaries of the group.
struct Anchor {
  Steps steps;
  std::vector<Operand> results;
  Dispatch* store = nullptr;  // of the first result
};

std::optional<Anchor> lower_anchor(const LowerSite& group, const Node& node,
                                   std::vector<Operand> inputs) {
  Anchor anchor;
  for (const TensorType& type : node.types)
    anchor.results.emplace_back(group.make_temporary(type), type, Access::read);
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
  anchor.store = final_dispatch(anchor.steps, anchor.results[0].value);
  if (!anchor.store) return std::nullopt;
  return anchor;
}

// Writes the pointwise part of a body as statements about element i. Where the body has a
// transpose, i counts as before it: what is computed behind it is the element at its place there.
class Statements {
 public:
  Statements(const LowerSite& site, const Graph& body)
      : site_(site), body_(body), elements_(count(body.outputs()[0].value.shape())) {
    names_.resize(body.nodes().size());
    size_t next = 0;
    for (size_t at = 0; at < body.nodes().size(); ++at) {
      inputs_.push_back(-1);
      if (is_input(body.nodes()[at])) inputs_.back() = static_cast<int>(next++);
    }
    find_turn();
  }

  bool is_behind_turn(int at) const {
    return turn_ >= 0 && !before_[size_t(at)] && !is_source(body_.node(at));
  }

  // The anchor's result, which its kernel has as `v`.
  void set_anchor(int at) {
    names_[size_t(at)] = text('v', at);
    lines += text("  let v", at, " = ", rounded("v", body_.node(at).types[0].dtype), ";\n");
  }

  // False where a node cannot be written so.
  bool add(int at) {
    const Node& node = body_.node(at);
    if (!(count(node.types[0].shape) == elements_)) return false;  // there is no such element i
    const bool turns = at == turn_;
    if (!turns && permuted_strides(node)) return false;
    if (turns || keeps_order(node)) {
      const Value x = node.inputs[0];
      names_[size_t(at)] = names_[size_t(x.node)];
      if (!names_[size_t(at)].empty()) return true;
      reshaped_[at] = origin_of(x);
      return !turns;
    }
    const std::optional<ScalarFormula> formula = scalar_formula(node);
    if (!formula) return false;
    const std::string function = function_of(node, at, *formula);
    std::string arguments;
    for (const Value& input : node.inputs) {
      const std::optional<std::string> argument =
          name_of(input, node.types[0].shape, is_behind_turn(at));
      if (!argument) return false;
      arguments += (arguments.empty() ? "" : ", ") + *argument;
    }
    names_[size_t(at)] = text('v', at);
    lines += text("  let v", at, " = ",
                  rounded(text(function, '(', arguments, ')'), node.types[0].dtype), ";\n");
    return true;
  }

  // What is stored of an output, and where element i goes in it.
  struct Map {
    std::string name;
    Dims shape;
    Layout layout;
  };
  std::optional<Map> stored(const Value& value) {
    const bool behind = is_behind_turn(value.node);
    const std::optional<std::string> name = name_of(value, value.shape(), behind);
    if (!name) return std::nullopt;
    if (behind) return Map{*name, order_, {0, strides_}};
    return Map{*name, value.shape(), Layout::row_major(value.shape())};
  }

  // The variable of a value for an element of a result of `shape`.
  std::optional<std::string> name_of(const Value& value, const Dims& shape, bool behind) {
    const Node& node = value.producer();
    if (const std::string& name = names_[size_t(value.node)]; !name.empty()) {
      const bool in_order = is_source(node) || is_behind_turn(value.node) == behind;
      return in_order ? std::optional(name) : std::nullopt;
    }
    if (is_constant(node)) return constant(value.node);
    return loaded(value, shape, behind);
  }

  std::vector<Operand> operands;
  std::vector<Param> params;
  std::vector<KernelText> includes;
  std::string functions, lines;

 private:
  void find_turn() {
    before_.resize(body_.nodes().size());
    for (size_t at = 0; at < body_.nodes().size() && turn_ < 0; ++at) {
      const Node& node = body_.nodes()[at];
      const auto strides = permuted_strides(node);
      if (!strides || is_source(node.inputs[0].producer())) continue;
      turn_ = static_cast<int>(at);
      order_ = node.inputs[0].shape();
      strides_ = *strides;
      before_[size_t(node.inputs[0].node)] = true;
    }
    for (int at = turn_; at-- > 0;)
      for (const Value& input : body_.node(at).inputs)
        if (before_[size_t(at)] && input.present()) before_[size_t(input.node)] = true;
  }

  // The operand of what is behind the transpose, element by element as they are before it. False
  // where a reshape in between has left no axes to find.
  bool turn_back(Operand& operand) const {
    Layout layout{operand.layout.offset, strides_};
    if (!operand.contiguous()) {
      const Dims whole = strides_of(operand.shape);
      for (size_t d = 0; d < order_.size(); ++d) {
        layout.strides[d] = 0;
        if (order_[d].is(1)) continue;
        size_t axis = 0;
        while (axis < whole.size() &&
               !(whole[axis] == strides_[d] && operand.shape[axis] == order_[d]))
          ++axis;
        if (axis == whole.size()) return false;
        layout.strides[d] = operand.layout.strides[axis];
      }
    }
    operand.shape = order_;
    operand.layout = std::move(layout);
    return true;
  }

  int origin_of(const Value& value) const {
    const auto found = reshaped_.find(value.node);
    return found == reshaped_.end() ? value.node : found->second;
  }

  std::optional<std::string> constant(int at) {
    const Tensor& tensor = *tensor_of(body_.node(at));
    if (tensor.count() != 1) return std::nullopt;
    const std::string name = text('c', at), compute = site_.compute_type(tensor.dtype());
    if (compute == "f32")
      params.emplace_back(name, tensor.at(0));
    else if (compute == "i32" && tensor.integer_at(0) == static_cast<int32_t>(tensor.integer_at(0)))
      params.push_back(Param::signed_number(name, tensor.integer_at(0)));
    else if ((compute == "u32" && tensor.integer_at(0) <= UINT32_MAX) || compute == "bool")
      params.emplace_back(name, Dim(tensor.integer_at(0)));
    else
      return std::nullopt;
    lines += text("  let ", name, " = params.", name, compute == "bool" ? " != 0u" : "", ";\n");
    return names_[size_t(at)] = name;
  }

  // An operand of the group, once for each shape that it is read in.
  std::optional<std::string> loaded(const Value& value, const Dims& shape, bool behind) {
    const int input = inputs_[size_t(origin_of(value))];
    if (input < 0) return std::nullopt;
    Operand operand = site_.inputs[size_t(input)];
    if (origin_of(value) != value.node) {
      if (!operand.contiguous()) return std::nullopt;
      operand.shape = value.shape();
      operand.layout = Layout::row_major(value.shape());
    }
    operand = broadcast(operand, shape);
    if (behind && !turn_back(operand)) return std::nullopt;
    for (const Operand& known : operands)
      if (known.value == operand.value && known.shape == operand.shape &&
          known.layout == operand.layout)
        return "x_" + known.name;
    operand.name = text("in", operands.size());
    operand.access = Access::read;
    operands.push_back(operand);
    lines += text("  let x_", operand.name, " = load_", operand.name, "(i);\n");
    return "x_" + operand.name;
  }

  // As a store would round it: so that what goes on in registers agrees with what is read again.
  std::string rounded(const std::string& expression, DType dtype) {
    const std::string function = rounding_function(dtype);
    if (function.empty()) return expression;
    const std::string name = text("round_", dtype);
    if (std::find(written_.begin(), written_.end(), name) == written_.end()) {
      written_.push_back(name);
      functions += function;
    }
    return text(name, '(', expression, ')');
  }

  // Ops without attributes share a function; attributes are params.
  std::string function_of(const Node& node, int at, const ScalarFormula& formula) {
    static constexpr const char* kNames[] = {"x", "y", "z"};
    const std::string result = site_.compute_type(node.types[0].dtype);
    std::string name = text(node.op->name, "_op"), arguments, body;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const std::string type = site_.compute_type(node.inputs[i].dtype());
      arguments += text(i ? ", " : "", kNames[i], ": ", type);
      name += '_' + type;
    }
    name += '_' + result;
    if (!formula.params.empty()) name += text('_', at);
    for (Param param : formula.params) {
      const std::string own = text(node.op->name, at, '_', param.name);
      body += text("  let ", param.name, " = params.", own, ";\n");
      param.name = own;
      params.push_back(std::move(param));
    }
    includes.insert(includes.end(), formula.includes.begin(), formula.includes.end());
    if (std::find(written_.begin(), written_.end(), name) == written_.end()) {
      written_.push_back(name);
      functions += text("fn ", name, '(', arguments, ") -> ", result, " {\n", body, "  return ",
                        formula.expression, ";\n}\n");
    }
    return name;
  }

  const LowerSite& site_;
  const Graph& body_;
  Dim elements_;
  std::vector<std::string> names_;  // of what has been computed, by node
  std::vector<int> inputs_;         // by node: which operand of the group it is
  std::map<int, int> reshaped_;     // nodes that are an input in another shape
  int turn_ = -1;                   // the transpose
  Dims order_, strides_;            // of its operand, and where its axes lie behind it
  std::vector<bool> before_;        // by node: what it is made of
  std::vector<std::string> written_;
};

std::string described(const Graph& body, const std::string& first) {
  std::string name = first;
  for (const Node& node : body.nodes())
    if (scalar_formula(node)) name += (name.empty() ? "" : " + ") + node.op->name;
  return name;
}

// A result as its kernel stores it: element i of `shape` lies where `layout` says.
Operand as_stored(Operand result, const Dims& shape, const Layout& layout) {
  result.shape = shape;
  result.layout = layout;
  return result;
}

// The body without an anchor: a kernel made of it alone.
std::optional<Steps> lower_region(const LowerSite& site, const Graph& body, Statements statements) {
  const size_t results = body.outputs().size();
  Formula formula;
  // A packed result is stored by words, of which there can be one.
  size_t last = results - 1;
  for (size_t r = 0; r < results; ++r)
    if (is_packed(site.out(r).dtype, site.traits)) last = r;
  for (size_t r = 0; r < results; ++r) {
    const Value value = body.outputs()[r].value;
    const auto stored = statements.stored(value);
    if (!stored || !(count(value.shape()) == count(site.out(last).shape))) return std::nullopt;
    const bool packed = is_packed(site.out(r).dtype, site.traits);
    Operand result = as_stored(site.write(text("out", r), r), stored->shape, stored->layout);
    if (packed && (r != last || !result.contiguous())) return std::nullopt;
    if (r == last) {
      formula.expression = stored->name;
      formula.result = std::move(result);
      continue;
    }
    statements.lines += text("  store_", result.name, "(i, ", stored->name, ");\n");
    formula.more_results.push_back(std::move(result));
  }
  formula.name = described(body, "");
  formula.operands = statements.operands;
  formula.params = statements.params;
  formula.includes = statements.includes;
  formula.functions = statements.functions;
  formula.statements = statements.lines;
  if (static_cast<int64_t>(formula.operands.size() + results) > site.traits.max_storage_buffers)
    return std::nullopt;
  Dispatch dispatch = generate(formula, site.traits);
  for (size_t r = 0; r < results; ++r) share_elements(dispatch, site.results[r].value);
  return dispatch;
}

// The kernel of the anchor, which stores by computing the rest.
std::optional<Steps> finish_anchor(const LowerSite& site, const Graph& body, Anchor anchor,
                                   Statements statements) {
  Dispatch& dispatch = *anchor.store;
  const ValueId stored_value = anchor.results[0].value;
  const auto stored = std::find_if(dispatch.operands.begin(), dispatch.operands.end(),
                                   [&](const Operand& each) { return each.value == stored_value; });
  const Operand y = *stored;
  dispatch.operands.erase(stored);
  dispatch.in_place.clear();
  const Dim elements = count(anchor.results[0].shape);
  std::vector<Operand> results;
  for (size_t r = 0; r < body.outputs().size(); ++r) {
    const Value value = body.outputs()[r].value;
    const auto stored_as = statements.stored(value);
    if (!stored_as || !(count(value.shape()) == elements) || is_packed(value.dtype(), site.traits))
      return std::nullopt;
    Operand result = as_stored(site.write(text("out", r), r), stored_as->shape, stored_as->layout);
    if (result.contiguous()) result.window = y.window;
    statements.lines += text("  store_", result.name, "(i, ", stored_as->name, ");\n");
    results.push_back(std::move(result));
  }
  for (Operand& operand : statements.operands)
    if (operand.contiguous() && count(operand.shape) == elements) operand.window = y.window;
  const std::vector<Operand> own = dispatch.operands;
  dispatch.operands.insert(dispatch.operands.end(), statements.operands.begin(),
                           statements.operands.end());
  dispatch.operands.insert(dispatch.operands.end(), results.begin(), results.end());
  if (storage_bindings(dispatch) > site.traits.max_storage_buffers) return std::nullopt;
  dispatch.params.insert(dispatch.params.end(), statements.params.begin(), statements.params.end());
  dispatch.kernel.includes.insert(dispatch.kernel.includes.end(), statements.includes.begin(),
                                  statements.includes.end());
  dispatch.prelude.push_back(statements.functions + text("fn store_", y.name,
                                                         "(i: u32, v: ", site.compute_type(y.dtype),
                                                         ") {\n", statements.lines, "}"));
  dispatch.kernel.name = described(body, dispatch.kernel.name);
  // What the anchor reads itself it may read anywhere.
  const auto read_by_anchor = [&](ValueId value) {
    return std::any_of(own.begin(), own.end(),
                       [&](const Operand& each) { return each.value == value; });
  };
  for (const Operand& result : results) {
    share_elements(dispatch, result.value);
    std::erase_if(dispatch.in_place,
                  [&](const InPlace& pair) { return read_by_anchor(pair.from); });
  }
  return std::move(anchor.steps);
}

}  // namespace

namespace {

// The layout of a view of a whole tensor; none where the node is not a view of all its elements.
std::optional<Layout> layout_of_view(const Node& node, const Layout& input) {
  if (!node.op->view || node.inputs.empty() || !node.inputs[0].present()) return std::nullopt;
  const Value x = node.inputs[0];
  if (x.dtype() != node.types[0].dtype || !(count(x.shape()) == count(node.types[0].shape)))
    return std::nullopt;
  std::vector<const TensorType*> types;
  std::vector<const HostValue*> hosts;
  for (const Value& operand : node.inputs) {
    types.push_back(operand.present() ? &operand.type() : nullptr);
    const auto* known =
        operand.present() ? &operand.producer().host_values[size_t(operand.result)] : nullptr;
    hosts.push_back(known && known->has_value() ? &**known : nullptr);
  }
  const InferSite infer{*node.op, types, node.attrs, hosts, {}};
  return node.op->view({infer, node.types[0], input});
}

}  // namespace

bool keeps_order(const Node& node) {
  if (is_source(node) || node.inputs.empty() || !node.inputs[0].present()) return false;
  const auto layout = layout_of_view(node, Layout::row_major(node.inputs[0].shape()));
  return layout && *layout == Layout::row_major(node.types[0].shape);
}

std::optional<Dims> permuted_strides(const Node& node) {
  if (is_source(node) || node.inputs.empty() || !node.inputs[0].present()) return std::nullopt;
  const Dims& shape = node.inputs[0].shape();
  // Each axis of the operand gets a stride of its own, and is found again by it.
  Layout marked;
  for (size_t d = 0; d < shape.size(); ++d) marked.strides.emplace_back(text("axis", d));
  const Dims& result = node.types[0].shape;
  if (result.size() != shape.size() || keeps_order(node)) return std::nullopt;
  const auto layout = layout_of_view(node, marked);
  if (!layout || !layout->offset.is(0)) return std::nullopt;
  const Dims whole = strides_of(result);
  Dims strides(shape.size(), Dim(0));
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].is(1)) continue;  // it lies anywhere
    const auto at = std::find(layout->strides.begin(), layout->strides.end(), marked.strides[d]);
    const auto axis = static_cast<size_t>(at - layout->strides.begin());
    if (axis == result.size() || !(result[axis] == shape[d])) return std::nullopt;
    strides[d] = whole[axis];
  }
  return strides;
}

bool copies_permuted(const Node& node) {
  if (!keeps_order(node)) return false;
  const Value x = node.inputs[0];
  if (is_source(x.producer()) || !permuted_strides(x.producer())) return false;
  const Node& inner = x.producer();
  const auto layout = layout_of_view(inner, Layout::row_major(inner.inputs[0].shape()));
  return layout && !layout_of_view(node, *layout);
}

bool is_pointwise(const Node& node) {
  if (is_source(node) || node.types.size() != 1) return false;
  return (keeps_order(node) || (scalar_formula(node) && scalar_host_reason(node).empty()));
}

FinalStore final_store(const Node& node, const DeviceTraits& traits, const Choices& choices) {
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
    const Dispatch* dispatch = refused ? nullptr : final_dispatch(steps, results[0].value);
    if (!dispatch) return {};
    return {true, storage_bindings(*dispatch)};
  } catch (const Error&) {
    return {};  // it is said where the node itself is lowered
  }
}

std::optional<Steps> lower_group(const LowerSite& site, const Graph& body) {
  Statements statements(site, body);
  std::optional<Anchor> anchor;
  std::vector<Operand> inputs;  // of the group, by node of the body
  size_t next = 0;
  for (size_t at = 0; at < body.nodes().size(); ++at) {
    const Node& node = body.nodes()[at];
    inputs.emplace_back();
    if (is_input(node)) inputs.back() = site.inputs[next++];
    if (is_source(node)) continue;
    if (is_pointwise(node) || permuted_strides(node)) {
      if (!statements.add(static_cast<int>(at))) return std::nullopt;
      continue;
    }
    if (anchor || !node.op->lower || has_body(node)) return std::nullopt;
    std::vector<Operand> operands;
    for (const Value& input : node.inputs) {
      operands.push_back(input.present() ? inputs[size_t(input.node)] : Operand());
      if (input.present() && !is_source(input.producer())) return std::nullopt;
    }
    anchor = lower_anchor(site, node, std::move(operands));
    if (!anchor || statements.is_behind_turn(static_cast<int>(at))) return std::nullopt;
    statements.set_anchor(static_cast<int>(at));
  }
  if (!anchor) return lower_region(site, body, std::move(statements));
  return finish_anchor(site, body, std::move(*anchor), std::move(statements));
}

}  // namespace rlx
