#include "rlx/codegen/statements.h"

#include <algorithm>

#include "rlx/codegen/computed.h"
#include "rlx/codegen/elementwise.h"
#include "rlx/codegen/pointwise.h"
#include "rlx/codegen/render.h"

namespace rlx {

bool Module::write(const std::string& name) {
  if (std::find(written.begin(), written.end(), name) != written.end()) return false;
  written.push_back(name);
  return true;
}

Statements::Statements(const LowerSite& site, const Graph& body, Module& module, Dim elements,
                       const std::vector<bool>& in_front, std::optional<Operand::Window> window)
    : site_(site),
      body_(body),
      module_(module),
      elements_(std::move(elements)),
      in_front_(in_front),
      window_(std::move(window)) {
  names_.resize(body.nodes().size());
  size_t next = 0;
  for (size_t at = 0; at < body.nodes().size(); ++at) {
    inputs_.push_back(-1);
    if (is_input(body.nodes()[at])) inputs_.back() = static_cast<int>(next++);
  }
  find_turn();
}

bool Statements::is_behind_turn(int at) const {
  return turn_ >= 0 && !before_[size_t(at)] && !is_source(body_.node(at));
}

void Statements::set_anchor(int at) {
  names_[size_t(at)] = text('v', at);
  lines += text("  let v", at, " = ", rounded("v", body_.node(at).types[0].dtype), ";\n");
}

void Statements::set_staged(int at, Operand stored) {
  stored.name = "staged";
  stored.access = Access::read;
  stored.window = window_;
  loaded_.push_back(stored.name);
  module_.operands.push_back(std::move(stored));
  names_[size_t(at)] = text('v', at);
  lines += text("  let v", at, " = ", rounded("staged", body_.node(at).types[0].dtype), ";\n");
}

bool Statements::add(int at) {
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
  if (!formula) return add_map(at);
  const std::string function = function_of(node, at, *formula);
  std::string arguments;
  for (const Value& input : node.inputs) {
    if (!input.present()) continue;
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

bool Statements::add_map(int at) {
  if (is_behind_turn(at)) return false;  // it counts elements as they lie
  const std::optional<std::string> function = write_map(site_, body_, at, module_);
  if (!function) return false;
  names_[size_t(at)] = text('v', at);
  lines += text("  let v", at, " = ",
                rounded(text(*function, "(i)"), body_.node(at).types[0].dtype), ";\n");
  return true;
}

std::optional<Statements::Map> Statements::stored(const Value& value) {
  const bool behind = is_behind_turn(value.node);
  const std::optional<std::string> name = name_of(value, value.shape(), behind);
  if (!name) return std::nullopt;
  if (behind) return Map{*name, order_, {0, strides_}};
  return Map{*name, value.shape(), Layout::row_major(value.shape())};
}

std::optional<std::string> Statements::name_of(const Value& value, const Dims& shape, bool behind) {
  const Node& node = value.producer();
  if (const std::string& name = names_[size_t(value.node)]; !name.empty()) {
    const bool in_order = is_source(node) || is_behind_turn(value.node) == behind;
    return in_order ? std::optional(name) : std::nullopt;
  }
  if (is_constant(node)) return constant(value.node);
  return loaded(value, shape, behind);
}

void Statements::find_turn() {
  before_.resize(body_.nodes().size());
  for (size_t at = 0; at < body_.nodes().size() && turn_ < 0; ++at) {
    const Node& node = body_.nodes()[at];
    const auto strides = permuted_strides(node);
    if (!strides || is_source(node.inputs[0].producer()) || in_front_[at]) continue;
    turn_ = static_cast<int>(at);
    order_ = node.inputs[0].shape();
    strides_ = *strides;
    before_[size_t(node.inputs[0].node)] = true;
  }
  for (int at = turn_; at-- > 0;)
    for (const Value& input : body_.node(at).inputs)
      if (before_[size_t(at)] && input.present()) before_[size_t(input.node)] = true;
}

bool Statements::turn_back(Operand& operand) const {
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

int Statements::origin_of(const Value& value) const {
  const auto found = reshaped_.find(value.node);
  return found == reshaped_.end() ? value.node : found->second;
}

std::optional<std::string> Statements::constant(int at) {
  const Tensor& tensor = *tensor_of(body_.node(at));
  if (tensor.count() != 1) return std::nullopt;
  const std::string name = text('c', at), compute = site_.compute_type(tensor.dtype());
  std::optional<Param> param;
  if (compute == "f32")
    param = Param(name, tensor.at(0));
  else if (compute == "i32" && tensor.integer_at(0) == static_cast<int32_t>(tensor.integer_at(0)))
    param = Param::signed_number(name, tensor.integer_at(0));
  else if ((compute == "u32" && tensor.integer_at(0) <= UINT32_MAX) || compute == "bool")
    param = Param(name, Dim(tensor.integer_at(0)));
  else
    return std::nullopt;
  if (module_.write("params." + name)) module_.params.push_back(*std::move(param));
  lines += text("  let ", name, " = params.", name, compute == "bool" ? " != 0u" : "", ";\n");
  return names_[size_t(at)] = name;
}

std::optional<std::string> Statements::loaded(const Value& value, const Dims& shape, bool behind) {
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
  if (operand.contiguous() && count(operand.shape) == elements_) operand.window = window_;
  const auto known =
      std::find_if(module_.operands.begin(), module_.operands.end(), [&](const Operand& each) {
        return each.value == operand.value && each.shape == operand.shape &&
               each.layout == operand.layout && same_window(each, operand);
      });
  if (known != module_.operands.end()) {
    operand.name = known->name;
  } else {
    operand.name = text("in", module_.operands.size());
    operand.access = Access::read;
    module_.operands.push_back(operand);
  }
  if (std::find(loaded_.begin(), loaded_.end(), operand.name) == loaded_.end())
    loaded_.push_back(operand.name);
  return operand.name;
}

std::string Statements::loads() const {
  std::string text_of_all;
  for (const std::string& name : loaded_)
    text_of_all += text("  let ", name, " = load_", name, "(i);\n");
  return text_of_all;
}

std::string Statements::rounded(const std::string& expression, DType dtype) {
  if (is_integer(dtype) && bytes_of(dtype) < 4)  // it wraps
    return text("extractBits(", expression, ", 0u, ", 8 * bytes_of(dtype), "u)");
  const std::string function = rounding_function(dtype);
  if (function.empty()) return expression;
  const std::string name = text("round_", dtype);
  if (module_.write(name)) module_.functions += function;
  return text(name, '(', expression, ')');
}

std::string Statements::function_of(const Node& node, int at, const ScalarFormula& formula) {
  static constexpr const char* kNames[] = {"x", "y", "z"};
  const std::string result = site_.compute_type(node.types[0].dtype);
  std::string name = text(node.op->name, "_op"), arguments, body;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].present()) continue;
    const std::string type = site_.compute_type(node.inputs[i].dtype());
    arguments += text(i ? ", " : "", kNames[i], ": ", type);
    name += '_' + type;
  }
  name += '_' + result;
  if (node.op->conversion)  // several dtypes have one type there
    name += text('_', node.inputs[0].dtype(), '_', node.types[0].dtype);
  if (!formula.params.empty()) name += text('_', at);
  for (Param param : formula.params) {
    const std::string own = text(node.op->name, at, '_', param.name);
    body += text("  let ", param.name, " = params.", own, ";\n");
    param.name = own;
    if (module_.write("params." + own)) module_.params.push_back(std::move(param));
  }
  module_.includes.insert(module_.includes.end(), formula.includes.begin(), formula.includes.end());
  if (module_.write(name)) {
    module_.functions += text("fn ", name, '(', arguments, ") -> ", result, " {\n", body,
                              "  return ", formula.expression, ";\n}\n");
  }
  return name;
}

}  // namespace rlx
