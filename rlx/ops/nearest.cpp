// nearest(queries, points): of each row of queries [m, d] the k nearest rows of points [n, d], by
// tiles of points and a list for each query. knn and the other metrics are made of it.

#include <algorithm>
#include <cmath>

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_points.h"
#include "rlx/ops/ops_sort.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &points = site.in(1);
  require(is_float(x.dtype) && x.shape.size() == 2, "nearest: queries are ", x,
          ", they need to be floats [m, d]");
  require(points.dtype == x.dtype && points.shape.size() == 2, "nearest: points are ", points,
          ", queries ", x);
  site.equal(x.shape[1], points.shape[1], "nearest: dims of queries and of points");
  const int64_t k = site.attrs.get<int64_t>("k");
  const bool skips = site.attrs.get<bool>("skip_self");
  require(k > 0, "nearest: k is ", k, ", it must be positive");
  site.at_most(
      Dim(skips ? k + 1 : k), points.shape[0],
      skips ? "nearest: k, and the point itself, of the points" : "nearest: k of the points");
  const Dims shape{x.shape[0], Dim(k)};
  return {{x.dtype, shape}, {DType::i64, shape}};
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &points = site.in(1);
  const int64_t n = points.shape()[0], dims = points.shape()[1], k = site.attrs.get<int64_t>("k");
  const bool products = site.attrs.get<bool>("products"), skips = site.attrs.get<bool>("skip_self");
  std::vector<double> distances(static_cast<size_t>(n));
  for (int64_t q = 0; q < x.shape()[0]; ++q) {
    std::vector<int64_t> order;
    for (int64_t p = 0; p < n; ++p) {
      double sum = 0;
      for (int64_t d = 0; d < dims; ++d) {
        const double a = x.at(q * dims + d), b = points.at(p * dims + d);
        sum += products ? -a * b : (a - b) * (a - b);
      }
      distances[size_t(p)] = std::isnan(sum) ? INFINITY : sum;
      if (!skips || p != q) order.push_back(p);
    }
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return distances[size_t(a)] < distances[size_t(b)];
    });
    for (int64_t i = 0; i < k; ++i) {
      site.out(0).set(q * k + i, distances[size_t(order[size_t(i)])]);
      site.out(1).set_integer(q * k + i, order[size_t(i)]);
    }
  }
}

Steps lower(const LowerSite& site) {
  const Dims &x = site.in(0).shape, &points = site.in(1).shape;
  const Dim k = site.attrs().get<int64_t>("k");
  const Operand list = site.temporary("list", {DType::f32, {x[0], k}}),
                places = site.temporary("places", {DType::u32, {x[0], k}});
  return Dispatch{
      .kernel = kernel("nearest", {"numbers"}),
      .operands = {site.read("queries", 0), site.read("points", 1),
                   LowerSite::named(list, "list", Access::read_write),
                   LowerSite::named(places, "places", Access::read_write),
                   site.write("distances", 0), site.write("indices", 1)},
      .constants = {{"PRODUCTS", site.attrs().get<bool>("products")},
                    {"SKIP_SELF", site.attrs().get<bool>("skip_self")}},
      .params = {{"query_count", x[0]}, {"point_count", points[0]}, {"dims", x[1]}, {"k", k}},
      .workgroups = ceil_div(x[0], 64),
  };
}

// Of the distances, with the same neighbours.
Gradients gradient(const GradientSite& site) {
  Gradients gradients(2);
  if (!site.result_gradients[0]) return gradients;
  const Value x = site.in(0), points = site.in(1), indices = site.y(1);
  const Dim count = indices.shape()[0] * indices.shape()[1];
  const Value there = gather(points, indices, 0);  // [m, k, d]
  const Value here = unsqueeze(x, {1}), dy = unsqueeze(site.dy(), {2});
  const bool products = site.attrs().get<bool>("products");
  const Value apart = (here - there) * dy * scalar(dy, 2);
  const Value for_points = products ? -(here * dy) : -apart;
  gradients[0] = sum(products ? -(there * dy) : apart, {1});
  gradients[1] = scatter(zeros(points, points.shape()), reshape(indices, {count}),
                         reshape(for_points, {count, points.shape()[1]}), 0, "add");
  return gradients;
}

}  // namespace

const OpDef& nearest_op() {
  static const OpDef op{
      .name = "nearest",
      .family = "points",
      .inputs = {2, 2, {"queries", "points"}},
      .results = {2, 2, {"distances", "indices"}},
      .attrs = {{"k"}, {"products", false}, {"skip_self", false}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
  };
  return op;
}

namespace {

// Of length 1; of zeros there is no direction, and they stay.
Value normalised(Value x) {
  const Value square = sum_square(x, {-1}, true);
  return x * rsqrt(maximum(square, scalar(square, 1e-30)));
}

TopK found(Value queries, Value points, int64_t k, const std::string& metric, bool skip_self) {
  require(metric == "euclid" || metric == "cosine" || metric == "dot", "knn: the metric is '",
          metric, "', not euclid, cosine or dot");
  const bool same = queries == points;
  if (metric == "cosine") {
    queries = normalised(queries);
    points = same ? queries : normalised(points);
  }
  const Value y =
      queries.apply(nearest_op(), {queries, points},
                    {{"k", k}, {"products", metric != "euclid"}, {"skip_self", skip_self}});
  return {metric == "cosine" ? y + scalar(y, 1) : y, y.of(1)};
}

}  // namespace

TopK nearest(Value queries, Value points, int64_t k, const std::string& metric) {
  return found(queries, points, k, metric, false);
}
TopK knn(Value points, int64_t k, const KnnOptions& options) {
  return found(points, points, k, options.metric, options.skip_self);
}

TopK knn_pairwise(Value distances, int64_t k, bool skip_self) {
  require(is_float(distances.dtype()) && rank(distances.type()) == 2,
          "knn_pairwise: distances are ", distances.type(), ", they need to be floats [n, m]");
  if (skip_self) {
    const Value row = unsqueeze(counting(distances, distances.shape()[0], DType::i32), {1});
    const Value column = unsqueeze(counting(distances, distances.shape()[1], DType::i32), {0});
    distances = where(equal(row, column), scalar(distances, INFINITY), distances);
  }
  return top_k(distances, k, -1, false);
}

}  // namespace rlx
