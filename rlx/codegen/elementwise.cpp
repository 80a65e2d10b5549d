#include "rlx/codegen/elementwise.h"

#include <algorithm>

#include "rlx/codegen/each_element.h"
#include "rlx/codegen/render.h"
#include "rlx/codegen/scalar_formula.h"
#include "rlx/ops/lib/library.h"

namespace rlx {
namespace {

// Are a few elements seen from the first to the last of a large value?
bool spans_too_much(const Operand& operand, const DeviceTraits& traits) {
  Dim span = 1;
  for (size_t d = 0; d < operand.shape.size(); ++d) {
    const Dim reach = (operand.shape[d] - 1) * operand.layout.strides[d];
    if (!reach.is_number()) return false;
    span = span + (reach.number() < 0 ? Dim(0) - reach : reach);
  }
  const Dim& first = operand.layout.offset;
  const bool from_start = first.is(0) && operand.contiguous();  // perhaps all of a value
  return bytes_of(operand.dtype, span, traits).number() >
         traits.max_binding_bytes - (from_start ? 0 : traits.storage_alignment);
}

// Splits the elements where an operand is too large to bind whole. False where that cannot be done:
// the executor then says which tensor is too large.
bool shard(Dispatch& dispatch, const Dim& count, const DeviceTraits& traits) {
  const Operand& result = dispatch.operands.back();
  const int64_t per_word =
      dispatch.writes_words ? device_storage(result.dtype, traits).elements_per_word : 1;
  std::vector<Operand> nest;
  std::vector<size_t> large;
  for (size_t i = 0; i < dispatch.operands.size(); ++i) {
    nest.push_back(dispatch.operands[i]);
    if (!fits_binding(nest[i].dtype, nest[i].shape, traits) || spans_too_much(nest[i], traits))
      large.push_back(i);
  }
  // The nest of a region that reshapes on its way has no one shape to cut.
  const bool one_shape = std::all_of(nest.begin(), nest.end(), [&](const Operand& operand) {
    return operand.shape == result.shape;
  });
  Dims shape = result.shape;
  if (one_shape)
    merge_dims(shape, nest);
  else
    large.clear();
  std::vector<Operand> cut_operands;
  for (const size_t i : large) cut_operands.push_back(nest[i]);
  const auto shards =
      large.empty() || shape.empty() ? std::nullopt : cut(shape, cut_operands, per_word, traits);
  Dim first = 0, end = count;
  if (shards) {
    for (const size_t i : large) dispatch.operands[i].window = window_of(nest[i], *shards);
    Operand in_order = nest.back();
    in_order.layout = Layout::row_major(shape);
    first = first_of(in_order, *shards);
    end = first + window_of(in_order, *shards).count;
    dispatch.repeat = shards->repeat;
  }
  dispatch.params.emplace_back("first", first);
  dispatch.params.emplace_back("end", end);
  dispatch.workgroups = ceil_div(end - first, 64 * per_word);
  return shards || large.empty();
}

// Elements of host tensors, whose symbols have a dot, may be negative: of those nothing is known.
bool is_at_most_one(const Dim& extent) {
  const auto names = extent.symbols();
  return std::none_of(names.begin(), names.end(),
                      [](const auto& name) { return name.find('.') != std::string::npos; }) &&
         extent.range({}).high <= 1;
}

}  // namespace

Dim repeating_stride(const Dim& stride, const Dim& from, const Dim& to) {
  if (from == to || to.is(1)) return stride;
  if (is_at_most_one(from)) return 0;  // of an extent of 0 there is no element
  return from.is_number() ? stride : stride * min(floor_div(from, 2), 1);
}

Operand broadcast(Operand operand, const Dims& shape) {
  Layout layout{operand.layout.offset, {}};
  const size_t extra = shape.size() - operand.shape.size();
  for (size_t d = 0; d < shape.size(); ++d)
    layout.strides.push_back(d < extra ? Dim(0)
                                       : repeating_stride(operand.layout.strides[d - extra],
                                                          operand.shape[d - extra], shape[d]));
  operand.shape = shape;
  operand.layout = std::move(layout);
  return operand;
}

Dispatch generate(const Formula& formula, const DeviceTraits& traits) {
  Dispatch dispatch;
  const DeviceStorage storage = device_storage(formula.result.dtype, traits);
  std::string body = text("fn compute(i: u32) -> ", storage.compute, " {\n");
  if (!formula.statements.empty()) dispatch.operands = formula.operands;
  for (const Operand& operand : formula.operands) {
    if (!formula.statements.empty()) break;
    dispatch.operands.push_back(broadcast(operand, formula.result.shape));
    body += text("  let ", operand.name, " = load_", operand.name, "(i);\n");
  }
  for (const Param& param : formula.params)
    if (formula.statements.empty())
      body += text("  let ", param.name, " = params.", param.name, ";\n");
  body += formula.statements;
  body += text("  return ", formula.expression, ";\n}\n");
  body = formula.functions + body;
  for (const Operand& result : formula.more_results) dispatch.operands.push_back(result);
  dispatch.operands.push_back(LowerSite::named(formula.result, "result", Access::write));
  dispatch.params = formula.params;
  dispatch.writes_words = storage.elements_per_word > 1;
  if (dispatch.writes_words) dispatch.constants.push_back({"PER_WORD", storage.elements_per_word});
  if (!shard(dispatch, count(formula.result.shape), traits) && dispatch.writes_words) {
    // Its blocks do not end at word boundaries: elements are stored one by one, and another step
    // packs them.
    dispatch.writes_words = false;
    dispatch.params = formula.params;
    dispatch.repeat = 1;
    for (Operand& operand : dispatch.operands) operand.window.reset();
    dispatch.operands.back().dtype = unpacked(formula.result.dtype);
    shard(dispatch, count(formula.result.shape), traits);
    dispatch.operands.back().dtype = formula.result.dtype;
    dispatch.constants.clear();
  }
  body += main_of_each(dispatch.writes_words);
  dispatch.kernel = {formula.name, {formula.name + " (generated)", body}, formula.includes};
  return dispatch;
}

std::string convert_expression(const std::string& v, DType from, DType to) {
  const std::string source = device_storage(from, {}).compute,
                    target = device_storage(to, {}).compute;
  const auto wrap = [&](const std::string& expression) {  // to the width of a narrow integer
    const int64_t bits = 8 * bytes_of(to);
    if (!is_integer(to) || bits >= 32) return expression;
    return text("extractBits(", expression, ", 0u, ", bits, "u)");
  };
  if (to == DType::boolean && source == "f32")  // by its bits: a subnormal is not 0
    return text("(bitcast<u32>(", v, ") & 0x7fffffffu) != 0u");
  if (to == DType::boolean && source == "vec2<f32>")
    return text("any((bitcast<vec2<u32>>(", v, ") & vec2<u32>(0x7fffffffu)) != vec2<u32>(0u))");
  if (to == DType::boolean) return source == "bool" ? v : text(v, " != ", source, "(0)");
  if (to == DType::c64) return from == DType::c64 ? v : text("vec2<f32>(f32(", v, "), 0.0)");
  if (from == DType::c64) return convert_expression(v + ".x", DType::f32, to);
  if (source == "f32" &&
      (target == "i32" || target == "u32")) {  // saturates, so a narrow type does too
    std::string whole = text("truncate_to_", target, '(', v, ')');
    const int64_t bits = 8 * bytes_of(to);
    if (bits >= 32) return whole;
    if (target == "u32") return text("min(", whole, ", ", (int64_t{1} << bits) - 1, "u)");
    return text("clamp(", whole, ", ", -(int64_t{1} << (bits - 1)), ", ",
                (int64_t{1} << (bits - 1)) - 1, ")");
  }
  if (source == target) return wrap(v);
  if (source == "i32" && target == "u32") return wrap(text("bitcast<u32>(", v, ")"));
  if (source == "u32" && target == "i32") return wrap(text("bitcast<i32>(", v, ")"));
  return wrap(text(target, '(', v, ')'));
}

Dispatch copy_view(const Operand& from, const Operand& to, const DeviceTraits& traits) {
  Formula formula;
  formula.name = from.dtype == to.dtype ? "copy" : text("cast_", from.dtype, '_', to.dtype);
  formula.operands = {LowerSite::named(from, "x", Access::read)};
  formula.result = to;
  formula.expression = convert_expression("x", from.dtype, to.dtype);
  if (formula.expression.find("truncate_to") != std::string::npos)
    formula.includes = {library("numbers"), library("truncate")};
  return generate(formula, traits);
}

Dispatch write_host_value(const HostValue& value, const Operand& to, const DeviceTraits& traits) {
  Formula formula;
  formula.name = "host_value";
  formula.result = to;
  formula.params = {Param("elements", Dims(value.elements.begin(), value.elements.end()))};
  const std::string element = "params.elements[i / 4u][i % 4u]";
  formula.expression = convert_expression(element, DType::u32, to.dtype);
  formula.params[0].list.resize(std::max<size_t>(value.elements.size(), 1));
  Dispatch dispatch = generate(formula, traits);
  const std::string unused = "  let elements = params.elements;\n";
  std::string& body = dispatch.kernel.source.text;
  body.erase(body.find(unused), unused.size());
  return dispatch;
}

void share_elements(Dispatch& dispatch, ValueId result) {
  const auto& operands = dispatch.operands;
  const Operand& written = *std::find_if(operands.begin(), operands.end(),
                                         [&](const auto& each) { return each.value == result; });
  if (dispatch.writes_words || !written.contiguous()) return;
  for (size_t i = 0; i < operands.size(); ++i) {
    const ValueId value = operands[i].value;
    bool may = value != result;
    for (size_t k = 0; may && k < operands.size(); ++k) {
      const Operand& each = operands[k];
      if (each.value != value) continue;
      may = k >= i && each.access == Access::read && each.dtype == written.dtype && !each.atomic &&
            each.shape == written.shape && each.contiguous() && same_window(each, written);
    }
    if (may) dispatch.in_place.push_back({value, result});
  }
}

Steps lower_elementwise(const LowerSite& site) {
  static constexpr const char* kNames[] = {"x", "y", "z"};
  Formula formula;
  formula.name = site.node.op->name;
  for (size_t i = 0; i < site.inputs.size(); ++i)
    formula.operands.push_back(site.read(kNames[i], i));
  formula.result = site.results[0];
  if (std::optional<ScalarFormula> scalar = scalar_formula(site.node)) {
    formula.expression = std::move(scalar->expression);
    formula.params = std::move(scalar->params);
    formula.includes = std::move(scalar->includes);
  }
  Dispatch dispatch = generate(formula, site.traits);
  share_elements(dispatch, site.results[0].value);
  return dispatch;
}

}  // namespace rlx
