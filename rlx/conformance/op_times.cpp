#include "rlx/conformance/op_times.h"

#include <algorithm>
#include <limits>
#include <map>

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/runner.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_core.h"

namespace rlx {
namespace {

// The time of all dispatches of a run, the best of several.
double kernel_microseconds(const Graph& graph, const TensorMap& inputs, const Device& device) {
  constexpr int kRuns = 4;
  const Program program = compile(graph, {.device = device});
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRuns; ++i) {
    RunReport report;
    RunOptions options;
    options.report = &report;
    program.run(inputs, options);
    double total = 0;
    for (const DispatchReport& dispatch : report.dispatches) total += dispatch.microseconds;
    best = std::min(best, total);
  }
  return best;
}

double copy_microseconds(int64_t bytes, const Device& device) {
  constexpr int64_t kReadAndWritten = 8;
  const int64_t count = std::max<int64_t>(bytes / kReadAndWritten, 1);
  Graph graph;
  graph.output("y", neg(graph.input("x", f32({count}))));
  return kernel_microseconds(graph, {{"x", Tensor(DType::f32, {count})}}, device);
}

int64_t bytes_of_row(const CaseGraph& built, const TensorMap& outputs) {
  int64_t bytes = 0;
  for (const TensorMap* tensors : {&built.inputs, &outputs})
    for (const auto& [name, tensor] : *tensors) bytes += tensor.count() * bytes_of(tensor.dtype());
  return bytes;
}

}  // namespace

std::vector<OpTime> op_times(const std::vector<OpCase>& rows, const OpSet& ops,
                             const Device& device, int64_t least_bytes) {
  struct Largest {
    const OpCase* row = nullptr;
    int64_t bytes = 0;
  };
  std::map<std::string, Largest> largest;
  for (const OpCase& row : rows) {
    const CaseGraph built = case_graph(row, ops);
    const int64_t bytes = bytes_of_row(built, evaluate(built.graph, built.inputs).outputs);
    Largest& known = largest[row.op];
    if (bytes >= least_bytes && bytes > known.bytes) known = {&row, bytes};
  }
  std::vector<OpTime> times;
  for (const auto& [op, found] : largest) {
    if (!found.row) continue;
    const CaseGraph built = case_graph(*found.row, ops);
    const double taken = kernel_microseconds(built.graph, built.inputs, device);
    if (taken > 0)
      times.push_back(
          {op, describe(*found.row), found.bytes, taken, copy_microseconds(found.bytes, device)});
  }
  std::sort(times.begin(), times.end(),
            [](const OpTime& a, const OpTime& b) { return a.ratio() > b.ratio(); });
  return times;
}

}  // namespace rlx
