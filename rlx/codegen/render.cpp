#include "rlx/codegen/render.h"

#include <algorithm>
#include <cstring>
#include <iomanip>
#include <limits>
#include <set>

#include "rlx/codegen/quads.h"
#include "rlx/image/flag.h"

namespace rlx {
namespace {

bool is_view(const Operand& operand) { return !operand.contiguous(); }
bool has_offset(const Operand& operand) { return !operand.layout.offset.is(0); }

}  // namespace

std::string index_function(const Operand& operand) {
  const ViewDims view = collapse(operand.shape, operand.layout);
  std::string body = text("fn index_", operand.name, "(i: u32) -> u32 {\n");
  body += has_offset(operand) ? text("  var at = params.", operand.name, "_offset;\n")
                              : "  var at = 0u;\n";
  if (!view.shape.empty()) body += "  var rest = i;\n";
  const auto entry = [&](size_t d, size_t part) {
    return text("params.", operand.name, "_view[", (2 * d + part) / 4, "][", (2 * d + part) % 4,
                "]");
  };
  for (size_t d = view.shape.size(); d-- > 0;) {
    const std::string index = d == 0 ? "rest" : text("(rest % ", entry(d, 0), ")");
    body += text("  at += ", index, " * ", entry(d, 1), ";\n");
    if (d > 0) body += text("  rest = rest / ", entry(d, 0), ";\n");
  }
  return body + "  return at;\n}\n";
}

std::vector<Param> view_params(const Operand& operand) {
  std::vector<Param> params;
  const ViewDims view = collapse(operand.shape, operand.layout);
  Dims entries;
  for (size_t d = 0; d < view.shape.size(); ++d) {
    entries.push_back(view.shape[d]);
    entries.push_back(view.strides[d]);
  }
  if (!entries.empty()) params.emplace_back(operand.name + "_view", entries);
  if (has_offset(operand)) params.emplace_back(operand.name + "_offset", operand.layout.offset);
  return params;
}

namespace {

std::string load_expression(const Operand& operand, const DeviceStorage& storage,
                            const std::string& at) {
  const std::string buffer = "buffer_" + (operand.shares.empty() ? operand.name : operand.shares);
  if (storage.elements_per_word == 1) {
    if (operand.dtype == DType::boolean) return text(buffer, '[', at, "] != 0u");
    if (storage.element != storage.compute)
      return text(storage.compute, '(', buffer, '[', at, "])");
    return text(buffer, '[', at, ']');
  }
  const int64_t per_word = storage.elements_per_word, bits = 32 / per_word;
  const std::string word = text(buffer, '[', at, " / ", per_word, "u]");
  const std::string shift = text("(", at, " % ", per_word, "u) * ", bits, "u");
  if (operand.dtype == DType::f16) return text("unpack2x16float(", word, ")[", at, " % 2u]");
  if (operand.dtype == DType::bf16)
    return text("bitcast<f32>((", word, " >> (", shift, ")) << 16u)");
  if (storage.compute == "i32")
    return text("extractBits(bitcast<i32>(", word, "), ", shift, ", ", bits, "u)");
  return text("extractBits(", word, ", ", shift, ", ", bits, "u)");
}

// How a driver's pack2x16float rounds is not specified, and some turn an infinity into a NaN.
constexpr const char* kF16Bits = R"(fn f16_bits(v: f32) -> u32 {
  let sign = (bitcast<u32>(v) >> 16u) & 0x8000u;
  let magnitude = bitcast<u32>(v) & 0x7fffffffu;
  if (magnitude > 0x7f800000u) { return sign | 0x7e00u; }
  if (magnitude >= 0x47800000u) { return sign | 0x7c00u; }
  if (magnitude < 0x38800000u) { return sign | (bitcast<u32>(abs(v) + 0.5) - 0x3f000000u); }
  return sign | ((magnitude + 0xfffu + ((magnitude >> 13u) & 1u) - 0x38000000u) >> 13u);
}
)";

std::string pack_expression(DType dtype) {  // of v, in the low bits of a word
  switch (dtype) {
    case DType::f16:
      return "f16_bits(v)";
    case DType::bf16:
      return "select((bitcast<u32>(v) + 0x7fffu + ((bitcast<u32>(v) >> 16u) & 1u)) >> 16u, "
             "(bitcast<u32>(v) >> 16u) | 0x40u, (bitcast<u32>(v) & 0x7fffffffu) > 0x7f800000u)";
    case DType::i8:
      return "bitcast<u32>(v) & 0xffu";
    case DType::i16:
      return "bitcast<u32>(v) & 0xffffu";
    case DType::u8:
      return "v & 0xffu";
    default:
      return "v & 0xffffu";
  }
}

std::string store_expression(const Operand& operand, const DeviceStorage& storage) {
  if (operand.dtype == DType::boolean) return "select(0u, 1u, v)";
  return storage.element == storage.compute ? "v" : text(storage.element, "(v)");
}

std::string loads(const Operand& operand, const DeviceStorage& storage, bool quads) {
  std::string functions, at = "i";
  if (is_view(operand)) {
    functions += index_function(operand);
    at = text("index_", operand.name, "(i)");
  }
  if (operand.window) at = text(at, " - params.", operand.name, "_base");
  if (quads) return functions + quad_load(operand, storage, at);
  const std::string body = at == "i" ? "" : text("  let at = ", at, ";\n");
  functions +=
      text("fn load_", operand.name, "(i: u32) -> ", storage.compute, " {\n", body, "  return ",
           load_expression(operand, storage, body.empty() ? "i" : "at"), ";\n}\n");
  return functions;
}

std::string pack_function(const Operand& operand, const DeviceStorage& storage) {
  return text("fn pack_", operand.name, "(v: ", storage.compute, ", k: u32) -> u32 {\n  return (",
              pack_expression(operand.dtype), ") << (k * ", 32 / storage.elements_per_word,
              "u);\n}\n");
}

std::string stores(const Operand& operand, const DeviceStorage& storage, bool quads) {
  const std::string base = operand.window ? text(" - params.", operand.name, "_base") : "";
  const bool mapped = operand.access == Access::write && is_view(operand);
  const std::string at = mapped ? text("index_", operand.name, "(i)") : "i";
  const std::string index = mapped ? index_function(operand) : "";
  if (quads)
    return text(index, storage.elements_per_word == 1 ? "" : pack_function(operand, storage),
                quad_store(operand, storage, at + base));
  if (storage.elements_per_word == 1)
    return text(index, "fn store_", operand.name, "(i: u32, v: ", storage.compute, ") {\n  buffer_",
                operand.name, '[', at, base, "] = ", store_expression(operand, storage), ";\n}\n");
  const int64_t per_word = storage.elements_per_word;
  const std::string word_base =
      operand.window ? text(" - params.", operand.name, "_base / ", per_word, "u") : "";
  return text(pack_function(operand, storage), "fn store_word_", operand.name,
              "(i: u32, word: u32) {\n  buffer_", operand.name, "[i", word_base, "] = word;\n}\n");
}

std::string declaration(const Operand& operand, const DeviceStorage& storage, bool quads,
                        size_t binding) {
  const char* access = operand.access == Access::read && !operand.atomic ? "read" : "read_write";
  const std::string element = quads            ? quad_element(storage)
                              : operand.atomic ? text("atomic<", storage.element, '>')
                                               : storage.element;
  return text("@group(0) @binding(", binding, ") var<storage, ", access, "> buffer_", operand.name,
              ": array<", element, ">;\n");
}

std::string constants_text(const Dispatch& dispatch) {
  std::string lines;
  bool workgroup = false;
  for (const Constant& constant : dispatch.constants) {
    workgroup |= constant.name == "WORKGROUP";
    lines += text("const ", constant.name, " = ");
    if (const auto* number = std::get_if<int64_t>(&constant.value))
      lines += *number < 0 ? text(*number, "i;\n") : text(*number, "u;\n");
    else if (const auto* real = std::get_if<double>(&constant.value))
      lines += text("f32(", std::setprecision(9), *real, ");\n");
    else
      lines += std::get<bool>(constant.value) ? "true;\n" : "false;\n";
  }
  return (workgroup ? "" : "const WORKGROUP = 64u;\n") + lines;
}

std::string params_text(const ParamLayout& layout, size_t binding) {
  std::string lines = "struct Params {\n";
  for (const ParamSlot& slot : layout.slots) {
    static constexpr const char* kTypes[] = {"u32", "i32", "f32"};
    const std::string type = slot.param.kind == Param::Kind::list
                                 ? text("array<vec4<u32>, ", (slot.param.list.size() + 3) / 4, ">")
                                 : kTypes[static_cast<size_t>(slot.param.kind)];
    lines += text("  ", slot.param.name, ": ", type, ",\n");
  }
  return lines + text("}\n@group(0) @binding(", binding, ") var<uniform> params: Params;\n");
}

// Does the kernel's own text have it, or what was composed with it?
bool mentions(const Dispatch& dispatch, const std::string& word) {
  const auto has = [&](const std::string& lines) { return lines.find(word) != std::string::npos; };
  return has(dispatch.kernel.source.text) ||
         std::any_of(dispatch.prelude.begin(), dispatch.prelude.end(), has) ||
         std::any_of(dispatch.kernel.includes.begin(), dispatch.kernel.includes.end(),
                     [&](const KernelText& include) { return has(include.text); });
}

// The words of image::Flag.
constexpr const char* kRaiseFlag = R"(fn raise_flag(code: u32, number: i32) {
  if (atomicOr(&error_flag[3], 1u) != 0u) { return; }
  atomicStore(&error_flag[0], code);
  atomicStore(&error_flag[1], params.flag_node);
  atomicStore(&error_flag[2], bitcast<u32>(number));
}
)";

// Those that the kernel names.
std::string flag_codes(const Dispatch& dispatch) {
  std::string lines;
  for (size_t code = 1; code < image::kFlagCodeCount; ++code) {
    const std::string name = image::kFlagCodes[code].name;
    if (mentions(dispatch, name)) lines += text("const ", name, " = ", code, "u;\n");
  }
  return lines;
}

constexpr const char* kIds = R"(struct Ids {
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
}
fn workgroup_index(ids: Ids) -> u32 { return ids.group.x + ids.group.y * ids.groups.x; }
)";

}  // namespace

std::string rounding_function(DType dtype) {
  if (dtype != DType::f16 && dtype != DType::bf16) return "";
  const std::string bits = text('(', pack_expression(dtype), ')');
  return text("fn round_", dtype, "(v: f32) -> f32 {\n  return ",
              dtype == DType::f16 ? text("unpack2x16float", bits, ".x")
                                  : text("bitcast<f32>(", bits, " << 16u)"),
              ";\n}\n");
}

ViewDims collapse(const Dims& shape, const Layout& layout) {
  ViewDims view;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].is(1)) continue;
    if (!view.shape.empty() && view.strides.back() == layout.strides[d] * shape[d]) {
      view.shape.back() = view.shape.back() * shape[d];
      view.strides.back() = layout.strides[d];
    } else {
      view.shape.push_back(shape[d]);
      view.strides.push_back(layout.strides[d]);
    }
  }
  return view;
}

bool same_window(const Operand& a, const Operand& b) {
  if (a.window.has_value() != b.window.has_value()) return false;
  return !a.window || (a.window->first == b.window->first && a.window->count == b.window->count);
}

Operand::Window aligned_window(const Operand& operand, const DeviceTraits& traits) {
  const DeviceStorage storage = device_storage(operand.dtype, traits);
  const int64_t elements =
      std::max<int64_t>(traits.storage_alignment / storage.bytes, storage.elements_per_word);
  const Dim first = floor_div(operand.window->first, elements) * Dim(elements);
  return {first, operand.window->first + operand.window->count - first};
}

ParamLayout layout_params(const Dispatch& dispatch, const DeviceTraits& traits) {
  std::vector<Param> lists, scalars;
  for (const Operand& operand : dispatch.operands) {
    if (operand.access != Access::read_write && is_view(operand))
      for (Param& param : view_params(operand))
        (param.kind == Param::Kind::list ? lists : scalars).push_back(std::move(param));
    if (operand.window)
      scalars.emplace_back(operand.name + "_base", aligned_window(operand, traits).first);
  }
  if (dispatch.flags_errors) scalars.emplace_back("flag_node", Dim(dispatch.flag_node));
  for (const Param& param : dispatch.params)
    if (param.kind != Param::Kind::list)
      scalars.push_back(param);
    else if (!param.list.empty())
      lists.push_back(param);

  ParamLayout layout;
  for (Param& param : lists) {
    const int64_t bytes = (static_cast<int64_t>(param.list.size()) + 3) / 4 * 16;
    layout.slots.push_back({std::move(param), layout.bytes});
    layout.bytes += bytes;
  }
  for (Param& param : scalars) {
    layout.slots.push_back({std::move(param), layout.bytes});
    layout.bytes += 4;
  }
  layout.bytes = (layout.bytes + 15) / 16 * 16;
  return layout;
}

RenderedKernel render(const Dispatch& dispatch, const DeviceTraits& traits) {
  RenderedKernel kernel;
  kernel.label = dispatch.kernel.name;
  kernel.params = layout_params(dispatch, traits);
  std::string head, functions;
  kernel.subgroups = dispatch.subgroups;
  size_t binding = 0;
  for (const Operand& operand : dispatch.operands) {
    const DeviceStorage storage = device_storage(operand.dtype, traits);
    kernel.f16 |= storage.element == "f16";
    const bool quads = dispatch.in_quads && !is_repeated(operand);
    if (!operand.shares.empty()) {
      functions += loads(operand, storage, quads);
      continue;
    }
    head += declaration(operand, storage, quads, binding++);
    kernel.bindings.push_back(operand.access == Access::read && operand.atomic ? Access::read_write
                                                                               : operand.access);
    if (operand.atomic) continue;
    if (operand.access != Access::write) functions += loads(operand, storage, quads);
    if (operand.access != Access::read) functions += stores(operand, storage, quads);
  }
  if (dispatch.flags_errors) {
    head += text("@group(0) @binding(", binding++,
                 ") var<storage, read_write> error_flag: array<atomic<u32>>;\n");
    functions += flag_codes(dispatch) + kRaiseFlag;
    kernel.bindings.push_back(Access::read_write);
  }
  if (kernel.params.bytes > 0) head += params_text(kernel.params, binding);
  if (functions.find("f16_bits(") != std::string::npos || mentions(dispatch, "f16_bits("))
    functions = kF16Bits + functions;

  std::string& wgsl = kernel.wgsl;
  if (kernel.f16) wgsl += "enable f16;\n";
  if (kernel.subgroups) wgsl += "enable subgroups;\n";
  wgsl += "// " + dispatch.kernel.name + "\n" + constants_text(dispatch) + head + kIds + functions;
  for (const std::string& line : dispatch.prelude) wgsl += line + "\n";
  kernel.sections.push_back({1, ""});
  const auto section = [&](const KernelText& part) {
    const auto line = std::count(wgsl.begin(), wgsl.end(), '\n') + 1;
    kernel.sections.push_back({static_cast<int>(line), part.file});
    wgsl += part.text;
    if (wgsl.back() != '\n') wgsl += '\n';
  };
  std::set<std::string> included;
  for (const KernelText& include : dispatch.kernel.includes)
    if (included.insert(include.file).second) section(include);
  section(dispatch.kernel.source);
  return kernel;
}

}  // namespace rlx
