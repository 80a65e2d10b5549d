// How reductions run on a device: a few lanes to a row, chunks of long rows, shards of large
// tensors.

#include <algorithm>
#include <cmath>
#include <limits>

#include "rlx/codegen/shards.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/reduce.h"
#include "rlx/ops/row_kernel.h"

namespace rlx {
namespace {

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

// ---- What the kernel calls ----

// The dtype that states are kept in between dispatches: a pair is kept as a complex number.
DType state_dtype(const ReduceFormula& formula, DType dtype) {
  if (dtype == DType::boolean) return dtype;
  return formula.fold == Fold::pair ? DType::c64 : unpacked(dtype);
}

// The end that every element of the dtype replaces.
std::string end_of(bool highest, DType dtype, const std::string& type) {
  if (type == "f32") return highest ? "infinity()" : "-infinity()";
  if (type == "bool") return highest ? "true" : "false";
  if (type == "u32" && !highest) return "0u";
  Tensor end(bytes_of(dtype) > 4 ? unpacked(dtype) : dtype, {});
  end.set(0, highest ? INFINITY : -INFINITY);  // what does not fit gives the nearest end
  const int64_t number = end.integer_at(0);
  if (type == "u32") return text(number, 'u');
  return number == std::numeric_limits<int32_t>::min() ? "i32(-2147483647 - 1)" : text(number);
}

struct FoldText {
  std::string identity, combine;
};

FoldText fold_text(Fold fold, DType dtype, const std::string& type) {
  const bool floats = type == "f32", booleans = type == "bool";
  switch (fold) {
    case Fold::sum:
      return {text(type, "(0)"), "a + b"};
    case Fold::product:
      return {text(type, "(1)"), "a * b"};
    case Fold::highest:
      return {end_of(false, dtype, type), floats     ? "max_or_nan(a, b)"
                                          : booleans ? "a || b"
                                                     : "max(a, b)"};
    case Fold::lowest:
      return {end_of(true, dtype, type), floats     ? "min_or_nan(a, b)"
                                         : booleans ? "a && b"
                                                    : "min(a, b)"};
    default:
      return {"vec2<f32>(-infinity(), 0.0)", "join_pairs(a, b)"};
  }
}

constexpr const char* kResult =
    "fn result_of(state: T, output: u32) -> Result { return finish(state); }";
// Where the sum has left the range, once more and smaller: by one lane, since it is rare.
constexpr const char* kAverage = R"(fn result_of(state: T, output: u32) -> Result {
  if (!is_inf(state) && !is_nan(state)) { return finish(state); }
  let start = output / params.chunks * params.row_length;
  let begin = output % params.chunks * params.chunk_length;
  let stop = min(begin + params.chunk_length, params.row_length);
  var sum = 0.0;
  var near = 0.0;
  for (var i = begin; i < stop;) {
    let end = i + min(stop - i, BLOCK);
    var block = 0.0;
    for (; i < end; i++) { block += map_element(load_x(start + i)) * 0x1p-40; }
    near += block;
    if ((end - begin) % (BLOCK * BLOCK) == 0u) {
      sum += near;
      near = 0.0;
    }
  }
  return finish(sum + near) * 0x1p40;
})";

// The functions of a dispatch that takes elements (first) or states, and gives results (last) or
// states.
std::vector<std::string> functions_of(const ReduceFormula& formula, DType dtype, bool first,
                                      bool last, const DeviceTraits& traits) {
  const std::string element = device_storage(dtype, traits).compute;
  const std::string state = formula.fold == Fold::pair ? "vec2<f32>" : element;
  const FoldText fold = fold_text(formula.fold, dtype, element);
  // Between dispatches, a sum that will be divided is kept this much smaller: chunks are no longer.
  const std::string handed_on = formula.averages && first ? "v * 0x1p-12" : "v";
  return {text("alias T = ", state, ";"),
          text("fn identity() -> T { return ", fold.identity, "; }"),
          text("fn combine(a: T, b: T) -> T { return ", fold.combine, "; }"),
          text("fn map_element(v: ", first ? element : "T", ") -> T { return ",
               first ? formula.map : "v", "; }"),
          text("alias Result = ", last ? element : "T", ";"),
          last ? text("fn finish(v: T) -> Result {\n  let n = f32(params.elements)",
                      formula.averages && !first ? " * 0x1p-12" : "", ";\n  return ",
                      formula.finish, ";\n}")
               : text("fn finish(v: T) -> Result { return ", handed_on, "; }"),
          formula.averages ? kAverage : kResult};
}

Kernel reduce_kernel(const ReduceFormula& formula, int64_t lanes) {
  const char* fold = lanes == 1 ? "fold_alone" : "fold";
  if (formula.fold == Fold::pair)
    return kernel("reduce", {"numbers", "functions", "log_pairs", fold});
  if (formula.finish.find("_f32") != std::string::npos)
    return kernel("reduce", {"numbers", "functions", fold});
  return kernel("reduce", {"numbers", fold});
}

// ---- Dispatches ----

bool is_long(const Dim& length) { return !length.is_number() || length.number() >= kLongRow; }

// Rows cut into chunks, each of which makes one output.
struct Chunks {
  Dim count = 1;   // to a row
  Dim length = 0;  // of each but the last
};

// One pass over rows: from elements or states to results or states.
struct Pass {
  const ReduceFormula& formula;
  DType dtype;   // of the elements
  Dim elements;  // of a whole row of them
  bool first = true, last = true;
};

Dispatch reduce_chunks(const ReducedRows& rows, const Chunks& chunks, const Operand& y,
                       const Pass& pass, const DeviceTraits& traits) {
  const Dim outputs = rows.count * chunks.count;
  const LaneShare share = share_lanes(outputs, chunks.length, !rows.innermost, traits);
  Dispatch dispatch{
      .kernel = reduce_kernel(pass.formula, share.lanes),
      .operands = {rows.x, LowerSite::named(y, "y", Access::write)},
      .constants = {{"WORKGROUP", share.workgroup},
                    {"LANES", share.lanes},
                    {"LONG", is_long(pass.elements)}},
      .prelude = functions_of(pass.formula, pass.dtype, pass.first, pass.last, traits),
  };
  Dim first = 0, end = outputs;
  const bool contiguous = rows.x.contiguous() && chunks.length.is_number();
  if (contiguous && !fits_binding(rows.x.dtype, rows.x.shape, traits)) {
    const int64_t bytes = std::max({device_storage(rows.x.dtype, traits).bytes,
                                    device_storage(y.dtype, traits).bytes, int64_t{4}});
    const int64_t length = std::max<int64_t>(chunks.length.number(), 1);
    // A window may have to start a little earlier, where a binding can.
    const int64_t room = traits.max_binding_bytes / bytes - traits.storage_alignment / 4;
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
  dispatch.prelude.emplace_back("fn merge(at: u32, v: Result) -> Result { return v; }");
  dispatch.params = {{"first", first},           {"end", end},
                     {"output_base", 0},         {"row_length", rows.length},
                     {"chunks", chunks.count},   {"chunk_length", chunks.length},
                     {"elements", pass.elements}};
  dispatch.workgroups = ceil_div(end - first, share.workgroup / share.lanes);
  return dispatch;
}

// For rows that are scattered over a tensor too large to bind: blocks are taken in memory order,
// and each block adds its partial results to the outputs.
Steps reduce_blocks(const LowerSite& site, const ReduceFormula& formula,
                    const std::vector<bool>& reduced, const Shards& shards, const Operand& spread) {
  const Operand& x = site.inputs[0];
  const Operand total = site.temporary("y", {spread.dtype, site.results[0].shape});
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
  const LaneShare share = share_lanes(rows.count, rows.length, !rows.innermost, site.traits);
  Dispatch dispatch{
      .kernel = reduce_kernel(formula, share.lanes),
      .operands = {rows.x, y},
      .constants = {{"WORKGROUP", share.workgroup},
                    {"LANES", share.lanes},
                    {"LONG", is_long(length)}},
      .params = {{"first", 0},
                 {"end", rows.count},
                 {"output_base", first_of(spread, shards)},
                 {"row_length", rows.length},
                 {"chunks", 1},
                 {"chunk_length", rows.length},
                 {"earlier", earlier}},
      .prelude = functions_of(formula, x.dtype, true, false, site.traits),
      .workgroups = ceil_div(rows.count, share.workgroup / share.lanes),
      .repeat = shards.repeat,
  };
  dispatch.prelude.emplace_back(
      "fn merge(at: u32, v: T) -> T {\n"
      "  if (params.earlier == 0u) { return v; }\n"
      "  return combine(load_y(at), v);\n}");
  // Each total is then a row of one state.
  const Dim outputs = count(total.shape);
  ReducedRows totals{LowerSite::named(total, "x", Access::read), outputs, 1, true};
  totals.x.shape = {outputs};
  totals.x.layout = Layout::row_major(totals.x.shape);
  Steps steps = dispatch;
  steps.add(reduce_chunks(totals, {1, 1}, site.results[0], {formula, x.dtype, length, false, true},
                          site.traits));
  return steps;
}

// Does reduce_blocks have to do it, and how?
std::optional<Steps> lower_in_blocks(const LowerSite& site, const ReduceFormula& formula,
                                     const std::vector<bool>& reduced) {
  const Operand& x = site.inputs[0];
  const bool large = is_concrete(x.shape) && !fits_binding(x.dtype, x.shape, site.traits);
  if (!large || rows_of(x, reduced).x.contiguous()) return std::nullopt;
  Operand spread = site.results[0];  // the result as a view of x's shape
  spread.dtype = state_dtype(formula, x.dtype);
  Dims kept = x.shape;
  for (size_t d = 0; d < kept.size(); ++d)
    if (reduced[d]) kept[d] = 1;
  spread.layout.strides = strides_of(kept);
  for (size_t d = 0; d < kept.size(); ++d)
    if (reduced[d]) spread.layout.strides[d] = 0;
  spread.shape = x.shape;
  const auto shards = cut(x.shape, {x, spread}, 1, site.traits);
  if (!shards) return std::nullopt;
  return reduce_blocks(site, formula, reduced, *shards, spread);
}

int64_t bindable_chunk(const DeviceTraits& traits) { return shard_elements(4, traits) / 2; }

// Can a row not be bound whole?
bool is_too_long(const ReducedRows& rows, const DeviceTraits& traits) {
  const bool shards = rows.x.contiguous() && !fits_binding(rows.x.dtype, rows.x.shape, traits);
  return shards && (!rows.length.is_number() || rows.length.number() > bindable_chunk(traits));
}

// A long row, when there are few, is cut so that many workgroups share it; so is one that cannot be
// bound whole.
Chunks chunks_of(const ReducedRows& rows, const DeviceTraits& traits) {
  constexpr int64_t kChunk = 4096, kFewRows = 64;
  const bool few_rows = rows.count.is_number() && rows.count.number() < kFewRows;
  const bool long_rows = !rows.length.is_number() || rows.length.number() > kChunk;
  if (!is_too_long(rows, traits) && !(few_rows && long_rows)) return {1, rows.length};
  const int64_t length = std::min(kChunk, bindable_chunk(traits));
  return {max(ceil_div(rows.length, length), 1), length};
}

}  // namespace

Steps lower_reduction(const LowerSite& site, const ReduceFormula& formula) {
  const DType dtype = site.in(0).dtype;
  const bool grows = formula.fold == Fold::sum || formula.fold == Fold::product;
  if (grows && is_wide_integer(dtype)) return site.wide_integers_on_host();
  const std::vector<bool> reduced = reduced_axes(site.node.op->name, site.attrs(), site.in(0));
  if (auto steps = lower_in_blocks(site, formula, reduced)) return *std::move(steps);
  ReducedRows rows = rows_of(site.inputs[0], reduced);
  const Dim elements = rows.length;
  Chunks chunks = chunks_of(rows, site.traits);
  bool first = true;
  Steps steps;
  while (!chunks.count.is(1)) {
    const TensorType type{state_dtype(formula, dtype), {rows.count, chunks.count}};
    const Operand partial = site.temporary("y", type);
    steps.add(reduce_chunks(rows, chunks, partial, {formula, dtype, elements, first, false},
                            site.traits));
    rows = rows_of(LowerSite::named(partial, "x", Access::read), {false, true});
    first = false;
    const bool again = rows.length.is_number() && is_too_long(rows, site.traits);
    chunks = again ? chunks_of(rows, site.traits) : Chunks{1, rows.length};
  }
  steps.add(reduce_chunks(rows, chunks, site.results[0], {formula, dtype, elements, first, true},
                          site.traits));
  return steps;
}

}  // namespace rlx
