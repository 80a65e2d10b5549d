// cumsum(x, axis) and cumprod(x, axis): each element becomes the sum or product of itself and those
// before it; exclusive: of those before it; reverse: counted from the end.

#include "rlx/ops/cumulative.h"

#include <algorithm>
#include <cmath>

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_cumulative.h"

namespace rlx {
namespace {

enum class Kind { sum, product, count };  // a count stays at the most that a u32 has

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  require(is_float(x.dtype) || is_integer(x.dtype), site.op.name,
          ": takes floats or integers, got ", x);
  axis_of(site);
  return {x};
}

template <class T, class Read, class Write>
void scan_rows(Kind kind, const ReferenceSite& site, Read read, Write write) {
  const Tensor& x = site.in(0);
  const ConcreteRows rows(x.shape(), axis_of(site));
  const bool exclusive = site.attrs.get<bool>("exclusive"),
             reverse = site.attrs.get<bool>("reverse");
  for (int64_t row = 0; row < rows.count; ++row) {
    T value = kind == Kind::sum ? 0 : 1;
    for (int64_t i = 0; i < rows.length; ++i) {
      const int64_t at = rows.at(row, reverse ? rows.length - 1 - i : i);
      const T folded = kind == Kind::sum ? value + read(at) : value * read(at);
      write(at, exclusive ? value : folded);
      value = folded;
    }
  }
}

template <Kind kKind>
void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  if (is_float(x.dtype()))
    scan_rows<double>(
        kKind, site, [&](int64_t i) { return x.at(i); },
        [&](int64_t i, double v) { site.out().set(i, v); });
  else  // integers wrap
    scan_rows<uint64_t>(
        kKind, site, [&](int64_t i) { return static_cast<uint64_t>(x.integer_at(i)); },
        [&](int64_t i, uint64_t v) { site.out().set_integer(i, static_cast<int64_t>(v)); });
}

// ---- Lowering ----

// Rows of elements `stride` apart, in chunks of which each has a lane.
struct Chunked {
  Dim rows, length, stride, chunks, chunk_length;
};

// One invocation per row where there are many rows or rows are short. Otherwise a row is split into
// about sqrt(length) chunks, so that there are about as many chunks as elements in a chunk.
Chunked chunked(const Rows& rows) {
  constexpr int64_t kShort = 256, kManyRows = 4096, kUnknown = 256;
  const bool many = rows.count.is_number() && rows.count.number() >= kManyRows;
  if (many || (rows.length.is_number() && rows.length.number() <= kShort))
    return {rows.count, rows.length, rows.stride, 1, rows.length};
  int64_t length = kUnknown;
  if (rows.length.is_number())
    for (length = 64; length * length < rows.length.number();) length *= 2;
  return {rows.count, rows.length, rows.stride, max(ceil_div(rows.length, length), 1), length};
}

Dispatch scan_dispatch(const Chunked& in, std::vector<Operand> operands,
                       std::vector<std::string> functions, bool exclusive, bool reverse,
                       bool totals) {
  constexpr int64_t kWorkgroup = 64;
  return {
      .kernel = kernel("cumulative"),
      .operands = std::move(operands),
      .constants = {{"EXCLUSIVE", exclusive}, {"REVERSE", reverse}, {"TOTALS", totals}},
      .params = {{"row_count", in.rows},
                 {"row_length", in.length},
                 {"stride", in.stride},
                 {"chunks", in.chunks},
                 {"chunk_length", in.chunk_length}},
      .prelude = std::move(functions),
      .workgroups = ceil_div(in.rows * in.chunks, kWorkgroup),
  };
}

// What each chunk comes to, then those scanned, then the chunks again, each from where it starts.
Steps scan_steps(const LowerSite& site, Kind kind, const Operand& x, const Operand& y,
                 const Rows& rows, bool exclusive, bool reverse) {
  const DType dtype = x.dtype;
  const Chunked chunks = chunked(rows);
  const char* const combined = kind == Kind::sum       ? "a + b"
                               : kind == Kind::product ? "a * b"
                                                       : "a + min(b, 0xffffffffu - a)";
  const auto functions = [&](const char* before) {
    return std::vector<std::string>{
        text("alias T = ", site.compute_type(dtype), ";"),
        text("fn identity() -> T { return T(", kind == Kind::product ? 1 : 0, "); }"),
        text("fn combine(a: T, b: T) -> T { return ", combined, "; }"),
        text("fn before(chunk: u32) -> T { return ", before, "; }")};
  };
  if (chunks.chunks.is(1))
    return scan_dispatch(chunks, {x, y}, functions("identity()"), exclusive, reverse, false);

  const TensorType type{unpacked(dtype), {chunks.rows, chunks.chunks}};
  const Operand totals = site.temporary("y", type), starts = site.temporary("y", type);
  const Chunked row_of_totals{chunks.rows, chunks.chunks, 1, 1, chunks.chunks};
  Steps steps;
  steps.add(scan_dispatch(chunks, {x, totals}, functions("identity()"), false, reverse, true));
  steps.add(scan_dispatch(row_of_totals, {LowerSite::named(totals, "x", Access::read), starts},
                          functions("identity()"), true, false, false));
  steps.add(scan_dispatch(chunks, {x, LowerSite::named(starts, "starts", Access::read), y},
                          functions("load_starts(chunk)"), exclusive, reverse, false));
  return steps;
}

template <Kind kKind>
Steps lower(const LowerSite& site) {
  if (is_wide_integer(site.in(0).dtype)) return site.wide_integers_on_host();
  return scan_steps(site, kKind, site.read("x", 0), site.write("y"),
                    Rows(site.in(0).shape, axis_of(site)), site.attrs().get<bool>("exclusive"),
                    site.attrs().get<bool>("reverse"));
}

// ---- Gradients ----

Gradients sum_gradient(const GradientSite& site) {
  const Attrs& attrs = site.attrs();
  return {cumsum(site.dy(), attrs.get<int64_t>("axis"), attrs.get<bool>("exclusive"),
                 !attrs.get<bool>("reverse"))};
}

// dx_i is the sum over the later k of dy_k y_k / x_i. Where x_i is the first 0 of its row, y_k is
// computed with x_i replaced by 1; elements after the first 0 have no gradient.
Gradients product_gradient(const GradientSite& site) {
  const Value x = site.in(0), dy = site.dy(), zero = scalar(x, 0), one = scalar(x, 1);
  const int64_t axis = site.attrs().get<int64_t>("axis");
  const bool exclusive = site.attrs().get<bool>("exclusive"),
             reverse = site.attrs().get<bool>("reverse");
  const auto later = [&](Value v) { return cumsum(v, axis, exclusive, !reverse); };
  const Value is_zero = equal(x, zero);
  const Value zeros = cumsum(cast(is_zero, x.dtype()), axis, false, reverse);  // so far
  const Value first = logical_and(is_zero, equal(zeros, one));
  const Value without = cumprod(where(first, one, x), axis, exclusive, reverse);
  const Value before = later(dy * site.y()) / where(is_zero, one, x);
  return {where(first, later(dy * without), where(equal(zeros, zero), before, zero))};
}

template <Kind kKind>
OpDef scan(const char* name, const char* onnx, Gradients (*gradient)(const GradientSite&)) {
  return {
      .name = name,
      .family = "reductions",
      .inputs = {1, 1, {"x"}},
      .attrs = {{"axis", 0}, {"exclusive", false}, {"reverse", false}},
      .infer = infer,
      .reference = reference<kKind>,
      .lower = lower<kKind>,
      .gradient = gradient,
      .never_fails = true,
      .onnx = onnx,
  };
}

}  // namespace

Steps exclusive_sums(const LowerSite& site, const Operand& counts, const Operand& sums,
                     const Dim& rows, const Dim& length) {
  return scan_steps(site, Kind::count, LowerSite::named(counts, "x", Access::read),
                    LowerSite::named(sums, "y", Access::write), Rows({rows, length}, 1), true,
                    false);
}

Counted bind_total(const LowerSite& site, const Operand& counts, const Dim& parts,
                   const Dim& kept) {
  const Operand starts = site.temporary("starts", {DType::u32, {parts + 1}}),
                total = site.temporary("total", {DType::u32, {1}});
  Counted counted{exclusive_sums(site, counts, starts, 1, parts + 1),
                  LowerSite::named(starts, "starts", Access::read)};
  Operand last = counted.starts;
  last.shape = total.shape;
  last.layout = {parts, {1}};
  counted.steps.append(site.copy(last, total));
  counted.steps.add(
      Fetch{total.value,
            DType::u32,
            {kept},
            text("how many elements ", site.node.op->name, " gives depends on the data")});
  return counted;
}

const OpDef& cumsum_op() {
  static const OpDef op = scan<Kind::sum>("cumsum", "CumSum", sum_gradient);
  return op;
}
const OpDef& cumprod_op() {
  static const OpDef op = scan<Kind::product>("cumprod", "CumProd", product_gradient);
  return op;
}

Value cumsum(Value x, int64_t axis, bool exclusive, bool reverse) {
  return x.apply(cumsum_op(), {x},
                 {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}});
}
Value cumprod(Value x, int64_t axis, bool exclusive, bool reverse) {
  return x.apply(cumprod_op(), {x},
                 {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}});
}

}  // namespace rlx
