// concat(parts, axis): the parts one after another along one axis.

#include <algorithm>

#include "rlx/codegen/elementwise.h"
#include "rlx/ir/known.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& concat_op();

namespace {

Types infer(const InferSite& site) {
  TensorType y = site.in(0);
  const size_t axis = axis_of("concat", site.attrs.get<int64_t>("axis"), y);
  for (size_t i = 1; i < site.inputs.size(); ++i) {
    const TensorType& part = site.in(i);
    require(part.dtype == y.dtype && part.shape.size() == y.shape.size(), "concat: ", part,
            " does not fit ", site.in(0));
    for (size_t d = 0; d < y.shape.size(); ++d)
      if (d != axis)
        site.equal(y.shape[d], part.shape[d],
                   text("dim ", d, " of ", site.in(0), " and of ", part));
    y.shape[axis] = y.shape[axis] + part.shape[axis];
  }
  return {y};
}

void reference(const ReferenceSite& site) {
  const size_t axis = axis_of("concat", site.attrs.get<int64_t>("axis"), site.out().type());
  const Shape& shape = site.out().shape();
  int64_t inner = 1, outer = 1, offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) (d < axis ? outer : inner) *= d == axis ? 1 : shape[d];
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    const int64_t length = site.in(i).shape()[axis];
    for (int64_t o = 0; o < outer; ++o)
      copy_elements(site.in(i), o * length * inner, site.out(), (o * shape[axis] + offset) * inner,
                    length * inner);
    offset += length;
  }
}

// The lists that shapes are put together from.
std::optional<HostValue> symbolic(const InferSite& site) {
  HostValue value;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    if (!site.has_host(i) || site.host(i).shape.size() != 1) return std::nullopt;
    const auto& elements = site.host(i).elements;
    value.elements.insert(value.elements.end(), elements.begin(), elements.end());
  }
  if (value.elements.size() > size_t{kMostKnownElements}) return std::nullopt;
  value.shape = {static_cast<int64_t>(value.elements.size())};
  return value;
}

// A few neighbouring parts, as [outer, length, inner] each.
struct Group {
  std::vector<Operand> parts;
  Dims lengths;
  Dim offset;  // of the first one in the result, along the axis
  Dim length() const {
    Dim sum = 0;
    for (const Dim& part : lengths) sum = sum + part;
    return sum;
  }
};

struct Target {
  Operand y;
  Dim outer, total, inner;
  int64_t per_binding;  // elements
};

Dispatch group_dispatch(const LowerSite& site, const Group& group, const Target& target) {
  Dispatch dispatch{.kernel = kernel("concat"), .operands = {}};
  const size_t size = group.parts.size();
  std::string load = text("fn load_part(part: u32, i: u32) -> ", site.compute_type(target.y.dtype),
                          " {\n  switch part {\n");
  Dims starts{0};
  for (size_t p = 0; p < size; ++p) {
    const std::string name = text("x", p);
    dispatch.operands.push_back(LowerSite::named(group.parts[p], name, Access::read));
    load += text(p + 1 < size ? text("    case ", p, "u: ") : "    default: ", "{ return load_",
                 name, "(i); }\n");
    starts.push_back(starts.back() + group.lengths[p]);
  }
  dispatch.operands.push_back(target.y);
  dispatch.constants = {{"PARTS", static_cast<int64_t>(size)}};
  dispatch.params = {{"inner", target.inner},
                     {"length", group.length()},
                     {"total", target.total},
                     {"offset", group.offset},
                     {"starts", starts}};
  dispatch.prelude = {load + "  }\n}"};
  return dispatch;
}

void set_range(Dispatch& dispatch, const Dim& first, const Dim& end) {
  dispatch.params.emplace_back("first", first);
  dispatch.params.emplace_back("end", end);
  dispatch.workgroups = ceil_div(end - first, 64);
}

// A part that is one run of the result, in shards of equal size.
Dispatch copy_part(const LowerSite& site, const Group& group, const Target& target) {
  Dispatch dispatch = group_dispatch(site, group, target);
  const Dim elements = group.length() * target.inner;
  dispatch.repeat = ceil_div(elements, target.per_binding);
  const Dim first = shard_of(dispatch.repeat) * Dim(target.per_binding);
  const Dim end = min(elements, first + target.per_binding);
  if (dispatch.operands[0].contiguous()) dispatch.operands[0].window = {first, end - first};
  dispatch.operands[1].window = {group.offset * target.inner + first, end - first};
  set_range(dispatch, first, end);
  return dispatch;
}

// Parts side by side, in shards of whole rows of the result.
Dispatch copy_rows(const LowerSite& site, const Group& group, const Target& target) {
  Dispatch dispatch = group_dispatch(site, group, target);
  const Dim row = target.total * target.inner;
  const Dim rows = larger(floor_div(target.per_binding, larger(row, 1)), 1);
  dispatch.repeat = ceil_div(target.outer, rows);
  const Dim first = shard_of(dispatch.repeat) * rows, taken = min(rows, target.outer - first);
  for (size_t p = 0; p < group.parts.size(); ++p) {
    const Dim part_row = group.lengths[p] * target.inner;
    if (dispatch.operands[p].contiguous())
      dispatch.operands[p].window = {first * part_row, taken * part_row};
  }
  dispatch.operands.back().window = {first * row, taken * row};
  const Dim group_row = group.length() * target.inner;
  set_range(dispatch, first * group_row, (first + taken) * group_row);
  return dispatch;
}

std::vector<Group> make_groups(const LowerSite& site, size_t axis, size_t most) {
  std::vector<Group> groups;
  Dim offset = 0;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    const Dim& length = site.in(i).shape[axis];
    if (length.is(0)) continue;
    if (groups.empty() || groups.back().parts.size() == most) groups.push_back({{}, {}, offset});
    groups.back().parts.push_back(site.inputs[i]);
    groups.back().lengths.push_back(length);
    offset = offset + length;
  }
  return groups;
}

Steps lower(const LowerSite& site) {
  const Dims& shape = site.out().shape;
  const size_t axis = axis_of("concat", site.attrs().get<int64_t>("axis"), site.out());
  const bool packed = is_packed(site.out().dtype, site.traits);
  const TensorType wide{packed ? unpacked(site.out().dtype) : site.out().dtype, shape};
  bool large = !fits_binding(wide.dtype, shape, site.traits);
  for (size_t i = 0; i < site.inputs.size(); ++i)
    large |= !fits_binding(wide.dtype, site.in(i).shape, site.traits);

  const int64_t bytes = std::max<int64_t>(device_storage(wide.dtype, site.traits).bytes, 4);
  Target target{site.write("y"), product(shape, 0, axis), shape[axis],
                product(shape, axis + 1, shape.size()), window_elements(bytes, site.traits)};
  const bool one_row = target.outer.is(1);
  const auto most = large && one_row ? 1 : static_cast<size_t>(site.traits.max_storage_buffers) - 1;
  const std::vector<Group> groups = make_groups(site, axis, most);
  const bool unpack =
      packed && (large || groups.size() > 1);  // whole words are packed once, at the end
  if (unpack) target.y = site.temporary("y", wide);
  Steps steps;
  for (const Group& group : groups) {
    if (!large) {
      Dispatch dispatch = group_dispatch(site, group, target);
      set_range(dispatch, 0, target.outer * group.length() * target.inner);
      steps.add(dispatch);
    } else {
      steps.add(one_row ? copy_part(site, group, target) : copy_rows(site, group, target));
    }
    target.y.access = Access::read_write;  // the next one leaves what this one wrote
  }
  if (unpack) steps.add(copy_view(target.y, site.results[0], site.traits));
  return steps;
}

Gradients gradient(const GradientSite& site) {
  const size_t axis = axis_of("concat", site.attrs().get<int64_t>("axis"), site.y().type());
  Gradients gradients;
  Dim start = 0;
  for (const Value& part : site.inputs) {
    const Dim end = start + part.shape()[axis];
    gradients.push_back(site.inputs.size() == 1 ? site.dy()
                                                : slice_axis(site.dy(), axis, start, end));
    start = end;
  }
  return gradients;
}

}  // namespace

const OpDef& concat_op() {
  static const OpDef op{
      .name = "concat",
      .family = "shape",
      .inputs = {1, kMany, {"x"}},
      .attrs = {{"axis"}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .symbolic = symbolic,
      .never_fails = true,
      .onnx = "Concat",
  };
  return op;
}

Value concat(const Values& parts, int64_t axis) {
  require(!parts.empty(), "concat: takes at least 1 inputs, got 0");
  return parts[0].apply(concat_op(), parts, {{"axis", axis}});
}

}  // namespace rlx
