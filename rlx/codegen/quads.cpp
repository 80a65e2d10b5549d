#include "rlx/codegen/quads.h"

#include <algorithm>
#include <utility>

#include "rlx/codegen/render.h"

namespace rlx {
namespace {

constexpr const char* kKey = "elementwise.variant";

// What must be multiples of 4, each once.
class Divided {
 public:
  // False where it never is one.
  bool add(const Dim& dim) {
    const Dim rest = dim - floor_div(dim, 4) * 4;
    if (rest.is_number()) return rest.is(0);
    constexpr size_t kLong = 64;  // a guard is evaluated in every run
    if (dim.parts() > kLong) return false;
    if (std::find(rests_.begin(), rests_.end(), rest) == rests_.end()) rests_.push_back(rest);
    return true;
  }
  Dim guard() const {
    Dim all = 1;
    for (const Dim& rest : rests_) all = all * (1 - min(mod(rest, 4), 1));
    return all;
  }

 private:
  std::vector<Dim> rests_;
};

bool add(const Operand& operand, Divided& divided) {
  const ViewDims view = collapse(operand.shape, operand.layout);
  const bool written = operand.access != Access::read;
  if (operand.atomic || operand.dtype == DType::c64) return false;
  if (view.shape.empty()) return !written;
  if (!divided.add(view.shape.back())) return false;
  if (is_repeated(operand)) return !written;
  if (!view.strides.back().is(1) || !divided.add(operand.layout.offset)) return false;
  return std::all_of(view.strides.begin(), view.strides.end() - 1,
                     [&](const Dim& stride) { return divided.add(stride); });
}

}  // namespace

bool is_repeated(const Operand& operand) {
  const ViewDims view = collapse(operand.shape, operand.layout);
  return view.shape.empty() || view.strides.back().is(0);
}

std::optional<Dim> quads_guard(const std::vector<Operand>& operands) {
  Divided divided;
  for (const Operand& operand : operands)
    if (!add(operand, divided)) return std::nullopt;
  return divided.guard();
}

Variants quads_variants() { return {kKey, 2}; }

namespace {

// Not 0 where the kernel in quads is right; none: nowhere.
std::optional<Dim> guard_of(const Dispatch& dispatch) {
  if (!dispatch.quads) return std::nullopt;
  const std::optional<Dim> operands = quads_guard(dispatch.operands);
  return operands ? std::optional(*operands * dispatch.quads->guard) : std::nullopt;
}

}  // namespace

bool always_in_quads(Dispatch& dispatch) {
  const std::optional<Dim> guard = guard_of(dispatch);
  if (!guard || !guard->is(1) || !dispatch.quads->constants.empty()) return false;
  dispatch.kernel.source = std::move(dispatch.quads->source);
  dispatch.workgroups = dispatch.quads->workgroups;
  dispatch.in_quads = true;
  dispatch.quads.reset();
  return true;
}

void take_quads(Dispatch& dispatch, const Choices& choices) {
  if (choices.get(kKey, 1) == 0 || always_in_quads(dispatch)) return;
  const std::optional<Dim> guard = guard_of(dispatch);
  if (!guard || guard->is(0)) return;
  dispatch.alternatives.push_back(*std::exchange(dispatch.quads, std::nullopt));
  dispatch.alternatives.back().guard = *guard;
}

std::string quad_element(const DeviceStorage& storage) {
  if (storage.elements_per_word == 1) return text("vec4<", storage.element, '>');
  return storage.elements_per_word == 2 ? "vec2<u32>" : "u32";
}

namespace {

// The elements of `q`, which is of quad_element.
std::string unpacked_quad(DType dtype, const DeviceStorage& storage) {
  if (dtype == DType::boolean) return "q != vec4<u32>(0u)";
  if (storage.elements_per_word == 1)
    return storage.element == storage.compute ? "q" : text("vec4<", storage.compute, ">(q)");
  if (dtype == DType::f16) return "vec4<f32>(unpack2x16float(q.x), unpack2x16float(q.y))";
  if (dtype == DType::bf16)
    return "bitcast<vec4<f32>>(vec4<u32>(q.x << 16u, q.x & 0xffff0000u, q.y << 16u, "
           "q.y & 0xffff0000u))";
  const bool halves = storage.elements_per_word == 2;
  const std::string words = halves ? "q.xxyy" : "vec4<u32>(q)";
  const std::string left = halves ? "vec4<u32>(16u, 0u, 16u, 0u)" : "vec4<u32>(24u, 16u, 8u, 0u)";
  const std::string right = halves ? "vec4<u32>(16u)" : "vec4<u32>(24u)";  // with the sign or 0
  const std::string placed = text("(", words, " << ", left, ")");
  return storage.compute == "i32" ? text("bitcast<vec4<i32>>", placed, " >> ", right)
                                  : text(placed, " >> ", right);
}

// `v` as one quad_element.
std::string packed_quad(const Operand& operand, const DeviceStorage& storage) {
  if (operand.dtype == DType::boolean) return "select(vec4<u32>(0u), vec4<u32>(1u), v)";
  if (storage.elements_per_word == 1)
    return storage.element == storage.compute ? "v" : text("vec4<", storage.element, ">(v)");
  const auto pack = [&](char lane, int k) {
    return text("pack_", operand.name, "(v.", lane, ", ", k, "u)");
  };
  if (storage.elements_per_word == 2)
    return text("vec2<u32>(", pack('x', 0), " | ", pack('y', 1), ", ", pack('z', 0), " | ",
                pack('w', 1), ")");
  return text(pack('x', 0), " | ", pack('y', 1), " | ", pack('z', 2), " | ", pack('w', 3));
}

}  // namespace

namespace {

std::string place_of_quad(const std::string& at) {
  return at.find(' ') == std::string::npos ? text(at, " / 4u") : text('(', at, ") / 4u");
}

}  // namespace

std::string quad_load(const Operand& operand, const DeviceStorage& storage, const std::string& at) {
  const std::string buffer = "buffer_" + (operand.shares.empty() ? operand.name : operand.shares);
  return text("fn load4_", operand.name, "(i: u32) -> vec4<", storage.compute,
              "> {\n  let q = ", buffer, '[', place_of_quad(at), "];\n  return ",
              unpacked_quad(operand.dtype, storage), ";\n}\n");
}

std::string quad_store(const Operand& operand, const DeviceStorage& storage,
                       const std::string& at) {
  return text("fn store4_", operand.name, "(i: u32, v: vec4<", storage.compute, ">) {\n  buffer_",
              operand.name, '[', place_of_quad(at), "] = ", packed_quad(operand, storage),
              ";\n}\n");
}

}  // namespace rlx
