// det(a): the determinant of each matrix of a batch, by LU with partial pivoting.

#include <cmath>
#include <utility>

#include "rlx/ir/graph.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_solve.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) {
  const TensorType& a = site.in(0);
  require(is_float(a.dtype) && rank(a) >= 2, "det: a is ", a, ", it needs floats [.., N, N]");
  const size_t batch = a.shape.size() - 2;
  site.equal(a.shape[batch], a.shape[batch + 1], text("a ", a, " is not square"));
  return {{a.dtype, Dims(a.shape.begin(), a.shape.end() - 2)}};
}

double determinant(std::vector<double> a, int64_t n) {
  const auto at = [&](int64_t row, int64_t column) -> double& {
    return a[static_cast<size_t>(row * n + column)];
  };
  double product = 1;
  for (int64_t step = 0; step < n; ++step) {
    int64_t pivot = step;
    for (int64_t row = step + 1; row < n; ++row)
      if (std::abs(at(row, step)) > std::abs(at(pivot, step))) pivot = row;
    if (at(pivot, step) == 0) return 0;
    for (int64_t c = 0; c < n && pivot != step; ++c) std::swap(at(pivot, c), at(step, c));
    product *= pivot == step ? at(step, step) : -at(step, step);
    for (int64_t row = step + 1; row < n; ++row) {
      const double factor = at(row, step) / at(step, step);
      for (int64_t c = step; c < n; ++c) at(row, c) -= factor * at(step, c);
    }
  }
  return product;
}

void reference(const ReferenceSite& site) {
  const Tensor& a = site.in(0);
  const int64_t n = a.shape().back();
  for (int64_t matrix = 0; matrix < site.out().count(); ++matrix) {
    std::vector<double> elements;
    for (int64_t i = 0; i < n * n; ++i) elements.push_back(a.at(matrix * n * n + i));
    site.out().set(matrix, determinant(std::move(elements), n));
  }
}

// det(a) times the transposed inverse of a, which a singular matrix does not have.
Gradients gradient(const GradientSite& site) {
  const Value a = site.in(0);
  const int64_t dims = rank(a.type());
  Ints order;
  for (int64_t d = 0; d < dims; ++d) order.push_back(d);
  std::swap(order[static_cast<size_t>(dims) - 1], order[static_cast<size_t>(dims) - 2]);
  const Dim& n = a.shape().back();
  const Value row = counting(a, n, DType::i32);
  const Value one = cast(equal(unsqueeze(row, {1}), unsqueeze(row, {0})), a.dtype());
  const Value inverse = dense_solve(transpose(a, order), expand(one, a.shape()));
  return {unsqueeze(site.dy() * site.y(), {-2, -1}) * inverse};
}

}  // namespace

const OpDef& det_op() {
  static const OpDef op{
      .name = "det",
      .family = "linear",
      .inputs = {1, 1, {"a"}},
      .infer = infer,
      .reference = reference,
      .gradient = gradient,
      .never_fails = true,
      .accuracy = {64},
      .host_reason = "each pivot depends on the last: there is nothing to do at once",
      .onnx = "Det",
  };
  return op;
}

Value det(Value a) { return a.apply(det_op(), {a}); }

}  // namespace rlx
