// What a run of 300 dispatches costs the thread that calls it, apart from what the WebGPU library
// takes to encode and submit the same commands: with an extent that changes from run to run, and
// without.
//   rlx_record_bench [DEVICE]   lavapipe where none is named
#include <time.h>

#include <algorithm>
#include <cstdio>

#include "rlx/backend/webgpu/faulty_gpu.h"
#include "rlx/backend/webgpu/webgpu_device.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/rlx.h"
#include "rlx/runtime/internals.h"

namespace rlx {
namespace {

using namespace detail::webgpu;

// Of this thread, computing only.
double microseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

struct Timer {
  explicit Timer(double& to) : spent(to) {}
  ~Timer() { spent += microseconds() - start; }
  double& spent;
  const double start = microseconds();
};

// Counts what is spent below it.
class TimedGpu : public FaultyGpu {
 public:
  TimedGpu(std::shared_ptr<Gpu> gpu, double& spent)
      : FaultyGpu(std::move(gpu), std::make_shared<Fault>()), spent_(spent) {}
  void write(Buffer& buffer, uint64_t offset, std::span<const std::byte> data) override {
    const Timer timer(spent_);
    FaultyGpu::write(buffer, offset, data);
  }
  Ticket submit(std::span<const Command> commands, const SubmitOptions& options,
                Done<SubmitTimes> times) override {
    const Timer timer(spent_);
    return FaultyGpu::submit(commands, options, std::move(times));
  }
  Ticket read(Buffer& staging, uint64_t offset, uint64_t bytes,
              Done<std::span<const std::byte>> take, std::function<void()> done) override {
    const Timer timer(spent_);
    return FaultyGpu::read(staging, offset, bytes, std::move(take), std::move(done));
  }
  Ticket finish(Done<bool> done) override {
    const Timer timer(spent_);
    return FaultyGpu::finish(std::move(done));
  }
  void poll() override {
    const Timer timer(spent_);
    FaultyGpu::poll();
  }

 private:
  double& spent_;
};

Device timed(const Device& device, double& spent) {
  const auto& backend = dynamic_cast<WebGpuDevice&>(*detail::backend_of(device));
  OpenGpu open = [from = backend.opener(), &spent](Done<std::shared_ptr<Gpu>> done) {
    return from([&spent, done = std::move(done)](Result<std::shared_ptr<Gpu>> opened) {
      if (!opened.ok()) return done(opened.error());
      done(std::shared_ptr<Gpu>(std::make_shared<TimedGpu>(opened.take(), spent)));
    });
  };
  return detail::device_of(std::make_shared<WebGpuDevice>(backend.info(), std::move(open)));
}

void measure(const std::string& name) {
  constexpr int kDispatches = 300, kRuns = 400;
  double spent = 0;
  Graph graph;
  Value x = graph.input("x", {DType::f32, {graph.symbol("n", 1024), 8}});
  for (int i = 0; i < kDispatches; ++i) x = softmax(x, 1);
  graph.output("y", x);
  const Program program =
      compile(graph, {.device = timed(find_all_devices(test_find_options()).at(name), spent)});
  for (const bool grows : {false, true}) {
    std::vector<double> ours, theirs;
    for (int64_t run = 0; run < kRuns; ++run) {
      const TensorMap inputs{{"x", Tensor(DType::f32, {grows ? 16 + run : 16, 8})}};
      spent = 0;
      const double start = microseconds();
      program.run_async(inputs, [](const Result<TensorMap>&) {});
      theirs.push_back(spent);
      ours.push_back(microseconds() - start - spent);
      program.wait();
    }
    const auto median = [](std::vector<double>& of) {
      std::nth_element(of.begin(), of.begin() + kRuns / 2, of.end());
      return of[kRuns / 2];
    };
    std::printf("%d dispatches, %s: %.0f us of rlx, %.0f us of the library\n", kDispatches,
                grows ? "a new extent in each run" : "the same extent", median(ours),
                median(theirs));
  }
  std::printf("created by all runs: %llu pipelines, %llu plans, %llu bind groups\n",
              static_cast<unsigned long long>(program.counters().pipelines),
              static_cast<unsigned long long>(program.counters().plans),
              static_cast<unsigned long long>(program.counters().bind_groups));
}

}  // namespace
}  // namespace rlx

int main(int argc, char** argv) { rlx::measure(argc > 1 ? argv[1] : "lavapipe"); }
