// quantised_matmul(x, w): x[.., K] times w, whose N rows of K elements are blocks of few bits; or w
// as bytes [N, K] with scales, and zero points, beside it: one for each block of a row, or of all
// rows. quantised_grouped_matmul(x, w, expert): row i times the matrix of w that expert[i] names.
// Kernels decode as they read: w is never expanded.

#include <algorithm>

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/block_weights.h"
#include "rlx/ops/elementwise.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_blocks.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_linear.h"

namespace rlx {

const OpDef& quantised_matmul_op();
const OpDef& quantised_grouped_matmul_op();

namespace {

bool is_apart(const Attrs& attrs) { return attrs.get<std::string>("format").empty(); }
// y = x . w, the other way round than w lies: what the gradient of x is.
bool goes_back(const Attrs& attrs) { return !attrs.get<bool>("transpose_w"); }

struct Extents {
  Dim n, k;
};

// ---- Types ----

// One for each block of each row of w, or of all rows.
void require_blocks(const InferSite& site, size_t i) {
  const TensorType &w = site.in(1), &each = site.in(i);
  const char* name = site.op.inputs.names[i].c_str();
  const int64_t block = site.attrs.get<int64_t>("block");
  if (!each.shape[0].is(1))
    site.equal(each.shape[0], w.shape[0], text(name, ' ', each, " do not fit w ", w));
  site.equal(each.shape[1] * Dim(block), w.shape[1],
             text("blocks of ", block, " with ", name, ' ', each, " do not fill w ", w));
}

Extents apart_extents(const InferSite& site) {
  const TensorType& w = site.in(1);
  const int64_t block = site.attrs.get<int64_t>("block");
  require((w.dtype == DType::i8 || w.dtype == DType::u8) && rank(w) == 2, "quantised_matmul: w is ",
          w, ", it needs to be i8[N, K] or u8[N, K]");
  const TensorType& scales = site.in(2);
  require(is_float(scales.dtype) && rank(scales) == 2, "quantised_matmul: scales are ", scales,
          ", they need to be floats [N, K / block]");
  require(block > 0, "quantised_matmul: block ", block, " is not positive");
  require_blocks(site, 2);
  if (site.has(3)) {
    const TensorType& zeros = site.in(3);
    require(zeros.dtype == w.dtype && rank(zeros) == 2, "quantised_matmul: zeros are ", zeros,
            ", they need to be ", w.dtype, " [N, K / block]");
    require_blocks(site, 3);
  }
  return {w.shape[0], w.shape[1]};
}

Extents block_extents(const InferSite& site, int64_t w_rank) {
  const TensorType& w = site.in(1);
  const auto& format = site.attrs.get<std::string>("format");
  require(w.dtype == DType::u8 && rank(w) == w_rank, site.op.name, ": w is ", w,
          ", it needs to be u8",
          w_rank == 2 ? "[N, bytes of a row] in " : "[E, N, bytes of a row] in ", format);
  return {w.shape[size_t(w_rank - 2)], row_elements(site, w)};
}

TensorType result_type(const InferSite& site, const Extents& w) {
  const TensorType& x = site.in(0);
  require(is_float(x.dtype) && rank(x) > 0, site.op.name, ": x is ", x,
          ", it needs floats of rank 1 or more");
  const bool back = goes_back(site.attrs);
  const std::string what =
      is_apart(site.attrs) ? text("the inner dims of ", x, " and ", site.in(1), " differ")
                           : text("rows of x ", x, " and of w ", site.in(1), ", ", w.n, " x ", w.k,
                                  " in ", site.attrs.get<std::string>("format"), ", differ");
  site.equal(x.shape.back(), back ? w.n : w.k, what);
  Dims shape = x.shape;
  shape.back() = back ? w.k : w.n;
  return {x.dtype, shape};
}

Types infer(const InferSite& site) {
  const bool apart = is_apart(site.attrs);
  require(
      apart == site.has(2), "quantised_matmul: ",
      apart ? "w needs a format, or scales beside it" : "scales stand beside i8, not blocks in ",
      apart ? "" : site.attrs.get<std::string>("format"));
  return {result_type(site, apart ? apart_extents(site) : block_extents(site, 2))};
}

Types infer_grouped(const InferSite& site) {
  const TensorType &x = site.in(0), &expert = site.in(2);
  require(rank(x) == 2, "quantised_grouped_matmul: x is ", x, ", it needs floats [M, K]");
  require(is_integer(expert.dtype) && rank(expert) == 1, "quantised_grouped_matmul: expert is ",
          expert, ", it needs integers [M]");
  site.equal(x.shape[0], expert.shape[0], text("rows of x ", x, " and experts ", expert));
  return {result_type(site, block_extents(site, 3))};
}

// ---- Reference ----

// Row i of w, decoded.
std::vector<double> decoded_row(const ReferenceSite& site, int64_t i) {
  const Tensor& w = site.in(1);
  const int64_t bytes = w.shape().back();
  if (!is_apart(site.attrs)) {
    const Tensor row = decode_blocks(w.part(i * bytes, {bytes}), format_of(site.attrs));
    const auto values = row.data<float>();
    return {values.begin(), values.end()};
  }
  const int64_t block = site.attrs.get<int64_t>("block");
  const auto of_block = [&](size_t operand, int64_t k) {
    const Tensor& each = site.in(operand);
    return each.at((each.shape()[0] == 1 ? 0 : i * each.shape()[1]) + k / block);
  };
  std::vector<double> values(static_cast<size_t>(bytes));
  for (int64_t k = 0; k < bytes; ++k)
    values[size_t(k)] = (w.at(i * bytes + k) - (site.has(3) ? of_block(3, k) : 0)) * of_block(2, k);
  return values;
}

// The rows of x that `rows` counts, times a matrix of w that begins with row `first`.
void multiply(const ReferenceSite& site, const std::vector<int64_t>& rows, int64_t first,
              int64_t n) {
  const Tensor& x = site.in(0);
  const bool back = goes_back(site.attrs);
  const int64_t inner = x.shape().back(), columns = site.out().shape().back();
  std::vector<double> sums(rows.size() * static_cast<size_t>(columns));
  for (int64_t j = 0; j < n; ++j) {
    const std::vector<double> w = decoded_row(site, first + j);
    for (size_t r = 0; r < rows.size(); ++r)
      for (int64_t k = 0; k < static_cast<int64_t>(w.size()); ++k)
        sums[r * size_t(columns) + size_t(back ? k : j)] +=
            x.at(rows[r] * inner + (back ? j : k)) * w[size_t(k)];
  }
  for (size_t r = 0; r < rows.size(); ++r)
    for (int64_t c = 0; c < columns; ++c)
      site.out().set(rows[r] * columns + c, sums[r * size_t(columns) + size_t(c)]);
}

void reference(const ReferenceSite& site) {
  std::vector<int64_t> rows;
  int64_t count_of_rows = 1;
  for (size_t d = 0; d + 1 < site.in(0).shape().size(); ++d) count_of_rows *= site.in(0).shape()[d];
  for (int64_t i = 0; i < count_of_rows; ++i) rows.push_back(i);
  multiply(site, rows, 0, site.in(1).shape()[0]);
}

void reference_grouped(const ReferenceSite& site) {
  const Tensor &w = site.in(1), &expert = site.in(2);
  const int64_t experts = w.shape()[0], n = w.shape()[1];
  std::vector<std::vector<int64_t>> rows(static_cast<size_t>(experts));
  for (int64_t i = 0; i < expert.count(); ++i) {
    const int64_t e = expert.integer_at(i);
    if (e < 0 || e >= experts)
      fail(ErrorKind::invalid_input, "quantised_grouped_matmul: expert ", e, " of row ", i,
           " is out of range for w ", w.type(), " (", experts, ")");
    rows[size_t(e)].push_back(i);
  }
  for (int64_t e = 0; e < experts; ++e)
    if (!rows[size_t(e)].empty()) multiply(site, rows[size_t(e)], e * n, n);
}

// ---- Lowering ----

constexpr int64_t kFewRows = 8, kRowsAtOnce = 4, kTile = 32;
enum Variant : int64_t { few_rows = 0, tiles = 1, as_counted = 2 };

struct Form {
  bool grouped = false, back = false;
  Dim m, n, experts;
};

// What all kernels of it share.
Dispatch product_dispatch(const LowerSite& site, const Form& form, WeightRows w, RowsPart& part,
                          Operand y) {
  Operand x = site.read("x", 0);
  const Dim x_row = form.back ? form.n : w.k, y_row = form.back ? w.k : form.n;
  part = cut_rows(site, form.m, {{&x, x_row}, {&y, y_row}}, w);
  if (form.back && part.cuts_w) y.access = Access::read_write;
  Dispatch dispatch;
  dispatch.kernel.name = site.node.op->name;
  dispatch.operands = {x, y};
  dispatch.constants = {{"GROUPED", form.grouped}};
  dispatch.params = {{"n", form.n}, {"experts", form.experts}};
  if (!form.back) {
    dispatch.params.emplace_back("n_first", form.grouped ? Dim(0) : part.w_first);
    dispatch.params.emplace_back("n_end", form.grouped ? form.n : part.w_end);
  }
  if (form.grouped) dispatch.operands.push_back(site.read("expert", 2));
  dispatch.flags_errors = form.grouped;
  add_weights(dispatch, w, part);
  for (const char* include : {"quantised", form.grouped ? "experts" : "expert_alone"})
    dispatch.kernel.includes.push_back(library(include));
  return dispatch;
}

Dim columns_of(const Form& form, const RowsPart& part) {
  return form.grouped ? form.n : part.w_end - part.w_first;
}

Alternative rows_kernel(const LowerSite& site, const Form& form, const RowsPart& part) {
  constexpr int64_t kWorkgroup = 64;
  const int64_t lanes = site.traits.device_class == DeviceClass::software ? 4 : 32;
  int64_t rows = form.grouped ? 1 : kRowsAtOnce;
  if (form.m.is_number()) rows = std::clamp<int64_t>(form.m.number(), 1, rows);
  return {1 - min(floor_div(form.m, kFewRows + 1), 1),
          kernel("quantised_matmul_rows").source,
          {{"LANES", lanes}, {"ROWS", rows}},
          ceil_div(part.m_end - part.m_first, rows) *
              ceil_div(columns_of(form, part), kWorkgroup / lanes)};
}

Alternative tile_kernel(const Form& form, const RowsPart& part) {
  return {1,
          kernel("quantised_matmul_tile").source,
          {},
          ceil_div(part.m_end - part.m_first, kTile) * ceil_div(columns_of(form, part), kTile)};
}

void take(const Alternative& kernel, Dispatch& dispatch) {
  dispatch.kernel.source = kernel.source;
  dispatch.constants.insert(dispatch.constants.end(), kernel.constants.begin(),
                            kernel.constants.end());
  dispatch.workgroups = kernel.workgroups;
}

// Where only a run counts the rows, as of a prompt and then of each token, both kernels are there.
Dispatch forward_dispatch(const LowerSite& site, const Form& form, const WeightRows& w) {
  const int64_t usual = !form.m.is_number()          ? as_counted
                        : form.m.number() > kFewRows ? tiles
                                                     : few_rows;
  const int64_t variant = site.choices.get("quantised_matmul.variant", usual);
  RowsPart part;
  Dispatch dispatch = product_dispatch(site, form, w, part, site.write("y"));
  const Alternative few = rows_kernel(site, form, part);
  take(variant == few_rows ? few : tile_kernel(form, part), dispatch);
  if (variant == as_counted) dispatch.alternatives.push_back(few);
  return dispatch;
}

Steps back_steps(const LowerSite& site, const Form& form, const WeightRows& w) {
  RowsPart part;
  const Operand result = site.write("y");
  Dispatch dispatch = product_dispatch(site, form, w, part, result);
  Operand y = result;
  if (part.cuts_w && result.dtype != DType::f32) {  // sums of shards are not rounded between
    y = site.temporary("y", {DType::f32, result.shape});
    dispatch = product_dispatch(site, form, w, part, y);
  }
  dispatch.kernel.source = kernel("quantised_matmul_back").source;
  const int64_t rows = form.grouped ? 1 : kRowsAtOnce;
  dispatch.constants.push_back({"ROWS", rows});
  dispatch.prelude.emplace_back(
      part.cuts_w
          ? "fn put(i: u32, v: f32) {\n  if (params.w_first == 0u) { store_y(i, v); } else { "
            "store_y(i, load_y(i) + v); }\n}"
          : "fn put(i: u32, v: f32) { store_y(i, v); }");
  dispatch.workgroups = ceil_div(ceil_div(part.m_end - part.m_first, rows) * ceil_div(w.k, 4), 64);
  Steps steps = dispatch;
  if (y.value != result.value) steps.add(copy_view(y, result, site.traits));
  return steps;
}

Steps lower_form(const LowerSite& site, const Form& form, const WeightRows& w) {
  if (form.back) return back_steps(site, form, w);
  return forward_dispatch(site, form, w);
}

Steps lower(const LowerSite& site) {
  Steps steps;
  const WeightRows w =
      is_apart(site.attrs()) ? apart_rows(site, 1, steps) : weight_rows(site, 1, steps);
  const Dims& x = site.in(0).shape;
  steps.append(lower_form(
      site, {false, goes_back(site.attrs()), count(Dims(x.begin(), x.end() - 1)), w.count, 1}, w));
  return steps;
}

Steps lower_grouped(const LowerSite& site) {
  Steps steps;
  const WeightRows w = weight_rows(site, 1, steps);
  const Dims& shape = site.in(1).shape;
  steps.append(lower_form(
      site, {true, goes_back(site.attrs()), site.in(0).shape[0], shape[1], shape[0]}, w));
  return steps;
}

// ---- Gradients: bytes have none, x sees w the other way round ----

Attrs turned(const Attrs& attrs) {
  return {{"format", attrs.get<std::string>("format")},
          {"block", attrs.get<int64_t>("block")},
          {"transpose_w", !attrs.get<bool>("transpose_w")}};
}

Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), w = site.in(1), dy = site.dy();
  if (!is_apart(site.attrs()))
    return {x.apply(quantised_matmul_op(), {dy, w}, turned(site.attrs())), std::nullopt};
  const Value scales = site.in(2), zeros = site.inputs.size() > 3 ? site.in(3) : Value{};
  const Value dx = x.apply(quantised_matmul_op(), {dy, w, scales, zeros}, turned(site.attrs()));
  const bool back = goes_back(site.attrs());
  const Dim n = w.shape()[0], k = w.shape()[1], block = site.attrs().get<int64_t>("block");
  const Dims blocks = {n, scales.shape()[1], block};
  const Dim rows = count(Dims(x.shape().begin(), x.shape().end() - 1));
  const Value by_n = reshape(back ? x : dy, Dims{rows, n}),
              by_k = reshape(back ? dy : x, Dims{rows, k});
  const Value dw = matmul(by_n, by_k, true);
  Value q = reshape(cast(w, x.dtype()), blocks);
  if (zeros) q = q - unsqueeze(cast(zeros, x.dtype()), {2});
  const Value of_blocks = sum(reshape(dw, blocks) * q, {2});
  Gradients all{dx, std::nullopt, cast(unbroadcast(of_blocks, scales), scales.dtype())};
  all.resize(site.inputs.size());
  return all;
}

Gradients gradient_grouped(const GradientSite& site) {
  const Value dy = site.dy();
  return {
      dy.apply(quantised_grouped_matmul_op(), {dy, site.in(1), site.in(2)}, turned(site.attrs())),
      std::nullopt, std::nullopt};
}

}  // namespace

const OpDef& quantised_matmul_op() {
  static const OpDef op{
      .name = "quantised_matmul",
      .family = "linear",
      .inputs = {2, 4, {"x", "w", "scales", "zeros"}},
      .attrs = {{"format", ""}, {"block", 0}, {"transpose_w", true}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .accuracy = {8},
      .variants = {{"quantised_matmul.variant", 2}},
  };
  return op;
}

const OpDef& quantised_grouped_matmul_op() {
  static const OpDef op{
      .name = "quantised_grouped_matmul",
      .family = "linear",
      .inputs = {3, 3, {"x", "w", "expert"}},
      .attrs = {{"format"}, {"block", 0}, {"transpose_w", true}},
      .infer = infer_grouped,
      .reference = reference_grouped,
      .lower = lower_grouped,
      .gradient = gradient_grouped,
      .accuracy = {8},
      .variants = {{"quantised_matmul.variant", 2}},
  };
  return op;
}

Value quantised_matmul(Value x, Value w, Value scales, int64_t block, Value zeros) {
  return x.apply(quantised_matmul_op(), {x, w, scales, zeros}, {{"block", block}});
}
Value quantised_matmul(Value x, Value w, const std::string& format, int64_t block) {
  return x.apply(quantised_matmul_op(), {x, w}, {{"format", format}, {"block", block}});
}
Value grouped_matmul(Value x, Value w, Value expert, const std::string& format, int64_t block) {
  return x.apply(quantised_grouped_matmul_op(), {x, w, expert},
                 {{"format", format}, {"block", block}});
}

}  // namespace rlx
