// linear(x, w, bias) = x . w + bias, in one kernel.

#include "rlx/ops/activation.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/product.h"

namespace rlx {
namespace {

struct Form {
  bool transposed;
  Dim k, n;

  Form(const Dims& w, const Attrs& attrs)
      : transposed(attrs.get<bool>("transpose_w")),
        k(w[transposed ? 1 : 0]),
        n(w[transposed ? 0 : 1]) {}
};

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &w = site.in(1);
  require(is_float(x.dtype), "linear: needs a float tensor, got ", x);
  require(x.dtype == w.dtype, "linear: x is ", x, " and w is ", w, ", of different dtypes");
  require(rank(x) > 0, "linear: x is ", x, ", it needs rank 1 or more");
  require(rank(w) == 2, "linear: w is ", w, ", it needs rank 2");
  const Form form(w.shape, site.attrs);
  if (!(x.shape.back() == form.k))  // the message takes longer than the rule
    site.equal(x.shape.back(), form.k, text("the inner dims of ", x, " and ", w, " differ"));
  if (site.has(2)) {
    const TensorType& bias = site.in(2);
    require(rank(bias) == 1 && bias.dtype == x.dtype, "linear: bias is ", bias, ", it needs to be ",
            x.dtype, '[', form.n, ']');
    if (!(bias.shape[0] == form.n))
      site.equal(bias.shape[0], form.n, text("bias ", bias, " does not fit w ", w));
  }
  Dims shape = x.shape;
  shape.back() = form.n;
  return {{x.dtype, shape}};
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &w = site.in(1);
  const Form form(w.shape(), site.attrs);
  const int64_t k = form.k.number(), n = form.n.number();
  std::vector<double> values, weights;
  for (int64_t i = 0; i < x.count(); ++i) values.push_back(x.at(i));
  for (int64_t i = 0; i < w.count(); ++i) weights.push_back(w.at(i));
  for (int64_t at = 0; at < site.out().count(); ++at) {
    const int64_t row = at / n, column = at % n;
    double total = 0;
    for (int64_t i = 0; i < k; ++i)
      total += values[size_t(row * k + i)] *
               weights[size_t(form.transposed ? column * k + i : i * n + column)];
    if (site.has(2)) total += site.in(2).at(column);
    site.out().set(at, total);
  }
}

Steps lower(const LowerSite& site) {
  const Form form(site.in(1).shape, site.attrs());
  Product product;
  Operand x = site.inputs[0];  // each vector of x is a matrix of one row
  x.shape.insert(x.shape.end() - 1, Dim(1));
  x.layout.strides.insert(x.layout.strides.end() - 1, Dim(0));
  product.batch.assign(x.shape.begin(), x.shape.end() - 2);
  product.n = form.n;
  product.k = form.k;
  product.a = matrix_view(x, product.batch, false);
  product.b = matrix_view(site.inputs[1], product.batch, form.transposed);
  product.y = site.write("y");
  if (site.has(2)) {
    product.finish_operands = {site.read("bias", 2)};
    product.finish = "v + load_bias(column)";
  }
  return lower_product(site, product);
}

Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), w = site.in(1);
  const bool has_bias = site.inputs.size() > 2 && site.in(2).present();
  const Form form(w.shape(), site.attrs());
  const Value dy = site.dy();
  const Dim rows = count(Dims(x.shape().begin(), x.shape().end() - 1));
  const Value x_rows = reshape(x, Dims{rows, form.k}), dy_rows = reshape(dy, Dims{rows, form.n});
  Gradients gradients = {
      matmul(dy, w, false, !form.transposed),
      form.transposed ? matmul(dy_rows, x_rows, true) : matmul(x_rows, dy_rows, true)};
  if (site.inputs.size() > 2)
    gradients.push_back(has_bias ? std::optional(sum(dy_rows, {0})) : std::nullopt);
  return gradients;
}

}  // namespace

const OpDef& linear_op() {
  static const OpDef op{
      .name = "linear",
      .family = "linear",
      .inputs = {2, 3, {"x", "w", "bias"}},
      .attrs = {{"transpose_w", false}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .accuracy = {16},
  };
  return op;
}

Value linear(Value x, Value w, Value bias, const std::string& activation, bool transpose_w) {
  require_activation("linear", activation);
  const Value y = x.apply(linear_op(), {x, w, bias}, {{"transpose_w", transpose_w}});
  return with_activation("linear", y, activation);
}

}  // namespace rlx
