// From a graph to an image, and on to a program.

#include <algorithm>
#include <chrono>
#include <optional>

#include "rlx/backend/cpu/cpu_backend.h"
#include "rlx/base/error.h"
#include "rlx/compile/build_image.h"
#include "rlx/lower/references.h"
#include "rlx/passes/fit_integers.h"
#include "rlx/passes/fuse.h"
#include "rlx/passes/passes.h"
#include "rlx/passes/split_large.h"
#include "rlx/runtime/internals.h"

namespace rlx {

using namespace detail;

Graph detail::optimised(const Graph& graph, const CompileOptions& options, PassOptions passes) {
  verify(graph);
  if (!options.optimise) return graph.clone();
  const std::vector<std::string>& disabled = options.disabled_passes;
  passes.disabled = disabled;
  Graph smaller = run_passes(graph, passes);
  const DeviceTraits& traits = options.device.traits();
  const auto is_on = [&](const char* pass) {
    return std::count(disabled.begin(), disabled.end(), pass) == 0;
  };
  if (is_on(kSplitLargePass)) smaller = split_large(smaller, traits);
  if (is_on(kFitIntegersPass)) smaller = fit_integers(smaller, traits);
  if (!is_on(kFusePass)) return smaller;
  if (!passes.report) return fuse(smaller, traits, {options.choices});
  PassReport report{kFusePass};
  const auto start = std::chrono::steady_clock::now();
  Graph fused =
      fuse(smaller, traits, {options.choices}, passes.near_misses ? &report.near_misses : nullptr);
  report.microseconds =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  report.changes = static_cast<int64_t>(smaller.nodes().size()) -
                   static_cast<int64_t>(fused.nodes().size());  // so many nodes fewer
  passes.report->push_back(std::move(report));
  return fused;
}

namespace {

// The device that runs the program: it has the threads of a CPU.
Device device_of(const CompileOptions& options) {
  if (options.threads <= 0 || !options.device.is_cpu()) return options.device;
  return detail::device_of(make_cpu_backend({options.threads, backend_of(options.device)}));
}

Image image_for(const Graph& graph, const CompileOptions& options) {
  return detail::image_of(
      build_image(graph, options.device.traits(), {{options.choices}, options.strict}));
}

}  // namespace

Image compile_image(const Graph& graph, const CompileOptions& options) {
  return image_for(optimised(graph, options), options);
}

void compile_async(const Graph& graph, const CompileOptions& options, Receive<Program> done) {
  std::optional<Error> failure;
  std::optional<Image> image;
  OpSet ops;
  try {
    const Graph final = optimised(graph, options);  // with ops that the passes brought
    image = image_for(final, options);
    ops = ops_of(final);
  } catch (...) {
    failure = current_error();
  }
  if (failure) return done(*failure);
  prepare_compiled(device_of(options), *image, ops, options.memory_budget, std::move(done));
}

Program compile(const Graph& graph, const CompileOptions& options) {
  return wait_for<Program>(*detail::backend_of(options.device), [&](Receive<Program> done) {
    compile_async(graph, options, std::move(done));
  });
}

}  // namespace rlx
