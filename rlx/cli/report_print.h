// What a run did, for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "rlx/base/report.h"

namespace rlx::cli {

struct Measured {
  RunReport report;                      // of the last run
  Counters total;                        // since the program was compiled
  double compile_microseconds = 0;       // passes, lowering, and the device's pipelines
  std::vector<double> run_microseconds;  // of each run, as the caller waits for it
};

void print_report(const Measured& measured, std::ostream& out);
nlohmann::ordered_json report_json(const Measured& measured);

double median(std::vector<double> values);  // 0 when there are none

}  // namespace rlx::cli
