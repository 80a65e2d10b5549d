// What a benchmark found, as data; as a table, as JSON, and as a page to look at.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "rlx/cli/bench_job.h"
#include "rlx/cli/machine.h"
#include "rlx/cli/work.h"
#include "rlx/vector/limits.h"

namespace rlx::cli {

// Microseconds of all runs, of all rounds.
struct Latency {
  size_t runs = 0;
  double min = 0, median = 0, p90 = 0, p99 = 0;
};
Latency latency_of(std::vector<double> runs);

// One program on one model.
struct BenchFigures {
  std::string program;
  std::vector<double> runs;
  std::vector<BenchStart> cold, warm;  // of each round
  int64_t peak_bytes = 0;

  void add(const BenchAnswer& answer);
};

// How far the peer's outputs are from ours, of their largest magnitude.
struct Agreement {
  double difference = 0, allowed = 0;
  std::string output = {};  // the worst, or what else is wrong
  bool within() const { return difference <= allowed; }
};

struct BenchLine {
  std::string model, device;
  int threads = 0;
  int64_t batch = 1;
  Work work;
  BenchFigures ours;
  std::vector<BenchFigures> peers = {};
  std::vector<Agreement> agreements = {};  // one for each peer
};

struct BenchResults {
  std::string date, revision;  // of the sources, where it is known
  Machine machine;
  std::map<int, vector::Limits> limits;  // by threads; of the CPU, from this run
  std::vector<BenchLine> lines;
  std::vector<std::string> skipped;  // with why
  std::string note;
};

void print_results(const BenchResults& results, std::ostream& out);
nlohmann::ordered_json results_json(const BenchResults& results);
// A page that needs nothing but itself.
std::string results_page(const BenchResults& results);

}  // namespace rlx::cli
