// Every row of op_cases as a benchmark, on every device that is found.
#include <benchmark/benchmark.h>

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/runner.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/ops/catalog.h"

namespace rlx {
namespace {

// A run with its inputs bound, so that what is measured is upload, dispatch and readback.
void run_row(benchmark::State& state, const OpCase& row, const OpSet& ops, const Device& device) {
  try {
    const CaseGraph built = case_graph(row, ops);
    BoundRun run = compile(built.graph, {.device = device}).bind(built.inputs);
    run.run();  // compiles kernels, makes buffers
    for (auto _ : state) run.run();
    int64_t bytes = 0;
    for (const auto& [name, tensor] : built.inputs)
      bytes += static_cast<int64_t>(tensor.bytes().size());
    state.SetBytesProcessed(bytes * state.iterations());
  } catch (const Error& error) {
    state.SkipWithError(error.what());
  }
}

void add_rows() {
  static const OpSet ops = catalog();
  static const std::vector<OpCase> rows = op_cases();
  for (const Device& device : test_devices())
    for (const OpCase& row : rows)
      benchmark::RegisterBenchmark(
          (device.name() + "/" + describe(row)).c_str(),
          [&row, device](benchmark::State& state) { run_row(state, row, ops, device); })
          ->Unit(benchmark::kMicrosecond)
          ->UseRealTime();
}

}  // namespace
}  // namespace rlx

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  rlx::add_rows();
  benchmark::RunSpecifiedBenchmarks();
}
