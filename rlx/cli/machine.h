// The machine that figures were taken on, so that they can be told from others.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rlx::cli {

struct Machine {
  std::string processor, isa, system;
  int cores = 0, hardware_threads = 0;
  int64_t memory_bytes = 0;
  double load = 0;  // what else runs, in processors busy over the last minute
};
Machine this_machine();

std::string now_text();  // 2026-11-17T21:40:00Z

nlohmann::ordered_json machine_json(const Machine& machine);

}  // namespace rlx::cli
