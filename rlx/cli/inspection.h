// What a graph is, what of it would run where on a device, and the memory it would take.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rlx/plan/memory_plan.h"
#include "rlx/runtime/program.h"

namespace rlx::cli {

struct NamedType {
  std::string name;
  TensorType type;
};
struct HostStep {
  std::string op, node, reason;
};

struct Inspection {
  std::vector<NamedType> inputs, outputs, weights, states;
  int64_t parameters = 0;                     // the weights' elements
  int64_t weight_bytes = 0, state_bytes = 0;  // as the file holds them
  std::map<std::string, Interval> symbols;    // of the inputs; `high` may be kUnbounded
  std::map<std::string, int64_t> ops;         // how many of each, bodies included

  std::string device;
  std::map<std::string, int64_t> steps;    // by kind
  std::map<std::string, int64_t> kernels;  // how many dispatches of each
  std::vector<HostStep> host_steps;        // on the CPU, all; they then have no reason

  detail::MemoryPlan plan;
  std::vector<std::string> value_names;  // by value of the plan
  SymbolRanges planned_for;              // a bound where there is one, else what was bound
  std::vector<std::string> unknown;      // symbols without either: what depends on them has no size
  int64_t device_weight_bytes = 0;
  // That calls of the CPU hold besides: weights in orders of their own, and narrower floats as f32.
  int64_t packed_bytes = 0, widened_bytes = 0;
  // What is computed from weights when it is prepared, and the weights that only this reads.
  int64_t once_steps = 0, once_bytes = 0, once_source_bytes = 0;
};

// As a program is compiled.
Inspection inspect(const Graph& graph, const CompileOptions& options, const SymbolValues& symbols);
nlohmann::ordered_json inspection_json(const Inspection& inspection);

}  // namespace rlx::cli
