#include "rlx/codegen/elementwise.h"

#include <algorithm>
#include <cctype>

#include "rlx/codegen/quads.h"
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

struct Sharding {
  bool fits = true;   // false: the executor then says which tensor is too large
  bool fours = true;  // shards begin at multiples of 4 elements
};

// Splits the elements where an operand is too large to bind whole, between words that are stored
// whole.
Sharding shard(Dispatch& dispatch, const Dim& count, const DeviceTraits& traits) {
  const Operand& result = dispatch.operands.back();
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
  std::optional<Shards> shards;
  bool fours = true;
  if (!large.empty() && !shape.empty()) {
    shards = cut(shape, cut_operands, 4, traits);
    const auto finest = dispatch.writes_words ? shards : cut(shape, cut_operands, 1, traits);
    fours = !finest || (shards && shards->chunked == finest->chunked);
    if (!fours) shards = finest;
  }
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
  dispatch.workgroups = ceil_div(end - first, dispatch.writes_words ? 256 : 64);
  return {shards || large.empty(), fours};
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

namespace {

bool mentions_index(const std::string& source) {
  const auto is_letter = [&](size_t at) {
    return at < source.size() &&
           (std::isalnum(static_cast<unsigned char>(source[at])) || source[at] == '_');
  };
  for (size_t at = source.find('i'); at != std::string::npos; at = source.find('i', at + 1))
    if (!is_letter(at + 1) && (at == 0 || (!is_letter(at - 1) && source[at - 1] != '.')))
      return true;
  return false;
}

// The text of a formula's kernels: element() computes one element of all results from one of each
// operand; around it a kernel loads and stores, one by one or in quads.
class ElementText {
 public:
  ElementText(const Formula& formula, const std::vector<Operand>& operands,
              const DeviceTraits& traits)
      : formula_(formula),
        operands_(operands),
        traits_(traits),
        has_index_(mentions_index(formula.statements) || mentions_index(formula.expression)) {
    for (const auto& [result, expression] : formula.more_results)
      results_.push_back({result.name, device_storage(result.dtype, traits)});
    results_.push_back({"result", device_storage(formula.result.dtype, traits)});
  }

  std::string one_by_one() const {
    const bool one = formula_.more_results.empty();
    std::string body = element() + R"(
@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = params.first + workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.end) { return; }
)" + text("  let e = element(", loads(), ");\n");
    for (const Stored& stored : results_)
      body +=
          text("  store_", stored.name, "(i, e", one ? "" : ".", one ? "" : stored.name, ");\n");
    return body + "}\n";
  }

  // Four to an invocation, so that it has whole words of what is packed.
  std::string by_words() const {
    const bool one = formula_.more_results.empty();
    std::string words, elements, ends;
    for (const auto& [name, storage] : results_) {
      const std::string value = one ? "e" : "e." + name;
      if (storage.elements_per_word == 1) {
        elements += text("    store_", name, "(i, ", value, ");\n");
      } else if (storage.elements_per_word == 4) {
        words += text("  var ", name, " = 0u;\n");
        elements += text("    ", name, " |= pack_", name, '(', value, ", k);\n");
        ends += text("  store_word_", name, "(first / 4u, ", name, ");\n");
      } else {
        words += text("  var ", name, " = vec2<u32>();\n");
        elements += text("    ", name, "[k / 2u] |= pack_", name, '(', value, ", k % 2u);\n");
        ends += text("  store_word_", name, "(first / 2u, ", name, ".x);\n");
        ends += text("  if (first + 2u < params.end) { store_word_", name, "(first / 2u + 1u, ",
                     name, ".y); }\n");
      }
    }
    return element() + R"(
@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let first = params.first + (workgroup_index(ids) * WORKGROUP + lane) * 4u;
  if (first >= params.end) { return; }
)" + words +
           R"(  for (var k = 0u; k < 4u; k++) {
    let i = first + k;
    if (i >= params.end) { break; }
)" + text("    let e = element(", loads(), ");\n", elements, "  }\n", ends, "}\n");
  }

  std::string in_quads() const {
    std::string body = element() + R"(
@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = params.first + (workgroup_index(ids) * WORKGROUP + lane) * 4u;
  if (i >= params.end) { return; }
)";
    for (const Operand& operand : operands_)
      body += text("  let ", operand.name, " = load", is_repeated(operand) ? "" : "4", '_',
                   operand.name, "(i);\n");
    for (size_t lane = 0; lane < 4; ++lane) {
      std::string arguments = has_index_ ? text("i + ", lane, 'u') : "";
      for (const Operand& operand : operands_)
        append(arguments,
               is_repeated(operand) ? operand.name : text(operand.name, '.', "xyzw"[lane]));
      body += text("  let e", lane, " = element(", arguments, ");\n");
    }
    for (const auto& [name, storage] : results_) {
      const std::string part = formula_.more_results.empty() ? "" : "." + name;
      body += text("  store4_", name, "(i, vec4<", storage.compute, ">(e0", part, ", e1", part,
                   ", e2", part, ", e3", part, "));\n");
    }
    return body + "}\n";
  }

 private:
  static void append(std::string& arguments, const std::string& more) {
    arguments += (arguments.empty() ? "" : ", ") + more;
  }
  std::string loads() const {
    std::string arguments = has_index_ ? "i" : "";
    for (const Operand& operand : operands_) append(arguments, text("load_", operand.name, "(i)"));
    return arguments;
  }

  std::string element() const {
    const bool several = !formula_.more_results.empty();
    std::string fields, values, arguments = has_index_ ? "i: u32" : "";
    for (const auto& [name, storage] : results_)
      fields += text("  ", name, ": ", storage.compute, ",\n");
    for (const auto& another : formula_.more_results) append(values, another.expression);
    append(values, formula_.expression);
    for (const Operand& operand : operands_)
      append(arguments, text(operand.name, ": ", device_storage(operand.dtype, traits_).compute));
    std::string body = formula_.functions;
    if (several) body += text("struct Element {\n", fields, "}\n");
    body += text("fn element(", arguments, ") -> ",
                 several ? "Element" : results_.back().storage.compute, " {\n");
    for (const Param& param : formula_.params)
      if (!formula_.is_region) body += text("  let ", param.name, " = params.", param.name, ";\n");
    return text(body, formula_.statements, "  return ", several ? "Element(" : "", values,
                several ? ")" : "", ";\n}\n");
  }

  const Formula& formula_;
  const std::vector<Operand>& operands_;
  const DeviceTraits& traits_;
  const bool has_index_;
  struct Stored {
    std::string name;
    DeviceStorage storage;
  };
  std::vector<Stored> results_;
};

}  // namespace

Dispatch generate(const Formula& formula, const DeviceTraits& traits) {
  Dispatch dispatch;
  std::vector<Operand> operands = formula.operands;
  if (!formula.is_region)
    for (Operand& operand : operands) operand = broadcast(operand, formula.result.shape);
  dispatch.operands = operands;
  for (const auto& another : formula.more_results) dispatch.operands.push_back(another.result);
  dispatch.operands.push_back(LowerSite::named(formula.result, "result", Access::write));
  dispatch.params = formula.params;
  const auto packed = [&](const Operand& operand) {
    return operand.access == Access::write && is_packed(operand.dtype, traits);
  };
  const std::vector<Operand> whole = dispatch.operands;
  dispatch.writes_words = std::any_of(whole.begin(), whole.end(), packed);
  const Dim elements = count(formula.result.shape);
  Sharding sharding = shard(dispatch, elements, traits);
  if (!sharding.fits && dispatch.writes_words) {
    // Its blocks do not end at word boundaries: elements are stored one by one, and another step
    // packs them.
    dispatch.writes_words = false;
    dispatch.params = formula.params;
    dispatch.repeat = 1;
    dispatch.operands = whole;
    for (Operand& operand : dispatch.operands)
      if (packed(operand)) operand.dtype = unpacked(operand.dtype);
    sharding = shard(dispatch, elements, traits);
    for (size_t i = 0; i < whole.size(); ++i) dispatch.operands[i].dtype = whole[i].dtype;
  }
  const ElementText kernel(formula, operands, traits);
  const std::string file = formula.name + " (generated)";
  dispatch.kernel = {formula.name,
                     {file, dispatch.writes_words ? kernel.by_words() : kernel.one_by_one()},
                     formula.includes};
  if (sharding.fours && quads_guard(dispatch.operands)) {
    const Dim workgroups =
        dispatch.writes_words ? dispatch.workgroups : ceil_div(dispatch.workgroups, 4);
    dispatch.quads = {1, {file, kernel.in_quads()}, {}, workgroups, true};
  }
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

Formula copy_formula(const Operand& from, const Operand& to) {
  Formula formula;
  formula.name = from.dtype == to.dtype ? "copy" : text("cast_", from.dtype, '_', to.dtype);
  formula.operands = {LowerSite::named(from, "x", Access::read)};
  formula.result = to;
  formula.expression = convert_expression("x", from.dtype, to.dtype);
  if (formula.expression.find("truncate_to") != std::string::npos)
    formula.includes = {library("numbers"), library("truncate")};
  return formula;
}

Dispatch copy_view(const Operand& from, const Operand& to, const DeviceTraits& traits) {
  return generate(copy_formula(from, to), traits);
}

Dispatch write_host_value(const HostValue& value, const Operand& to, const DeviceTraits& traits) {
  Formula formula;
  formula.name = "host_value";
  formula.result = to;
  formula.params = {Param("elements", Dims(value.elements.begin(), value.elements.end()))};
  const std::string element = "params.elements[i / 4u][i % 4u]";
  formula.expression = convert_expression(element, DType::u32, to.dtype);
  formula.params[0].list.resize(std::max<size_t>(value.elements.size(), 1));
  formula.is_region = true;  // which names its params
  return generate(formula, traits);
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
    if (site.has(i)) formula.operands.push_back(site.read(kNames[i], i));
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
