// Sorting a million floats on each device that there is: values and where each was, with the way
// there and back, beside std::stable_sort of as many pairs on one thread, and on devices beside the
// sort that merges. Milliseconds, the best of some.
//   rlx_sort_bench [COUNT [DEVICE]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "rlx/conformance/test_devices.h"
#include "rlx/rlx.h"

namespace rlx {
namespace {

void print_best(const char* name, const std::function<void()>& run) {
  run();  // compiles kernels, makes buffers
  double best = 1e9;
  for (int round = 0; round < 7; ++round) {
    const auto start = std::chrono::steady_clock::now();
    run();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::printf("  %-16s %8.1f ms\n", name, best * 1e3);
  std::fflush(stdout);
}

void sort_on(const Device& device, const Tensor& numbers, const char* name,
             const std::map<std::string, int64_t>& choices = {}) {
  Graph graph;
  const TopK sorted = sort(graph.input("x", numbers.type()));
  graph.output("values", sorted.values);
  graph.output("indices", sorted.indices);
  BoundRun run = compile(graph, {.device = device, .choices = choices}).bind({{"x", numbers}});
  print_best(name, [&] { run.run(); });
}

}  // namespace
}  // namespace rlx

int main(int argc, char** argv) {
  using namespace rlx;
  const int64_t count = argc > 1 ? std::atoll(argv[1]) : 1000000;
  const std::string only = argc > 2 ? argv[2] : "";
  Tensor numbers(DType::f32, {count});
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (float& number : numbers.mutable_data<float>()) number = normal(random);
  std::printf("sort %lld floats\n", static_cast<long long>(count));
  for (const Device& device : test_devices()) {
    if (!only.empty() && device.name() != only) continue;
    sort_on(device, numbers, device.name().c_str());
    if (!device.is_cpu()) sort_on(device, numbers, "  by merging", {{"sort.variant", 1}});
  }
  using Pair = std::pair<float, int64_t>;
  std::vector<Pair> pairs(static_cast<size_t>(count));
  print_best("std::stable_sort", [&] {
    for (size_t i = 0; i < pairs.size(); ++i)
      pairs[i] = {numbers.data<float>()[i], static_cast<int64_t>(i)};
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const Pair& a, const Pair& b) { return a.first < b.first; });
  });
}
