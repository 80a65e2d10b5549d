// Points in a space of many dims.
#pragma once

#include "rlx/ir/value.h"
#include "rlx/ops/ops_core.h"

namespace rlx {

struct KnnOptions {
  std::string metric = "euclid";  // squared; or "cosine", 1 - cos; or "dot", minus the product
  bool skip_self = true;          // point i is no neighbour of its own
};
// Of each of n points [n, d] the k nearest: their distances, ascending, and which they are, both
// [n, k]. Of equals the first comes first; a distance that is no number counts as infinite. There
// is no n x n matrix.
TopK knn(Value points, int64_t k, const KnnOptions& options = {});
// The same from distances [n, m] that are there already.
TopK knn_pairwise(Value distances, int64_t k, bool skip_self = true);
// Of other points, [m, d] to [m, k]; none is passed over.
TopK nearest(Value queries, Value points, int64_t k, const std::string& metric = "euclid");

}  // namespace rlx
