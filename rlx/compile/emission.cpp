#include "rlx/compile/emission.h"

#include <algorithm>

#include "rlx/codegen/elementwise.h"
#include "rlx/codegen/quads.h"
#include "rlx/codegen/shards.h"

namespace rlx::detail {
namespace {

// Steps of bodies that have no node of their own belong to the one that holds them.
void set_node(Step& step, int node) {
  if (step.node < 0) step.node = node;
  const auto set_all = [&](Steps& steps) {
    for (Step& inner : steps.list) set_node(inner, node);
  };
  if (auto* branch = std::get_if<If>(&step.what)) set_all(branch->then), set_all(branch->otherwise);
  if (auto* loop = std::get_if<Loop>(&step.what)) set_all(loop->body);
}

}  // namespace

ValueId Emission::make_value(ValueKind kind, const std::string& name, const TensorType& type) {
  lowered_.values.push_back({kind, name, type, {}, false});
  return static_cast<ValueId>(lowered_.values.size()) - 1;
}

ValueId Emission::make_host_value(const TensorType& type, const std::string& name) {
  const ValueId value = make_value(ValueKind::temporary, name, type);
  lowered_.values.back().on_host = true;
  return value;
}

Steps Emission::copy_steps(const Operand& from, const Operand& to) const {
  if (traits_.on_host()) return Copy{from.value, to.value, from, to};
  return copy_view(from, to, traits_);
}

Operand Emission::contiguous(const Operand& operand, Steps& steps) {
  const Dims& whole_shape = lowered_.values[size_t(operand.value)].type.shape;
  if (operand.contiguous() && count(operand.shape) == count(whole_shape)) return operand;
  const TensorType type{operand.dtype, operand.shape};
  Operand copy = whole(
      make_value(ValueKind::temporary, lowered_.values[size_t(operand.value)].name + ".copy", type),
      type);
  emit(copy_steps(operand, copy), -1, steps);
  return copy;
}

bool Emission::fits(ValueId value) const {
  const TensorType& whole = lowered_.values[size_t(value)].type;
  return fits_binding(whole.dtype, whole.shape, traits_, lowered_.bounds);
}

// Of a value too large to bind whole, a view of a small part binds only that part.
void Emission::bind_part(Operand& operand) const {
  if (operand.access != Access::read || operand.window || operand.atomic) return;
  if (fits(operand.value)) return;
  Dim first = operand.layout.offset, last = first;
  for (size_t d = 0; d < operand.shape.size(); ++d) {
    const Dim& stride = operand.layout.strides[d];
    Dim& end = runs_backwards(stride) ? first : last;
    end = end + (operand.shape[d] - 1) * stride;
  }
  const Dim bytes = bytes_of(operand.dtype, last - first + 1, traits_);
  if (bytes.range({}).high <= traits_.max_binding_bytes - traits_.storage_alignment)
    operand.window = {first, last - first + 1};
}

// Does the dispatch bind only a window of a value that is too large to be bound whole? Then a
// result cannot take the place of the value.
bool Emission::is_part_of_large(const Dispatch& dispatch, ValueId value) const {
  if (fits(value)) return false;
  return std::any_of(dispatch.operands.begin(), dispatch.operands.end(), [&](const Operand& each) {
    return each.value == value && each.access == Access::read && !each.window &&
           fits_binding(each.dtype, each.shape, traits_);
  });
}

// Lowering cuts what an extent could make too large. Where the bounds of symbols show that one
// shard is all there can be, the dispatch is an ordinary one, whose bind group lasts.
void Emission::join_shards(Dispatch& dispatch) const {
  if (dispatch.repeat.range(lowered_.bounds).high > 1) return;
  dispatch.repeat = 1;
  for (Operand& operand : dispatch.operands)
    if (operand.window && fits(operand.value)) operand.window.reset();
}

// A kernel stores element by element; a packed result gets a temporary and a packing step.
void Emission::emit(Dispatch dispatch, int node, Steps& steps) {
  std::vector<Dispatch> packing;
  std::erase_if(dispatch.in_place,
                [&](const InPlace& pair) { return is_part_of_large(dispatch, pair.from); });
  for (Operand& operand : dispatch.operands) {
    const bool ends_here =
        std::any_of(dispatch.in_place.begin(), dispatch.in_place.end(),
                    [&](const InPlace& pair) { return pair.from == operand.value; });
    if (!ends_here) bind_part(operand);
    if (operand.access == Access::read || dispatch.writes_words ||
        !is_packed(operand.dtype, traits_))
      continue;
    require(operand.access == Access::write, dispatch.kernel.name, ": cannot update packed ",
            operand.dtype, " in place");
    const TensorType wide{unpacked(operand.dtype), operand.shape};
    Operand temporary =
        whole(make_value(ValueKind::temporary, dispatch.kernel.name + ".wide", wide), wide);
    Operand packed = operand;
    packed.window.reset();  // it was the wide result's, of which there are more bytes
    packing.push_back(copy_view(temporary, packed, traits_));
    operand.value = temporary.value;
    operand.dtype = wide.dtype;
  }
  dispatch.flag_node = node + 1;
  if (dispatch.flags_errors && lowered_.flag < 0)
    lowered_.flag = make_value(ValueKind::flag, "error flag", {DType::u32, {4}});
  packing.insert(packing.begin(), std::move(dispatch));
  for (Dispatch& each : packing) {
    join_shards(each);
    take_quads(each, options_.choices);
    add(std::move(each), node, steps);
  }
}

void Emission::emit(Steps more, int node, Steps& steps) {
  for (Step& step : more.list) {
    if (auto* dispatch = std::get_if<Dispatch>(&step.what)) {
      emit(std::move(*dispatch), step.node < 0 ? node : step.node, steps);
      continue;
    }
    set_node(step, node);
    if (const auto* call = std::get_if<Call>(&step.what)) check_strict(call->op, call->reason);
    steps.list.push_back(std::move(step));
  }
}

void Emission::check_strict(const std::string& op, const std::string& reason) const {
  if (options_.strict && !traits_.on_host() && !reason.empty())
    fail(ErrorKind::unsupported, op, ": would run on the host: ", reason);
}

}  // namespace rlx::detail
