// matmul_integer(a, b, a_zero, b_zero) = (a - a_zero) . (b - b_zero) of bytes, in i32. A zero point
// is one number, one per row of a or column of b, or those of each matrix of a batch.
// qlinear_matmul and requantise are made of it.

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/elementwise.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_integer.h"
#include "rlx/ops/product.h"
#include "rlx/ops/strided.h"

namespace rlx {

const OpDef& quantise_op();
const OpDef& dequantise_op();

namespace {

bool is_byte(DType dtype) { return dtype == DType::i8 || dtype == DType::u8; }

// The dims of a zero point without the one that it does not vary along: [.., M] or [.., N].
Dims zero_dims(const TensorType& zero, size_t constant_from_end) {
  Dims dims = zero.shape;
  if (dims.size() > 1) dims.erase(dims.end() - static_cast<int64_t>(constant_from_end));
  return dims;
}

void require_zero(const InferSite& site, size_t i, const TensorType& of, bool per_row) {
  if (!site.has(i)) return;
  const TensorType& zero = site.in(i);
  const char* name = per_row ? "a_zero" : "b_zero";
  const bool fits = rank(zero) < 2 || rank(zero) == rank(of);
  require(zero.dtype == of.dtype && fits, "matmul_integer: ", name, " is ", zero,
          ", it needs to be ", of.dtype, " [], ",
          per_row ? "[M] or [.., M, 1]" : "[N] or [.., 1, N]", " for ", of);
  if (rank(zero) > 1)
    site.equal(zero.shape[zero.shape.size() - (per_row ? 1 : 2)], 1,
               text(name, ' ', zero, " varies along the inner dim of ", of));
  const Dims own = zero_dims(zero, per_row ? 1 : 2);
  Dims outer = of.shape;
  outer.erase(outer.end() - (per_row ? 1 : 2));
  for (size_t d = 0; d < own.size(); ++d)
    site.broadcasts_to(own[d], outer[outer.size() - own.size() + d],
                       text(name, ' ', zero, " does not fit ", of));
}

Types infer(const InferSite& site) {
  const TensorType &a = site.in(0), &b = site.in(1);
  require(is_byte(a.dtype) && is_byte(b.dtype), "matmul_integer: needs i8 or u8, got ", a, " and ",
          b);
  require(rank(a) > 1 && rank(b) > 1, "matmul_integer: needs rank 2 or more, got ", a, " and ", b);
  site.equal(a.shape.back(), b.shape[b.shape.size() - 2],
             text("the inner dims of ", a, " and ", b, " differ"));
  require_zero(site, 2, a, true);
  require_zero(site, 3, b, false);
  Dims shape = broadcast_shapes(site, {a.shape.begin(), a.shape.end() - 2},
                                {b.shape.begin(), b.shape.end() - 2});
  shape.insert(shape.end(), {a.shape[a.shape.size() - 2], b.shape.back()});
  return {{DType::i32, shape}};
}

// Element `index` (a row or column, counted through the batch of y) of what broadcasts to `shape`.
int64_t broadcast_at(const Dims& own, const Shape& shape, int64_t index) {
  int64_t at = 0, stride = 1;
  for (size_t d = shape.size(); d-- > 0; index /= shape[d]) {
    const size_t missing = shape.size() - own.size();
    if (d < missing) break;
    const int64_t extent = own[d - missing].number();
    if (extent != 1) at += index % shape[d] * stride;
    stride *= extent;
  }
  return at;
}

void reference(const ReferenceSite& site) {
  const Tensor &a = site.in(0), &b = site.in(1);
  const Shape& y = site.out().shape();
  const int64_t m = y[y.size() - 2], n = y.back(), k = a.shape().back();
  Shape rows(y.begin(), y.end() - 1), columns = rows;  // of the whole batch
  columns.back() = n;
  const Dims a_rows(a.shape().begin(), a.shape().end() - 1);
  Dims b_columns(b.shape().begin(), b.shape().end() - 1);
  const Dims b_batch(b.shape().begin(), b.shape().end() - 2);
  const Shape batch(y.begin(), y.end() - 2);
  const auto zero = [&](size_t i, const Shape& shape, int64_t index) {
    if (!site.has(i)) return int64_t{0};
    const Dims own = zero_dims(site.in(i).type(), i == 2 ? 1 : 2);
    return site.in(i).integer_at(broadcast_at(own, shape, index));
  };
  for (int64_t at = 0; at < site.out().count(); ++at) {
    const int64_t row = at / n, column = at % n, matrix = row / m;
    const int64_t a_first = broadcast_at(a_rows, rows, row) * k;
    const int64_t b_first = broadcast_at(b_batch, batch, matrix) * k * n + column;
    const int64_t a_zero = zero(2, rows, row), b_zero = zero(3, columns, matrix * n + column);
    int64_t total = 0;
    for (int64_t i = 0; i < k; ++i)
      total += (a.integer_at(a_first + i) - a_zero) * (b.integer_at(b_first + i * n) - b_zero);
    site.out().set_integer(at, total);
  }
}

// A zero point as the kernel reads it: by row or column, counted through the batch.
Operand zero_operand(const LowerSite& site, size_t i, const Dims& shape) {
  Operand zero = site.read(i == 2 ? "a_zero" : "b_zero", i);
  if (zero.shape.size() > 1) {
    const auto drop = static_cast<int64_t>(zero.shape.size()) - (i == 2 ? 1 : 2);
    zero.shape.erase(zero.shape.begin() + drop);
    zero.layout.strides.erase(zero.layout.strides.begin() + drop);
  }
  return broadcast(zero, shape);
}

Steps lower(const LowerSite& site) {
  const Dims& y = site.out().shape;
  Product product;
  product.batch.assign(y.begin(), y.end() - 2);
  product.m = y[y.size() - 2];
  product.n = y.back();
  product.k = site.in(0).shape.back();
  product.a = matrix_view(site.inputs[0], product.batch, false);
  product.b = matrix_view(site.inputs[1], product.batch, false);
  product.y = site.write("y");
  product.a_value = "i32(load_a(i))";
  product.b_value = "i32(load_b(i))";
  const auto less_zero = [&](size_t i, const Dim& extent, std::string& value, const char* by) {
    if (!site.has(i)) return;
    Dims shape = product.batch;
    shape.push_back(extent);
    product.finish_operands.push_back(zero_operand(site, i, shape));
    value += text(" - i32(load_", i == 2 ? "a_zero(" : "b_zero(", by, "))");
  };
  less_zero(2, product.m, product.a_value, "row");
  less_zero(3, product.n, product.b_value, "column");
  // Columns of different matrices may differ in their zero points.
  product.merges_rows = !site.has(3) || rank(site.in(3)) < 2;
  return lower_product(site, product);
}

// A number per row, as it broadcasts over a matrix.
Value per_row(Value x) { return rank(x.type()) == 1 ? unsqueeze(x, {1}) : x; }

}  // namespace

const OpDef& matmul_integer_op() {
  static const OpDef op{
      .name = "matmul_integer",
      .family = "linear",
      .inputs = {2, 4, {"a", "b", "a_zero", "b_zero"}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .never_fails = true,
      .gradient_reason = "integers have none",
      .onnx = "MatMulInteger",
  };
  return op;
}

Value matmul_integer(Value a, Value b, Value a_zero, Value b_zero) {
  const bool row = rank(a.type()) == 1, column = rank(b.type()) == 1;
  const Value left = row ? unsqueeze(a, {0}) : a, right = column ? unsqueeze(b, {1}) : b;
  Value y = a.apply(matmul_integer_op(), {left, right, a_zero, b_zero});
  if (column) y = squeeze(y, {-1});
  return row ? squeeze(y, {column ? -1 : -2}) : y;
}

Value requantise(Value sums, Value scale, Value zero, Value bias) {
  require(is_byte(zero.dtype()), "requantise: zero is ", zero.type(), ", it needs to be i8 or u8");
  // Two passes over them, whatever the device fuses: a zero point of -bias adds it in i32.
  const Value levels = sums.apply(
      dequantise_op(), {sums, cast(scale, DType::f32), bias.present() ? -bias : Value{}});
  return levels.apply(quantise_op(), {levels, scalar(levels, 1), zero}, {{"to", zero.dtype()}});
}

Value qlinear_matmul(const QuantisedOperand& a, const QuantisedOperand& b, Value y_scale,
                     Value y_zero) {
  const Value sums = matmul_integer(a.values, b.values, a.zero, b.zero);
  const Value scale = per_row(a.scale) * b.scale / per_row(y_scale);
  return requantise(sums, scale, per_row(y_zero));
}

}  // namespace rlx
