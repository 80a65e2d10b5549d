#include "rlx/passes/slices.h"

#include <algorithm>

#include "rlx/ops/views.h"

namespace rlx {

const OpDef& slice_op();

namespace {

// Numbers of a list that is an attribute or a host operand.
std::optional<Dims> host_list(const Node& node, const char* attr, size_t operand) {
  if (node.attrs.has(attr)) return dims_attr(node.attrs, attr);
  if (operand >= node.inputs.size() || !node.inputs[operand].present()) return std::nullopt;
  const Value& value = node.inputs[operand];
  const auto& host = value.producer().host_values[static_cast<size_t>(value.result)];
  if (!host) return std::nullopt;
  return Dims(host->elements.begin(), host->elements.end());
}

}  // namespace

std::optional<Dims> starts_of(const Node& slice) { return host_list(slice, "starts", 1); }

std::optional<Dims> pads_of(const Node& pad) { return host_list(pad, "pads", 1); }

std::optional<Stretch> stretch_of(const Node& slice) {
  if (slice.op.get() != &slice_op()) return std::nullopt;
  const Dims &from = slice.inputs[0].shape(), &to = slice.types[0].shape;
  const auto starts = starts_of(slice);
  const Ints &axes = slice.attrs.get<Ints>("axes"), &steps = slice.attrs.get<Ints>("steps");
  if (!starts || std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step != 1; }))
    return std::nullopt;
  std::optional<Stretch> found;
  for (size_t i = 0; i < starts->size(); ++i) {
    const int64_t given = axes.empty() ? static_cast<int64_t>(i) : axes[i];
    const auto axis = static_cast<size_t>(given < 0 ? given + rank(slice.types[0]) : given);
    if (from[axis] == to[axis]) continue;
    const Dim& start = (*starts)[i];
    if (found || !start.is_number() || !from[axis].is_number() || !to[axis].is_number())
      return std::nullopt;
    const int64_t extent = from[axis].number(),
                  first = start.number() < 0 ? start.number() + extent : start.number();
    found = Stretch{axis, std::clamp<int64_t>(first, 0, extent), to[axis].number()};
  }
  return found;
}

std::optional<int64_t> every_second(const Node& slice) {
  if (slice.op.get() != &slice_op()) return std::nullopt;
  const Dims &from = slice.inputs[0].shape(), &to = slice.types[0].shape;
  const auto starts = starts_of(slice);
  const Ints &axes = slice.attrs.get<Ints>("axes"), &steps = slice.attrs.get<Ints>("steps");
  const int64_t last = rank(slice.types[0]) - 1;
  if (!starts || starts->size() != 1 || steps != Ints{2} || axes.size() != 1 ||
      (axes[0] != -1 && axes[0] != last) || !(*starts)[0].is_number())
    return std::nullopt;
  const int64_t first = (*starts)[0].number();
  const bool halves = from.back().is_number() && to.back().is_number() &&
                      from.back().number() == 2 * to.back().number();
  return halves && (first == 0 || first == 1) ? std::optional(first) : std::nullopt;
}

}  // namespace rlx
