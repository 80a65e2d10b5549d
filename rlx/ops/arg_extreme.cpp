// argmax(x, axis) and argmin(x, axis): where the extreme of each row is, the first of equals (or
// the last, by attribute). The first NaN counts as more extreme than any number.

#include <algorithm>
#include <cmath>

#include "rlx/codegen/shards.h"
#include "rlx/ops/ops_search.h"
#include "rlx/ops/row_kernel.h"

namespace rlx {
namespace {

enum class Side { highest, lowest };

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  require(x.dtype != DType::c64, site.op.name, ": complex numbers have no order, got ", x);
  const size_t axis = axis_of(site);
  require(!x.shape[axis].is(0), site.op.name, ": axis ", axis, " of ", x, " has no elements");
  Dims shape = x.shape;
  if (site.attrs.get<bool>("keep"))
    shape[axis] = 1;
  else
    shape.erase(shape.begin() + static_cast<Dims::difference_type>(axis));
  return {i64(shape)};
}

// The index of the element that none other is before, by a strict order.
template <class Read, class Before>
void find_extremes(const ReferenceSite& site, Read read, Before before) {
  const Tensor& x = site.in(0);
  const ConcreteRows rows(x.shape(), axis_of(site));
  if (rows.length == 0 && rows.count > 0)
    fail(ErrorKind::invalid_input, site.op.name, ": a row of ", x.type(), " has no elements");
  const bool last = site.attrs.get<bool>("select_last");
  for (int64_t row = 0; row < rows.count; ++row) {
    int64_t best = 0;
    for (int64_t i = 1; i < rows.length; ++i) {
      const auto v = read(rows.at(row, i)), champion = read(rows.at(row, best));
      if (before(v, champion) || (last && !before(champion, v))) best = i;
    }
    site.out().set_integer(row, best);
  }
}

template <Side kSide>
void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const auto further = [](auto a, auto b) { return kSide == Side::highest ? a > b : a < b; };
  if (is_float(x.dtype())) {
    find_extremes(
        site, [&](int64_t i) { return x.at(i); },
        [&](double a, double b) {
          return std::isnan(a) || std::isnan(b) ? std::isnan(a) && !std::isnan(b) : further(a, b);
        });
  } else if (is_signed_integer(x.dtype())) {
    find_extremes(
        site, [&](int64_t i) { return x.integer_at(i); }, further);
  } else {
    find_extremes(
        site, [&](int64_t i) { return static_cast<uint64_t>(x.integer_at(i)); }, further);
  }
}

// An unsigned number for each element: the larger, the further out.
std::string key_function(Side side, const std::string& type) {
  std::string key = "v";
  if (type == "f32") key = "bitcast<u32>(order(v)) ^ 0x80000000u";
  if (type == "i32") key = "bitcast<u32>(v) ^ 0x80000000u";
  if (type == "bool") key = "select(0u, 1u, v)";
  if (side == Side::lowest) key = text("~(", key, ")");
  if (type == "f32") key = text("select(", key, ", 0xffffffffu, is_nan(v))");
  return text("fn key(v: ", type, ") -> u32 { return ", key, "; }");
}

constexpr const char* kOwnIndex = "fn candidate(at: u32, i: u32) -> u32 { return i; }";
constexpr const char* kFoundIndex =
    "fn candidate(at: u32, i: u32) -> u32 { return u32(load_found(at)); }";

struct Search {
  Rows rows;
  Dim chunks = 1, chunk_length = 0;
  Dim candidates = 0;  // of a row
};

Dispatch find(const LowerSite& site, const Search& search, std::vector<std::string> functions,
              const Operand& y) {
  const Dim outputs = search.rows.count * search.chunks;
  const LaneShare share =
      share_lanes(outputs, search.chunk_length, !search.rows.stride.is(1), site.traits);
  std::vector<Operand> operands = {site.read("x", 0), LowerSite::named(y, "y", Access::write)};
  RowShards shards{0, outputs};
  if (search.chunks.is(1)) shards = cut_rows(search.rows, operands[0], operands[1], 1, site.traits);
  return {
      .kernel = kernel("arg_extreme", {"numbers", share.lanes == 1 ? "fold_alone" : "fold"}),
      .operands = std::move(operands),
      .constants = {{"WORKGROUP", share.workgroup},
                    {"LANES", share.lanes},
                    {"LAST", site.attrs().get<bool>("select_last")}},
      .params = {{"first", shards.first},
                 {"end", shards.end},
                 {"row_length", search.rows.length},
                 {"stride", search.rows.stride},
                 {"chunks", search.chunks},
                 {"chunk_length", search.chunk_length},
                 {"candidates", search.candidates}},
      .prelude = std::move(functions),
      .workgroups = ceil_div(shards.count(), share.workgroup / share.lanes),
      .repeat = shards.repeat,
      .flags_errors = true,
  };
}

// A long row, when there are few, is shared by many workgroups; in shards rows are whole.
template <Side kSide>
Steps lower(const LowerSite& site) {
  constexpr int64_t kChunk = 4096, kFewRows = 64;
  const Rows rows(site.in(0).shape, axis_of(site));
  const std::string key = key_function(kSide, site.compute_type(site.in(0).dtype));
  const bool few = rows.count.is_number() && rows.count.number() < kFewRows;
  const bool long_rows = !rows.length.is_number() || rows.length.number() > kChunk;
  if (!few || !long_rows || !fits_binding(site.in(0).dtype, site.in(0).shape, site.traits))
    return find(site, {rows, 1, rows.length, rows.length}, {key, kOwnIndex}, site.results[0]);

  const Dim chunks = max(ceil_div(rows.length, kChunk), 1);
  const Operand found = site.temporary("found", {DType::i32, {rows.count, chunks}});
  Steps steps;
  steps.add(find(site, {rows, chunks, kChunk, rows.length}, {key, kOwnIndex}, found));
  Dispatch choose = find(site, {rows, 1, chunks, chunks}, {key, kFoundIndex}, site.results[0]);
  choose.operands.push_back(LowerSite::named(found, "found", Access::read));
  steps.add(std::move(choose));
  return steps;
}

template <Side kSide>
OpDef arg_extreme(const char* name, const char* onnx) {
  return {
      .name = name,
      .family = "search",
      .inputs = {1, 1, {"x"}},
      .attrs = {{"axis", 0}, {"keep", false}, {"select_last", false}},
      .infer = infer,
      .reference = reference<kSide>,
      .lower = lower<kSide>,
      .gradient_reason = "an index does not change with the elements, it jumps",
      .onnx = onnx,
  };
}

}  // namespace

const OpDef& argmax_op() {
  static const OpDef op = arg_extreme<Side::highest>("argmax", "ArgMax");
  return op;
}
const OpDef& argmin_op() {
  static const OpDef op = arg_extreme<Side::lowest>("argmin", "ArgMin");
  return op;
}

Value argmax(Value x, int64_t axis, bool keep, bool select_last) {
  return x.apply(argmax_op(), {x}, {{"axis", axis}, {"keep", keep}, {"select_last", select_last}});
}
Value argmin(Value x, int64_t axis, bool keep, bool select_last) {
  return x.apply(argmin_op(), {x}, {{"axis", axis}, {"keep", keep}, {"select_last", select_last}});
}

}  // namespace rlx
