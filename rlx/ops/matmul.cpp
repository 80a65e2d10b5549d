// matmul(a, b): rows of a times columns of b, NumPy's rules; batch dims broadcast.

#include "rlx/ops/elementwise.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/product.h"
#include "rlx/ops/strided.h"

namespace rlx {
namespace {

// What the types and attributes say: a 1-D operand is a row, or a column, that the result drops.
struct Form {
  bool a_vector, b_vector, transpose_a, transpose_b;
  Dims a_batch, b_batch;
  Dim m, n, k, b_k;

  Form(const Dims& a, const Dims& b, const Attrs& attrs)
      : a_vector(a.size() == 1),
        b_vector(b.size() == 1),
        transpose_a(!a_vector && attrs.get<bool>("transpose_a")),
        transpose_b(!b_vector && attrs.get<bool>("transpose_b")) {
    if (!a_vector) a_batch.assign(a.begin(), a.end() - 2);
    if (!b_vector) b_batch.assign(b.begin(), b.end() - 2);
    m = a_vector ? Dim(1) : a[a.size() - (transpose_a ? 1 : 2)];
    k = a_vector ? a[0] : a[a.size() - (transpose_a ? 2 : 1)];
    b_k = b_vector ? b[0] : b[b.size() - (transpose_b ? 1 : 2)];
    n = b_vector ? Dim(1) : b[b.size() - (transpose_b ? 2 : 1)];
  }
};

Types infer(const InferSite& site) {
  const TensorType &a = site.in(0), &b = site.in(1);
  require(a.dtype == b.dtype, "matmul: operands are ", a, " and ", b, ", of different dtypes");
  require(is_float(a.dtype) || is_integer(a.dtype), "matmul: needs numbers, got ", a);
  require(rank(a) > 0 && rank(b) > 0, "matmul: needs rank 1 or more, got ", a, " and ", b);
  const Form form(a.shape, b.shape, site.attrs);
  if (!(form.k == form.b_k))  // the message takes longer than the rule
    site.equal(form.k, form.b_k, text("the inner dims of ", a, " and ", b, " differ"));
  Dims shape = broadcast_shapes(site, form.a_batch, form.b_batch);
  if (!form.a_vector) shape.push_back(form.m);
  if (!form.b_vector) shape.push_back(form.n);
  return {{a.dtype, shape}};
}

// Where each matrix of the batch begins in a tensor whose batch dims broadcast.
std::vector<int64_t> matrix_starts(const Shape& batch, const Dims& own, int64_t matrix) {
  const int64_t matrices = count(batch);
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < matrices; ++i) {
    int64_t rest = i, start = 0, stride = matrix;
    for (size_t d = batch.size(); d-- > 0; rest /= batch[d]) {
      const size_t extra = batch.size() - own.size();
      if (d < extra) continue;
      const int64_t extent = own[d - extra].number();
      if (extent > 1) start += rest % batch[d] * stride;
      stride *= extent;
    }
    starts.push_back(start);
  }
  return starts;
}

template <class Number, class Get, class Set>
void multiply(const ReferenceSite& site, Get get, Set set) {
  const Tensor &a = site.in(0), &b = site.in(1);
  const Form form(a.shape(), b.shape(), site.attrs);
  const int64_t m = form.m.number(), n = form.n.number(), k = form.k.number();
  Shape batch = site.out().shape();
  batch.resize(batch.size() - !form.a_vector - !form.b_vector);
  const auto a_starts = matrix_starts(batch, form.a_batch, m * k),
             b_starts = matrix_starts(batch, form.b_batch, k * n);
  std::vector<Number> x, w;
  for (int64_t i = 0; i < a.count(); ++i) x.push_back(get(a, i));
  for (int64_t i = 0; i < b.count(); ++i) w.push_back(get(b, i));
  int64_t at = 0;
  for (size_t matrix = 0; matrix < a_starts.size(); ++matrix)
    for (int64_t row = 0; row < m; ++row)
      for (int64_t column = 0; column < n; ++column) {
        Number total = 0;
        for (int64_t i = 0; i < k; ++i)
          total +=
              x[size_t(a_starts[matrix] + (form.transpose_a ? i * m + row : row * k + i))] *
              w[size_t(b_starts[matrix] + (form.transpose_b ? column * k + i : i * n + column))];
        set(at++, total);
      }
}

void reference(const ReferenceSite& site) {
  if (is_float(site.in(0).dtype()))
    multiply<double>(
        site, [](const Tensor& x, int64_t i) { return x.at(i); },
        [&](int64_t i, double value) { site.out().set(i, value); });
  else  // unsigned: it may wrap
    multiply<uint64_t>(
        site, [](const Tensor& x, int64_t i) { return static_cast<uint64_t>(x.integer_at(i)); },
        [&](int64_t i, uint64_t value) { site.out().set_integer(i, static_cast<int64_t>(value)); });
}

// A vector as the matrix it stands for.
Operand as_matrix(Operand operand, bool is_row) {
  if (operand.shape.size() > 1) return operand;
  const auto at = is_row ? 0 : 1;
  operand.shape.insert(operand.shape.begin() + at, Dim(1));
  operand.layout.strides.insert(operand.layout.strides.begin() + at, Dim(0));
  return operand;
}

Steps lower(const LowerSite& site) {
  const DType dtype = site.out().dtype;
  if (dtype == DType::i64 || dtype == DType::u64) return site.wide_integers_on_host();
  const Form form(site.in(0).shape, site.in(1).shape, site.attrs());
  Product product;
  product.batch = site.out().shape;
  product.batch.resize(product.batch.size() - !form.a_vector - !form.b_vector);
  product.m = form.m;
  product.n = form.n;
  product.k = form.k;
  product.a = matrix_view(as_matrix(site.inputs[0], true), product.batch, form.transpose_a);
  product.b = matrix_view(as_matrix(site.inputs[1], false), product.batch, form.transpose_b);
  product.y = site.write("y");
  return lower_product(site, product);
}

Gradients gradient(const GradientSite& site) {
  const Form form(site.in(0).shape(), site.in(1).shape(), site.attrs());
  const auto batch_rank =
      static_cast<int64_t>(site.y().shape().size()) - !form.a_vector - !form.b_vector;
  const Value a = form.a_vector ? unsqueeze(site.in(0), {0}) : site.in(0);
  const Value b = form.b_vector ? unsqueeze(site.in(1), {1}) : site.in(1);
  Value dy = site.dy();
  if (form.a_vector) dy = unsqueeze(dy, {batch_rank});
  if (form.b_vector) dy = unsqueeze(dy, {batch_rank + 1});
  const Value da = form.transpose_a ? matmul(b, dy, form.transpose_b, true)
                                    : matmul(dy, b, false, !form.transpose_b);
  const Value db = form.transpose_b ? matmul(dy, a, true, form.transpose_a)
                                    : matmul(a, dy, !form.transpose_a, false);
  const Value da_own = unbroadcast(da, a), db_own = unbroadcast(db, b);
  return {form.a_vector ? squeeze(da_own, {0}) : da_own,
          form.b_vector ? squeeze(db_own, {1}) : db_own};
}

}  // namespace

const OpDef& matmul_op() {
  static const OpDef op{
      .name = "matmul",
      .family = "linear",
      .inputs = {2, 2, {"a", "b"}},
      .attrs = {{"transpose_a", false}, {"transpose_b", false}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .variants = {{"matmul.variant", 2}},
      .onnx = "MatMul",
  };
  return op;
}

Value matmul(Value a, Value b, bool transpose_a, bool transpose_b) {
  return a.apply(matmul_op(), {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}

}  // namespace rlx
