// knn of 20,000 points of 64 dims, k 15, through a program of the CPU: seconds, the best of five.
// Its peer is NumPy: bench/knn_peer.py, on as many threads.
//   rlx_knn_bench [THREADS [POINTS]]   1 unless it is told; more points run once
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "bench/contest.h"
#include "rlx/rlx.h"

int main(int argc, char** argv) {
  using namespace rlx;
  constexpr int64_t kDims = 64, kNeighbours = 15;
  const int64_t points_wanted = argc > 2 ? std::atoll(argv[2]) : 20000;
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  Graph graph;
  const Value x = graph.input("x", f32({points_wanted, kDims}));
  const TopK found = knn(x, kNeighbours);
  graph.output("distances", found.values);
  graph.output("indices", found.indices);
  const Program program = compile(graph, {.device = Device(), .threads = threads});
  Tensor points(DType::f32, {points_wanted, kDims});
  uint32_t state = 1;
  for (float& v : points.mutable_data<float>()) {
    state = state * 1664525 + 1013904223;
    v = static_cast<float>(state >> 8) * 0x1p-24f;
  }
  double best = 1e9;
  for (int round = 0; round < (points_wanted > 20000 ? 1 : 5); ++round) {
    const auto start = std::chrono::steady_clock::now();
    program.run({{"x", points}});
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::printf("knn %lld x %lld, k %lld, %d threads: %.2f s\n",
              static_cast<long long>(points_wanted), static_cast<long long>(kDims),
              static_cast<long long>(kNeighbours), threads, best);
}
