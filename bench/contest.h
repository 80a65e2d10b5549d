// Contenders for the same work: each takes its turn in every round, so that what else the machine
// does falls on all alike.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>
#ifdef RLX_ONEDNN
#include <omp.h>

#include <oneapi/dnnl/dnnl.hpp>
#endif

namespace rlx {

struct Contender {
  std::string name;
  std::function<void()> run;
};

class Contest {
 public:
  // Only the lines that have the word.
  explicit Contest(std::string word) : word_(std::move(word)) {}
  bool wants(const std::string& title) const { return title.find(word_) != std::string::npos; }

  // One line: the best time of each, as work per second, and as a ratio to the first.
  void compare(const std::string& title, double work, const char* unit,
               const std::vector<Contender>& contenders) const {
    if (!wants(title)) return;
    std::vector<double> best(contenders.size(), 1e9);
    std::vector<int> repeats;
    for (const Contender& each : contenders) {
      each.run();
      repeats.push_back(std::max(1, static_cast<int>(2e-3 / seconds_of(each.run, 1))));
    }
    for (int round = 0; round < 60; ++round)
      for (size_t i = 0; i < contenders.size(); ++i)
        best[i] = std::min(best[i], seconds_of(contenders[i].run, repeats[i]));
    std::printf("%-34s", title.c_str());
    for (size_t i = 0; i < contenders.size(); ++i)
      std::printf("  %s %.1f %s (%.2f)", contenders[i].name.c_str(), work / best[i] * 1e-9, unit,
                  best[0] / best[i]);
    std::printf("\n");
    std::fflush(stdout);
  }

 private:
  static double seconds_of(const std::function<void()>& run, int repeats) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
           repeats;
  }
  std::string word_;
};

inline std::vector<float> numbers(int64_t count) {
  std::vector<float> x(static_cast<size_t>(count));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 2654435761u % 1024) / 512 - 1;
  return x;
}

#ifdef RLX_ONEDNN
struct Dnn {
  dnnl::engine cpu{dnnl::engine::kind::cpu, 0};
  dnnl::stream queue{cpu};
};
#endif

}  // namespace rlx
