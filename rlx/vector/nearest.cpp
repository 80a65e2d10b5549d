// Points come in tiles, turned so that a vector has one dim of kLanes of them; a few queries share
// each vector that is loaded. Only what is nearer than the last of a list is looked at again.
#include "rlx/vector/nearest.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/nearest.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

constexpr int64_t kVectors = 2, kWide = kVectors * kLanes, kTile = 128;
static_assert(kTile % kWide == 0);
constexpr int kQueries = kRegisters == 32 ? 8 : 4;
constexpr float kFar = std::numeric_limits<float>::infinity();

// [kTile / kWide, dims, kWide], zeros behind the last point.
void turn_tile(const Nearest& n, int64_t first, int64_t count, float* to) {
  for (int64_t block = 0; block < kTile; block += kWide)
    for (int64_t d = 0; d < n.dims; ++d)
      for (int64_t i = 0; i < kWide; ++i)
        to[(block * n.dims) + d * kWide + i] =
            block + i < count ? n.points[(first + block + i) * n.dims + d] : 0.0f;
}

// Into the list of a query, which holds `held`.
void insert(const Nearest& n, int64_t query, int64_t point, float distance, int64_t held) {
  float* distances = n.distances + query * n.k;
  int64_t* indices = n.indices + query * n.k;
  int64_t at = std::min(held, n.k - 1);
  for (; at > 0 && distances[at - 1] > distance; --at) {
    distances[at] = distances[at - 1];
    indices[at] = indices[at - 1];
  }
  distances[at] = distance;
  indices[at] = point;
}

// So many queries from `query` on, and kWide points from `first` on of which there are `count`.
template <int queries, bool products>
HWY_INLINE void meet(const Nearest& n, int64_t query, int64_t first, int64_t count,
                     const float* block, int64_t* held) {
  F sums[queries][kVectors];
#pragma GCC unroll 8
  for (int q = 0; q < queries; ++q)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[q][v] = set(0.0f);
  const float* x = n.queries + query * n.dims;
  for (int64_t d = 0; d < n.dims; ++d) {
    F p[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) p[v] = load(block + d * kWide + v * kLanes);
#pragma GCC unroll 8
    for (int q = 0; q < queries; ++q) {
      const F at = set(x[q * n.dims + d]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        if constexpr (products) {
          sums[q][v] = neg_mul_add(at, p[v], sums[q][v]);
        } else {
          const F apart = at - p[v];
          sums[q][v] = mul_add(apart, apart, sums[q][v]);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int q = 0; q < queries; ++q) {
    float* last = n.distances + (query + q) * n.k + n.k - 1;
    // What is no number is not less either, and a list that is not full takes all.
    const bool is_full = held[q] == n.k;
    const F bound = set(is_full ? *last : kFar);
    bool some = !is_full;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) some = some || any(less(sums[q][v], bound));
    if (!some) continue;
    alignas(64) float distances[kWide];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) store(sums[q][v], distances + v * kLanes);
    for (int64_t i = 0; i < count; ++i) {
      const float distance = std::isnan(distances[i]) ? kFar : distances[i];
      if (held[q] == n.k && !(distance < *last)) continue;
      if (n.skips_self && first + i == query + q) continue;
      insert(n, query + q, first + i, distance, held[q]);
      held[q] = std::min(held[q] + 1, n.k);
    }
  }
}

template <bool products>
void find_in(const Nearest& n, Range range, float* scratch) {
  // As many queries as may wait while the points pass by once.
  constexpr int64_t kBlock = 1024;
  int64_t held[kBlock];
  for (int64_t begin = range.begin; begin < range.end; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, range.end);
    std::fill(held, held + (end - begin), int64_t{0});
    for (int64_t first = 0; first < n.point_count; first += kTile) {
      const int64_t count = std::min(kTile, n.point_count - first);
      turn_tile(n, first, count, scratch);
      int64_t query = begin;
      for (; query + kQueries <= end; query += kQueries)
        for (int64_t i = 0; i < count; i += kWide)
          meet<kQueries, products>(n, query, first + i, std::min(kWide, count - i),
                                   scratch + i * n.dims, held + (query - begin));
      for (; query < end; ++query)
        for (int64_t i = 0; i < count; i += kWide)
          meet<1, products>(n, query, first + i, std::min(kWide, count - i), scratch + i * n.dims,
                            held + (query - begin));
    }
  }
}

void find(const Nearest& n, Range range, float* scratch) {
  n.products ? find_in<true>(n, range, scratch) : find_in<false>(n, range, scratch);
}

NearestFunctions make() { return {.find = find, .tile = kTile}; }

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
NearestFunctions nearest(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
