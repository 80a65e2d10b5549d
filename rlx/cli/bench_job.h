// What one process measures, and what it tells: between rlx bench, its workers, and programs that
// it compares with (bench/ort_peer.cpp). All in JSON; a job is a file, its answer standard output.
#pragma once

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rlx/base/clock.h"
#include "rlx/base/file.h"

namespace rlx::cli {

struct NamedFile {
  std::string name, file;
};

struct BenchJob {
  std::string model, device = "cpu";
  std::vector<NamedFile> inputs;  // .npy
  int threads = 0;
  double seconds = 1;
  std::string outputs;  // the folder to write results to; empty: none
  std::vector<std::string> disabled_passes = {};
};

// From nothing to a first result, in microseconds.
struct BenchStart {
  double load = 0, compile = 0, first = 0;
  double all() const { return load + compile + first; }
};

struct BenchAnswer {
  std::string program;       // with its version
  BenchStart cold, warm;     // the first of the process, and one more after the runs
  std::vector<double> runs;  // microseconds of each
  int64_t peak_bytes = 0;    // of the process, before the second start
  std::vector<NamedFile> outputs;
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NamedFile, name, file)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BenchJob, model, device, inputs, threads, seconds, outputs,
                                   disabled_passes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BenchStart, load, compile, first)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BenchAnswer, program, cold, warm, runs, peak_bytes, outputs)

inline BenchJob read_job(const std::string& file) {
  return nlohmann::json::parse(read_file(file)).get<BenchJob>();
}

// The most memory that this process has had so far; 0: not known.
inline int64_t peak_memory_bytes() {
  std::ifstream lines("/proc/self/status");
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::strtoll(line.c_str() + 6, nullptr, 10) * 1024;
  return 0;
}

// Times of one call after the other, for so many seconds, after some that are not counted.
template <class Run>
std::vector<double> timed_runs(double seconds, const Run& run) {
  constexpr size_t kLeast = 3, kMost = 100'000;
  constexpr double kWarmUp = 0.15;  // of the time
  const auto begin = Clock::now();
  do run();
  while (microseconds_since(begin) < kWarmUp * seconds * 1e6);
  std::vector<double> times;
  const auto start = Clock::now();
  while (times.size() < kLeast ||
         (microseconds_since(start) < seconds * 1e6 && times.size() < kMost)) {
    const auto before = Clock::now();
    run();
    times.push_back(microseconds_since(before));
  }
  return times;
}

}  // namespace rlx::cli
