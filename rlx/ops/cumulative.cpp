// cumsum(x, axis) and cumprod(x, axis): each element becomes the sum or product of itself and those
// before it; exclusive: of those before it; reverse: counted from the end. `words`: elements are
// 64-bit integers in two words, u32[.., 2], and the axis is one of theirs.

#include "rlx/ops/cumulative.h"

#include <algorithm>
#include <cmath>

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_cumulative.h"
#include "rlx/ops/words.h"

namespace rlx {
namespace {

enum class Kind { sum, product, count };  // a count stays at the most that a u32 has

bool in_words(const Attrs& attrs) { return attrs.get_or("words", false); }

// Of the elements, each of which may be two words.
template <class Extents>
Extents element_shape(const Attrs& attrs, Extents shape) {
  if (in_words(attrs)) shape.pop_back();
  return shape;
}

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  require(is_float(x.dtype) || is_integer(x.dtype), site.op.name,
          ": takes floats or integers, got ", x);
  const size_t axis = axis_of(site);
  require(!in_words(site.attrs) ||
              (x.dtype == DType::u32 && x.shape.back().is(2) && axis + 1 < x.shape.size()),
          site.op.name, ": axis ", axis, " of ", x, " is none of words, u32[.., 2]");
  return {x};
}

template <class T, class Read, class Write>
void scan_rows(Kind kind, const ReferenceSite& site, Read read, Write write) {
  const ConcreteRows rows(element_shape(site.attrs, site.in(0).shape()), axis_of(site));
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
  Tensor& y = site.out();
  if (is_float(x.dtype()))
    scan_rows<double>(
        kKind, site, [&](int64_t i) { return x.at(i); }, [&](int64_t i, double v) { y.set(i, v); });
  else if (in_words(site.attrs))
    scan_rows<uint64_t>(
        kKind, site, [&](int64_t i) { return static_cast<uint64_t>(number_in_words(x, i)); },
        [&](int64_t i, uint64_t v) { set_number_in_words(y, i, static_cast<int64_t>(v)); });
  else  // integers wrap
    scan_rows<uint64_t>(
        kKind, site, [&](int64_t i) { return static_cast<uint64_t>(x.integer_at(i)); },
        [&](int64_t i, uint64_t v) { y.set_integer(i, static_cast<int64_t>(v)); });
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

struct Scan {
  Kind kind;
  std::string type;  // that a kernel computes in
  bool words = false, exclusive = false, reverse = false;

  // What an element is loaded by, of one word or of two.
  std::string load(const char* name, const char* at) const {
    if (!words) return text("load_", name, "(", at, ")");
    return text("T(load_", name, "(2u * ", at, "), load_", name, "(2u * ", at, " + 1u))");
  }
  // `before` is what lies before a chunk; none where there is one chunk.
  std::vector<std::string> functions(const std::string& before) const {
    const std::string combined = kind == Kind::sum       ? words ? "words_add(a, b)" : "a + b"
                                 : kind == Kind::product ? words ? "words_mul(a, b)" : "a * b"
                                                         : "a + min(b, 0xffffffffu - a)";
    return {text("alias T = ", words ? "Words" : type, ";"),
            text("fn identity() -> T { return T(", kind == Kind::product ? "1" : "0",
                 words ? ", 0" : "", "); }"),
            text("fn combine(a: T, b: T) -> T { return ", combined, "; }"),
            text("fn before(chunk: u32) -> T { return ", before, "; }"),
            text("fn element(i: u32) -> T { return ", load("x", "i"), "; }"),
            words
                ? "fn put(i: u32, v: T) {\n  store_y(2u * i, v.x);\n  store_y(2u * i + 1u, v.y);\n}"
                : "fn put(i: u32, v: T) { store_y(i, v); }"};
  }
};

Dispatch scan_dispatch(const Chunked& in, std::vector<Operand> operands, const Scan& scan,
                       const std::string& before, bool totals) {
  constexpr int64_t kWorkgroup = 64;
  return {
      .kernel = scan.words ? kernel("cumulative", {"numbers", "words"}) : kernel("cumulative"),
      .operands = std::move(operands),
      .constants = {{"EXCLUSIVE", scan.exclusive}, {"REVERSE", scan.reverse}, {"TOTALS", totals}},
      .params = {{"row_count", in.rows},
                 {"row_length", in.length},
                 {"stride", in.stride},
                 {"chunks", in.chunks},
                 {"chunk_length", in.chunk_length}},
      .prelude = scan.functions(before),
      .workgroups = ceil_div(in.rows * in.chunks, kWorkgroup),
  };
}

// What each chunk comes to, then those scanned, then the chunks again, each from where it starts.
Steps scan_steps(const LowerSite& site, const Scan& scan, const Operand& x, const Operand& y,
                 const Rows& rows) {
  const Chunked chunks = chunked(rows);
  if (chunks.chunks.is(1)) return scan_dispatch(chunks, {x, y}, scan, "identity()", false);

  TensorType type{unpacked(x.dtype), {chunks.rows, chunks.chunks}};
  if (scan.words) type.shape.emplace_back(2);
  const Operand totals = site.temporary("y", type), starts = site.temporary("y", type);
  const Chunked row_of_totals{chunks.rows, chunks.chunks, 1, 1, chunks.chunks};
  Scan whole = scan, between = scan;
  whole.exclusive = false;
  between.exclusive = true;
  between.reverse = false;
  Steps steps;
  steps.add(scan_dispatch(chunks, {x, totals}, whole, "identity()", true));
  steps.add(scan_dispatch(row_of_totals, {LowerSite::named(totals, "x", Access::read), starts},
                          between, "identity()", false));
  steps.add(scan_dispatch(chunks, {x, LowerSite::named(starts, "starts", Access::read), y}, scan,
                          scan.load("starts", "chunk"), false));
  return steps;
}

template <Kind kKind>
Steps lower(const LowerSite& site) {
  const DType dtype = site.in(0).dtype;
  if (is_wide_integer(dtype)) return site.wide_integers_on_host();
  const Scan scan{kKind, site.compute_type(dtype), in_words(site.attrs()),
                  site.attrs().get<bool>("exclusive"), site.attrs().get<bool>("reverse")};
  return scan_steps(site, scan, site.read("x", 0), site.write("y"),
                    Rows(element_shape(site.attrs(), site.in(0).shape), axis_of(site)));
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
      .attrs = {{"axis", 0}, {"exclusive", false}, {"reverse", false}, {"words", false}},
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
  const Scan scan{.kind = Kind::count, .type = site.compute_type(counts.dtype), .exclusive = true};
  return scan_steps(site, scan, LowerSite::named(counts, "x", Access::read),
                    LowerSite::named(sums, "y", Access::write), Rows({rows, length}, 1));
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
