// From a graph to an image, and from an image to a program.

#include <algorithm>
#include <chrono>
#include <optional>

#include "rlx/backend/cpu/cpu_backend.h"
#include "rlx/backend/cpu/fast_ops.h"
#include "rlx/base/error.h"
#include "rlx/compile/build_image.h"
#include "rlx/image/verify.h"
#include "rlx/lower/references.h"
#include "rlx/passes/fit_integers.h"
#include "rlx/passes/fuse.h"
#include "rlx/passes/passes.h"
#include "rlx/passes/split_large.h"
#include "rlx/runtime/internals.h"

namespace rlx {

using namespace detail;
namespace {

// What the CPU does fast, before the references.
image::Implementations implementations_of(const OpSet& ops) {
  image::Implementations table = fast_implementations();
  for (auto& [op, list] : references(ops))
    table[op].insert(table[op].end(), list.begin(), list.end());
  return table;
}

void prepare_with(const Device& device, const Image& image, image::Implementations implementations,
                  int64_t memory_budget, Receive<Program> done) {
  std::optional<Error> failure;
  try {
    image::check_device(image.data(), device.traits());
  } catch (...) {
    failure = current_error();
  }
  if (failure) return done(*failure);
  const auto state = std::make_shared<detail::ProgramState>();
  state->device = device;
  const auto kept = std::make_shared<const Image>(image);
  state->image = {kept, &kept->data()};
  PrepareOptions options{state->image,
                         std::make_shared<const image::Implementations>(std::move(implementations)),
                         memory_budget};
  detail::backend_of(device)->prepare_async(
      std::move(options), [state, done = std::move(done)](Result<ExecutablePtr> made) {
        if (!made.ok()) return done(made.error());
        state->executable = made.take();
        done(Program(state));
      });
}

}  // namespace

void prepare_async(const Device& device, const Image& image, const OpSet& ops,
                   int64_t memory_budget, Receive<Program> done) {
  // The image may be from a file: what was compiled here needs no checks.
  image::Implementations implementations = implementations_of(ops);
  implementations.merge(call_checks(ops));
  prepare_with(device, image, std::move(implementations), memory_budget, std::move(done));
}

Program prepare(const Device& device, const Image& image, const OpSet& ops, int64_t memory_budget) {
  return wait_for<Program>(*detail::backend_of(device), [&](Receive<Program> done) {
    prepare_async(device, image, ops, memory_budget, std::move(done));
  });
}

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
  image::Implementations implementations;
  try {
    const Graph final = optimised(graph, options);  // with ops that the passes brought
    image = image_for(final, options);
    implementations = implementations_of(ops_of(final));
  } catch (...) {
    failure = current_error();
  }
  if (failure) return done(*failure);
  prepare_with(device_of(options), *image, std::move(implementations), options.memory_budget,
               std::move(done));
}

Program compile(const Graph& graph, const CompileOptions& options) {
  return wait_for<Program>(*detail::backend_of(options.device), [&](Receive<Program> done) {
    compile_async(graph, options, std::move(done));
  });
}

}  // namespace rlx
