#include "rlx/cli/bench_worker.h"

#include "rlx/cli/load_graph.h"
#include "rlx/cli/tensor_print.h"
#include "rlx/import/npy.h"
#include "rlx/ops/catalog.h"
#include "rlx/runtime/image.h"
#include "rlx/runtime/program.h"

namespace rlx::cli {
namespace {

double take_time(Clock::time_point& since) {
  const double time = microseconds_since(since);
  since = Clock::now();
  return time;
}

struct Started {
  Program program;
  BoundRun run;
  BenchStart times;
};

// An image has been compiled: preparing it is what stands for that.
Started start(const BenchJob& job, const Device& device, const TensorMap& inputs) {
  BenchStart times;
  auto since = Clock::now();
  Program program;
  if (is_image_file(job.model)) {
    const Image image = read_image(job.model);
    times.load = take_time(since);
    program = prepare(device, image, catalog());
  } else {
    const Graph graph = load_graph(job.model);
    times.load = take_time(since);
    program = compile(graph, {.device = device, .disabled_passes = job.disabled_passes});
  }
  times.compile = take_time(since);
  BoundRun run = program.bind(inputs);
  run.run();
  times.first = take_time(since);
  return {std::move(program), std::move(run), times};
}

}  // namespace

BenchAnswer measure(const BenchJob& job, Context& context) {
  context.threads = job.threads;
  TensorMap inputs;
  for (const NamedFile& input : job.inputs) inputs.emplace(input.name, load_npy(input.file));
  const Device device = context.device(job.device);
  BenchAnswer answer;
  answer.program = version_text();
  std::optional<Started> started = start(job, device, inputs);
  answer.cold = started->times;
  answer.runs = timed_runs(job.seconds, [&] { started->run.run(); });
  answer.peak_bytes = peak_memory_bytes();
  std::set<std::string> taken;
  if (!job.outputs.empty())
    for (const Description& output : started->program.outputs()) {
      const Tensor& tensor = started->run.output(output.name);
      answer.outputs.push_back(
          {output.name, job.outputs + "/" + save_tensor(job.outputs, output.name, tensor, taken)});
    }
  started.reset();
  answer.warm = start(job, device, inputs).times;
  return answer;
}

}  // namespace rlx::cli
