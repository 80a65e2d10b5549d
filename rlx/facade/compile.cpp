// From a graph to an image, and on to a program: what links the compiler.

#include <optional>

#include "rlx/backend/cpu/cpu_backend.h"
#include "rlx/base/error.h"
#include "rlx/compile/build_image.h"
#include "rlx/facade/optimised.h"
#include "rlx/lower/references.h"
#include "rlx/runtime/internals.h"

namespace rlx {

using namespace detail;

Graph detail::optimised(const Graph& graph, const CompileOptions& options, PassOptions passes) {
  verify(graph);
  if (!options.optimise) return graph.clone();
  passes.disabled = options.disabled_passes;
  passes.target = {options.device.traits(), {options.choices}};
  return run_passes(graph, passes);
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
