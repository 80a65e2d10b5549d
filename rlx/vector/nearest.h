// The nearest of many points to each query, all of f32, by a list that runs along with the points.
#pragma once

#include <cstdint>

#include "rlx/vector/isa.h"
#include "rlx/vector/range.h"

namespace rlx::vector {

// Of each query the k points of the smallest distance, ascending, of equals the first: the sum of
// squares of differences, or minus the sum of products. What is no number counts as infinite.
struct Nearest {
  const float *queries = nullptr, *points = nullptr;  // rows of `dims`, side by side
  int64_t point_count = 0, dims = 0, k = 0;
  bool products = false;
  bool skips_self = false;  // query i passes over point i
  float* distances = nullptr;
  int64_t* indices = nullptr;  // [queries, k]
};

struct NearestFunctions {
  void (*find)(const Nearest& nearest, Range queries, float* scratch);
  int64_t tile;  // points at a time
  int64_t scratch(int64_t dims) const { return tile * dims; }
};
NearestFunctions nearest(Isa isa);

}  // namespace rlx::vector
