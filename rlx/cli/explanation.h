// What the compiler made of a graph, as data: what each pass did and what it nearly did, the steps
// that are left, and what each costs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rlx/cli/inputs.h"
#include "rlx/cli/work.h"
#include "rlx/image/image.h"
#include "rlx/passes/passes.h"
#include "rlx/runtime/program.h"

namespace rlx::cli {

// Nodes as text, op and name and type: those a pass took away and those it brought.
struct PassChanges {
  std::vector<std::string> removed, added;
};

struct ExplainedStep {
  std::string what;  // an op of the host, a kernel, or copy, clear and the like
  int node = -1;     // of the image
  int outer = -1;    // of the graph after the passes: the node, or the one that holds its body
  int kernel = -1;   // of the image
  bool once = false;
  std::string shape;  // of what it writes
  Work work;
  int64_t unfused_bytes = 0;  // read and written, if every node of a group were a step of its own
};

struct Explanation {
  std::string device;
  Graph before, after;
  SymbolValues symbols;
  std::vector<std::string> unbound;  // symbols that count as 1, since nobody said
  std::vector<PassReport> passes;    // the list, with what they nearly did
  std::vector<PassChanges> changes;  // one for each pass
  image::Image image;
  std::vector<ExplainedStep> steps;
  size_t steps_before = 0;  // that run without passes
  Work work_before;         // of those, with each node's bytes
};

// What the i-th of them does.
std::string summary_of(size_t pass);

Explanation explain(const Graph& graph, const CompileOptions& options, const InputOptions& inputs);

// All of it, for the page.
nlohmann::ordered_json explanation_json(const Explanation& found, const std::string& model);

}  // namespace rlx::cli
