// sum, mean, reduce_max and reduce_min over any axes; none given means all.

#include <algorithm>
#include <cmath>
#include <limits>

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops.h"

namespace rlx {
namespace {

enum class Kind { sum, mean, max, min };

std::vector<bool> reduced_axes(std::string_view op, const Attrs& attrs, const TensorType& x) {
  const Ints& axes = attrs.get<Ints>("axes");
  std::vector<bool> reduced(x.shape.size(), axes.empty());
  for (const int64_t axis : axes) {
    const size_t at = axis_of(op, axis, x);
    require(!reduced[at], op, ": axis ", axis, " is given twice");
    reduced[at] = true;
  }
  return reduced;
}

template <Kind kKind>
Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  const bool number = is_float(x.dtype) || (is_integer(x.dtype) && kKind != Kind::mean);
  require(number, site.op.name, ": takes floats", kKind == Kind::mean ? "" : " or integers",
          ", got ", x);
  const std::vector<bool> reduced = reduced_axes(site.op.name, site.attrs, x);
  const bool keep = site.attrs.get<bool>("keep");
  TensorType result{x.dtype, {}};
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d])
      result.shape.push_back(x.shape[d]);
    else if (keep)
      result.shape.emplace_back(1);
  }
  return {result};
}

// ---- Reference ----

template <class T>
T identity_of(Kind kind, DType dtype) {
  if (kind == Kind::sum || kind == Kind::mean) return 0;
  if constexpr (std::is_same_v<T, double>) return kind == Kind::max ? -INFINITY : INFINITY;
  if (dtype == DType::u64) return kind == Kind::max ? 0 : std::numeric_limits<T>::max();
  Tensor end(dtype, {});  // a set that does not fit gives the nearest end
  end.set(0, kind == Kind::max ? -INFINITY : INFINITY);
  return static_cast<T>(end.integer_at(0));
}

template <class T>
T combined(Kind kind, T a, T b) {
  switch (kind) {
    case Kind::max:
      return a >= b || a != a ? a : b;
    case Kind::min:
      return a <= b || a != a ? a : b;
    default:
      break;
  }
  if constexpr (std::is_same_v<T, int64_t>)
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}

template <class T>
std::vector<T> reduced_values(Kind kind, const Tensor& x, const std::vector<bool>& reduced,
                              int64_t outputs) {
  Shape kept = x.shape();
  for (size_t d = 0; d < kept.size(); ++d)
    if (reduced[d]) kept[d] = 1;
  const Shape strides = strides_of(x.shape()), targets = strides_of(kept);
  std::vector<T> values(static_cast<size_t>(outputs), identity_of<T>(kind, x.dtype()));
  for (int64_t i = 0; i < x.count(); ++i) {
    int64_t target = 0;
    for (size_t d = 0; d < kept.size(); ++d)
      if (!reduced[d]) target += i / strides[d] % x.shape()[d] * targets[d];
    T& value = values[static_cast<size_t>(target)];
    if constexpr (std::is_same_v<T, double>)
      value = combined<T>(kind, value, x.at(i));
    else
      value = combined<T>(kind, value, static_cast<T>(x.integer_at(i)));
  }
  return values;
}

template <Kind kKind>
void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  Tensor& y = site.out();
  const std::vector<bool> reduced = reduced_axes(site.op.name, site.attrs, x.type());
  int64_t row_length = 1;
  for (size_t d = 0; d < reduced.size(); ++d)
    if (reduced[d]) row_length *= x.shape()[d];
  if (is_float(x.dtype())) {
    const std::vector<double> values = reduced_values<double>(kKind, x, reduced, y.count());
    const double divisor = kKind == Kind::mean ? static_cast<double>(row_length) : 1;
    for (int64_t i = 0; i < y.count(); ++i) y.set(i, values[static_cast<size_t>(i)] / divisor);
  } else if (x.dtype() == DType::u64) {
    const std::vector<uint64_t> values = reduced_values<uint64_t>(kKind, x, reduced, y.count());
    for (int64_t i = 0; i < y.count(); ++i)
      y.set_integer(i, static_cast<int64_t>(values[static_cast<size_t>(i)]));
  } else {
    const std::vector<int64_t> values = reduced_values<int64_t>(kKind, x, reduced, y.count());
    for (int64_t i = 0; i < y.count(); ++i) y.set_integer(i, values[static_cast<size_t>(i)]);
  }
}

// ---- Lowering ----

// An operand seen as [rows, row_length], the reduced axes innermost.
struct ReducedRows {
  Operand x;
  Dim count = 1, length = 1;
  bool innermost =
      false;  // the last axis is a reduced one: neighbours of a row are neighbours in x
};

ReducedRows rows_of(const Operand& x, const std::vector<bool>& reduced) {
  ReducedRows rows{LowerSite::named(x, "x", Access::read)};
  rows.x.shape.clear();
  rows.x.layout.strides.clear();
  for (const bool inner : {false, true}) {
    for (size_t d = 0; d < reduced.size(); ++d) {
      if (reduced[d] != inner) continue;
      rows.x.shape.push_back(x.shape[d]);
      rows.x.layout.strides.push_back(x.layout.strides[d]);
      (inner ? rows.length : rows.count) = (inner ? rows.length : rows.count) * x.shape[d];
    }
  }
  rows.innermost = reduced.empty() || reduced.back();
  return rows;
}

// The end that every element of the dtype replaces, as WGSL.
std::string lowest_or_highest(Kind kind, DType dtype, const DeviceTraits& traits) {
  if (is_float(dtype)) return kind == Kind::max ? "-infinity()" : "infinity()";
  const bool wide = dtype == DType::i64 || dtype == DType::u64;
  const DType held = wide ? unpacked(dtype) : dtype;
  const int64_t end = identity_of<int64_t>(kind, held);
  if (device_storage(dtype, traits).compute == "u32") return text(end, 'u');
  return end == std::numeric_limits<int32_t>::min() ? "i32(-2147483647 - 1)" : text(end);
}

std::vector<std::string> functions_of(Kind kind, DType dtype, bool last,
                                      const DeviceTraits& traits) {
  const std::string compute = device_storage(dtype, traits).compute;
  const bool adds = kind == Kind::sum || kind == Kind::mean;
  const std::string identity = adds ? text(compute, "(0)") : lowest_or_highest(kind, dtype, traits);
  const std::string name =
      text(kind == Kind::max ? "max" : "min", compute == "f32" ? "_or_nan" : "");
  const bool divides = kind == Kind::mean && last;
  return {text("alias T = ", compute, ";"), text("fn identity() -> T { return ", identity, "; }"),
          text("fn combine(a: T, b: T) -> T { return ", adds ? "a + b" : name + "(a, b)", "; }"),
          divides
              ? "fn finish(v: T) -> T {\n"
                "  return select(v / f32(params.divisor), make_nan(v), params.divisor == 0u);\n}"
              : "fn finish(v: T) -> T { return v; }"};
}

// How many lanes share a row: few for a short one, and one where neighbouring rows are neighbours
// in memory, if there are rows enough to keep a device busy.
int64_t lanes_of(const ReducedRows& rows, const Dim& chunk_length) {
  constexpr int64_t kWorkgroup = 64, kManyRows = 1024;
  const bool many_rows = !rows.count.is_number() || rows.count.number() >= kManyRows;
  if (!rows.innermost && many_rows) return 1;
  if (!chunk_length.is_number()) return kWorkgroup;
  int64_t lanes = 1;
  while (lanes < kWorkgroup && lanes * 4 < chunk_length.number()) lanes *= 2;
  return lanes;
}

// Rows cut into chunks, and the dispatch that makes one output of each chunk.
struct Chunks {
  Dim count = 1;   // to a row
  Dim length = 0;  // of each but the last
};

Dispatch reduce_chunks(const ReducedRows& rows, const Chunks& chunks, const Operand& y,
                       std::vector<std::string> functions, const Dim& divisor,
                       const DeviceTraits& traits) {
  constexpr int64_t kWorkgroup = 64;
  const bool divides = functions.back().find("params.divisor") != std::string::npos;
  const int64_t lanes = lanes_of(rows, chunks.length);
  const Dim outputs = rows.count * chunks.count;
  Dispatch dispatch{
      .kernel = kernel("reduce", {"numbers"}),
      .operands = {rows.x, LowerSite::named(y, "y", Access::write)},
      .constants = {{"LANES", lanes}},
      .prelude = std::move(functions),
  };
  Dim first = 0, end = outputs;
  const bool contiguous = rows.x.contiguous() && chunks.length.is_number();
  if (contiguous && !fits_binding(rows.x.dtype, rows.x.shape, traits)) {
    const int64_t bytes = std::max<int64_t>(device_storage(rows.x.dtype, traits).bytes, 4);
    const int64_t length = std::max<int64_t>(chunks.length.number(), 1);
    // A window may have to start a little earlier, where a binding can.
    const int64_t room = traits.max_binding_bytes / bytes - traits.storage_alignment;
    const int64_t per_shard = std::max<int64_t>(room / length, 1);
    const auto start = [&](const Dim& output) {
      if (chunks.count.is(1)) return output * rows.length;
      return floor_div(output, chunks.count) * rows.length +
             mod(output, chunks.count) * chunks.length;
    };
    first = Dim(kShard) * Dim(per_shard);
    end = min(outputs, first + per_shard);
    const Dim from = start(first), elements = rows.count * rows.length;
    dispatch.repeat = ceil_div(outputs, per_shard);
    dispatch.operands[0].window = {from, min(elements - from, Dim(per_shard * length))};
    dispatch.operands[1].window = {first, end - first};
  }
  dispatch.prelude.emplace_back("fn merge(at: u32, v: T) -> T { return v; }");
  dispatch.params = {{"first", first},         {"end", end},
                     {"output_base", 0},       {"row_length", rows.length},
                     {"chunks", chunks.count}, {"chunk_length", chunks.length}};
  if (divides) dispatch.params.emplace_back("divisor", divisor);
  dispatch.workgroups = ceil_div(end - first, kWorkgroup / lanes);
  return dispatch;
}

// Rows that lie all over a tensor beyond the limit: its blocks are taken in the order of memory,
// and each adds its share to the outputs it has a part in.
Steps reduce_blocks(const LowerSite& site, Kind kind, const std::vector<bool>& reduced,
                    const Shards& shards, const Operand& spread) {
  const Operand& x = site.inputs[0];
  const Operand total = site.temporary("y", {unpacked(x.dtype), site.results[0].shape});
  Operand block = x;
  block.shape = shards.extents;
  block.layout.offset = first_of(x, shards);
  ReducedRows rows = rows_of(block, reduced);
  rows.x.window = window_of(x, shards);
  Dim earlier = 0, length = 1;  // where the block starts along the reduced axes: 0 is the first
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) continue;
    earlier = earlier + shards.starts[d];
    length = length * x.shape[d];
  }
  Operand y = LowerSite::named(total, "y", Access::read_write);
  y.window = window_of(spread, shards);
  const int64_t lanes = lanes_of(rows, rows.length);
  Dispatch dispatch{
      .kernel = kernel("reduce", {"numbers"}),
      .operands = {rows.x, y},
      .constants = {{"LANES", lanes}},
      .params = {{"first", 0},
                 {"end", rows.count},
                 {"output_base", first_of(spread, shards)},
                 {"row_length", rows.length},
                 {"chunks", 1},
                 {"chunk_length", rows.length},
                 {"earlier", earlier}},
      .prelude = functions_of(kind, x.dtype, false, site.traits),
      .workgroups = ceil_div(rows.count, 64 / lanes),
      .repeat = shards.repeat,
  };
  dispatch.prelude.emplace_back(
      "fn merge(at: u32, v: T) -> T {\n"
      "  if (params.earlier == 0u) { return v; }\n"
      "  return combine(load_y(at), v);\n}");
  Formula last{.name = site.node.op->name,
               .operands = {LowerSite::named(total, "x", Access::read)},
               .result = site.results[0],
               .expression = "x"};
  if (kind == Kind::mean) {
    last.expression = "x / divisor";
    last.params = {Param("divisor", static_cast<double>(length.number()))};
  }
  Steps steps = dispatch;
  steps.add(generate(last, site.traits));
  return steps;
}

// Does reduce_blocks have to do it, and how?
std::optional<Steps> lower_in_blocks(const LowerSite& site, Kind kind,
                                     const std::vector<bool>& reduced) {
  const Operand& x = site.inputs[0];
  const bool large = is_concrete(x.shape) && !fits_binding(x.dtype, x.shape, site.traits);
  if (!large || rows_of(x, reduced).x.contiguous()) return std::nullopt;
  Operand spread = site.results[0];  // the result as a view of x's shape
  spread.dtype = unpacked(x.dtype);
  Dims kept = x.shape;
  for (size_t d = 0; d < kept.size(); ++d)
    if (reduced[d]) kept[d] = 1;
  const Dims strides = strides_of(kept);
  spread.layout.strides = strides;
  for (size_t d = 0; d < kept.size(); ++d)
    if (reduced[d]) spread.layout.strides[d] = 0;
  spread.shape = x.shape;
  const auto shards = cut(x.shape, {x, spread}, 1, site.traits);
  if (!shards) return std::nullopt;
  return reduce_blocks(site, kind, reduced, *shards, spread);
}

// A long row, when there are few, is cut so that many workgroups share it; so is one that cannot be
// bound whole.
Chunks chunks_of(const ReducedRows& rows, const DeviceTraits& traits) {
  constexpr int64_t kChunk = 4096, kFewRows = 64;
  const bool few_rows = rows.count.is_number() && rows.count.number() < kFewRows;
  const bool long_rows = !rows.length.is_number() || rows.length.number() > kChunk;
  const int64_t bindable = shard_elements(4, traits) / 2;
  const bool shards = rows.x.contiguous() && !fits_binding(rows.x.dtype, rows.x.shape, traits);
  const bool too_long = shards && (!rows.length.is_number() || rows.length.number() > bindable);
  if (!too_long && !(few_rows && long_rows)) return {1, rows.length};
  const int64_t length = std::min(kChunk, bindable);
  return {max(ceil_div(rows.length, length), 1), length};
}

template <Kind kKind>
Steps lower(const LowerSite& site) {
  const DType dtype = site.in(0).dtype;
  if (kKind == Kind::sum && (dtype == DType::i64 || dtype == DType::u64)) {
    const auto run = [&node = site.node](const std::vector<const Tensor*>& inputs,
                                         std::vector<Tensor>& results,
                                         const SymbolValues& symbols) {
      node.op->reference({*node.op, inputs, node.attrs, results, symbols});
    };
    return Host{site.node.op->name,
                run,
                {site.inputs[0]},
                {site.results[0].value},
                text("sum of ", dtype, " may leave the 32 bits a device has"),
                &site.node};
  }
  const std::vector<bool> reduced = reduced_axes(site.node.op->name, site.attrs(), site.in(0));
  if (auto steps = lower_in_blocks(site, kKind, reduced)) return *std::move(steps);
  const ReducedRows rows = rows_of(site.inputs[0], reduced);
  const Chunks chunks = chunks_of(rows, site.traits);
  const auto functions = [&](bool last) { return functions_of(kKind, dtype, last, site.traits); };
  if (chunks.count.is(1))
    return reduce_chunks(rows, chunks, site.results[0], functions(true), rows.length, site.traits);

  const TensorType type{unpacked(dtype), {rows.count, chunks.count}};
  const Operand partial = site.temporary("y", type);
  const ReducedRows partial_rows =
      rows_of(LowerSite::named(partial, "x", Access::read), {false, true});
  Steps steps;
  steps.add(reduce_chunks(rows, chunks, partial, functions(false), 1, site.traits));
  steps.add(reduce_chunks(partial_rows, {1, chunks.count}, site.results[0], functions(true),
                          rows.length, site.traits));
  return steps;
}

// ---- Gradients ----

// A value of the result's shape, with the reduced axes back as ones.
Value with_axes(Value y, const GradientSite& site) {
  if (site.attrs().get<bool>("keep")) return y;
  const std::vector<bool> reduced =
      reduced_axes(site.node.op->name, site.attrs(), site.in(0).type());
  Ints axes;
  for (size_t d = 0; d < reduced.size(); ++d)
    if (reduced[d]) axes.push_back(static_cast<int64_t>(d));
  return axes.empty() ? y : unsqueeze(y, axes);
}

Gradients sum_gradient(const GradientSite& site) {
  return {expand(with_axes(site.dy(), site), site.in(0).shape())};
}

Gradients mean_gradient(const GradientSite& site) {
  const Value x = site.in(0);
  const std::vector<bool> reduced = reduced_axes("mean", site.attrs(), x.type());
  Dim row_length = 1;
  Value factors;  // of the row's length that only a run knows
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) continue;
    if (x.shape()[d].is_number()) {
      row_length = row_length * x.shape()[d];
      continue;
    }
    const int64_t at = static_cast<int64_t>(d);
    const Value extent = squeeze(slice(shape_of(x), Ints{at}, Ints{at + 1}), {0});
    factors = factors ? factors * extent : extent;
  }
  Value share = with_axes(site.dy(), site) / scalar(x, static_cast<double>(row_length.number()));
  if (factors) share = share / cast(factors, x.dtype());
  return {expand(share, x.shape())};
}

// Equals share the gradient.
Gradients extreme_gradient(const GradientSite& site) {
  const Value x = site.in(0);
  const Value chosen = cast(equal(x, with_axes(site.y(), site)), x.dtype());
  const Value chosen_count =
      with_axes(sum(chosen, site.attrs().get<Ints>("axes"), site.attrs().get<bool>("keep")), site);
  return {chosen * (with_axes(site.dy(), site) / chosen_count)};
}

template <Kind kKind>
OpDef reduction(const char* name, const char* onnx, Gradients (*gradient)(const GradientSite&)) {
  return {
      .name = name,
      .family = "reductions",
      .inputs = {1, 1, {"x"}},
      .attrs = {{"axes", Ints{}}, {"keep", false}},
      .infer = infer<kKind>,
      .reference = reference<kKind>,
      .lower = lower<kKind>,
      .gradient = gradient,
      .onnx = onnx,
  };
}

}  // namespace

const OpDef& sum_op() {
  static const OpDef op = reduction<Kind::sum>("sum", "ReduceSum", sum_gradient);
  return op;
}
const OpDef& mean_op() {
  static const OpDef op = reduction<Kind::mean>("mean", "ReduceMean", mean_gradient);
  return op;
}
const OpDef& reduce_max_op() {
  static const OpDef op = reduction<Kind::max>("reduce_max", "ReduceMax", extreme_gradient);
  return op;
}
const OpDef& reduce_min_op() {
  static const OpDef op = reduction<Kind::min>("reduce_min", "ReduceMin", extreme_gradient);
  return op;
}

Value sum(Value x, const Ints& axes, bool keep) {
  return x.apply(sum_op(), {x}, {{"axes", axes}, {"keep", keep}});
}
Value mean(Value x, const Ints& axes, bool keep) {
  return x.apply(mean_op(), {x}, {{"axes", axes}, {"keep", keep}});
}
Value reduce_max(Value x, const Ints& axes, bool keep) {
  return x.apply(reduce_max_op(), {x}, {{"axes", axes}, {"keep", keep}});
}
Value reduce_min(Value x, const Ints& axes, bool keep) {
  return x.apply(reduce_min_op(), {x}, {{"axes", axes}, {"keep", keep}});
}

}  // namespace rlx
