// dense_solve(a, b): the x of a . x = b, by LU with partial pivoting, for each matrix of a batch.

#include <cmath>
#include <utility>

#include "rlx/ir/graph.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_solve.h"

namespace rlx {
namespace {

bool is_vector(const TensorType& a, const TensorType& b) { return rank(b) + 1 == rank(a); }

Types infer(const InferSite& site) {
  const TensorType &a = site.in(0), &b = site.in(1);
  require(is_float(a.dtype) && rank(a) >= 2, "dense_solve: a is ", a,
          ", it needs floats [.., N, N]");
  require(b.dtype == a.dtype && (rank(b) == rank(a) || is_vector(a, b)), "dense_solve: b is ", b,
          ", it needs to be ", a.dtype, "[.., N] or [.., N, K] for a ", a);
  const size_t batch = a.shape.size() - 2;
  site.equal(a.shape[batch], a.shape[batch + 1], text("a ", a, " is not square"));
  for (size_t d = 0; d <= batch; ++d)
    site.equal(a.shape[d], b.shape[d], text("dim ", d, " of a ", a, " and b ", b));
  return {b};
}

// Solves a . x = b in place: b, of `columns` columns, becomes x. False where a is singular.
bool solve(std::vector<double>& a, std::vector<double>& b, int64_t n, int64_t columns) {
  const auto at = [&](int64_t row, int64_t column) -> double& {
    return a[size_t(row * n + column)];
  };
  const auto right = [&](int64_t row, int64_t column) -> double& {
    return b[size_t(row * columns + column)];
  };
  for (int64_t step = 0; step < n; ++step) {
    int64_t pivot = step;
    for (int64_t row = step + 1; row < n; ++row)
      if (std::abs(at(row, step)) > std::abs(at(pivot, step))) pivot = row;
    if (at(pivot, step) == 0) return false;
    for (int64_t c = 0; c < n && pivot != step; ++c) std::swap(at(pivot, c), at(step, c));
    for (int64_t c = 0; c < columns && pivot != step; ++c)
      std::swap(right(pivot, c), right(step, c));
    for (int64_t row = step + 1; row < n; ++row) {
      const double factor = at(row, step) / at(step, step);
      for (int64_t c = step; c < n; ++c) at(row, c) -= factor * at(step, c);
      for (int64_t c = 0; c < columns; ++c) right(row, c) -= factor * right(step, c);
    }
  }
  for (int64_t row = n; row-- > 0;)
    for (int64_t c = 0; c < columns; ++c) {
      double rest = right(row, c);
      for (int64_t k = row + 1; k < n; ++k) rest -= at(row, k) * right(k, c);
      right(row, c) = rest / at(row, row);
    }
  return true;
}

void reference(const ReferenceSite& site) {
  const Tensor &a = site.in(0), &b = site.in(1);
  const int64_t n = a.shape().back();
  const int64_t columns = is_vector(a.type(), b.type()) ? 1 : b.shape().back();
  const int64_t matrices = n == 0 ? 0 : a.count() / (n * n);
  for (int64_t matrix = 0; matrix < matrices; ++matrix) {
    std::vector<double> left, right;
    for (int64_t i = 0; i < n * n; ++i) left.push_back(a.at(matrix * n * n + i));
    for (int64_t i = 0; i < n * columns; ++i) right.push_back(b.at(matrix * n * columns + i));
    if (!solve(left, right, n, columns))
      fail(ErrorKind::invalid_input, "dense_solve: matrix ", matrix, " of a ", a.type(),
           " is singular");
    for (int64_t i = 0; i < n * columns; ++i)
      site.out().set(matrix * n * columns + i, right[size_t(i)]);
  }
}

// With z the solution of aᵀ z = dy: db = z, da = -z xᵀ.
Gradients gradient(const GradientSite& site) {
  const Value a = site.in(0), x = site.y();
  const int64_t dims = rank(a.type());
  Ints order;
  for (int64_t d = 0; d < dims; ++d) order.push_back(d);
  std::swap(order[size_t(dims) - 1], order[size_t(dims) - 2]);
  const Value db = dense_solve(transpose(a, order), site.dy());
  const bool vector = is_vector(a.type(), x.type());
  const Value z = vector ? unsqueeze(db, {-1}) : db, columns = vector ? unsqueeze(x, {-1}) : x;
  return {-matmul(z, columns, false, true), db};
}

}  // namespace

const OpDef& dense_solve_op() {
  static const OpDef op{
      .name = "dense_solve",
      .family = "linear",
      .inputs = {2, 2, {"a", "b"}},
      .infer = infer,
      .reference = reference,
      .gradient = gradient,
      .accuracy = {64},
      .host_reason = "each pivot depends on the last: there is nothing to do at once",
  };
  return op;
}

Value dense_solve(Value a, Value b) { return a.apply(dense_solve_op(), {a, b}); }

}  // namespace rlx
