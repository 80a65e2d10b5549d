// What a program survives: a device lost, or out of memory, at every call it makes; sizes beyond
// what a kernel can count.
#include <gtest/gtest.h>

#include "rlx/conformance/test_devices.h"
#include "rlx/op.h"
#include "rlx/ops/ops_control.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_sort.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx {

using namespace detail;
namespace {

using webgpu::Fault;

class Trouble : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    device_ = test_device(GetParam());
    if (!device_) GTEST_SKIP() << "there is no " << GetParam();
  }
  Device faulty(const std::shared_ptr<Fault>& fault) const { return with_fault(*device_, fault); }
  const Device& device() const { return *device_; }

 private:
  std::optional<Device> device_;
};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Trouble, testing::Values("lavapipe", "swiftshader"),
                         [](const auto& device) { return device.param; });

OpRef host_op() {
  static const OpDef op{
      .name = "test.host",
      .family = "test",
      .infer = [](const InferSite& site) { return Types{site.in(0)}; },
      .reference = [](const ReferenceSite& site) { site.out() = site.in(0).copy(); },
      .host_reason = "a test",
  };
  return static_op(op);
}

// A product, a gather, a step on the host, a temporary, a branch the device decides, and a state.
Graph mixed() {
  Graph graph;
  const Value x = graph.input("x", f32({5, 4})), ids = graph.input("ids", i64({3}));
  Tensor weight(DType::f32, {4, 4});
  for (int64_t i = 0; i < 16; ++i) weight.set(i, static_cast<double>(i % 5) - 2);
  const Value rows = gather(matmul(x, graph.weight("w", weight)), ids);
  const Value sorted = sort(graph.add(host_op(), {rows})).values;
  const auto body = [](double factor) {
    Graph inner;
    const Value v = inner.input("v", f32({3, 4}));
    inner.output("y", v * scalar(v, factor));
    return inner;
  };
  const Value positive = greater(sum(sorted), scalar(sorted, 0));
  const Value chosen = if_else(positive, {sorted}, body(2), body(-3))[0];
  const Value total = graph.state("total", f32({3, 4}));
  graph.update(total, total + chosen);
  graph.output("y", chosen + scalar(chosen, 1));
  return graph;
}

TensorMap mixed_inputs() {
  Tensor x(DType::f32, {5, 4});
  for (int64_t i = 0; i < x.count(); ++i) x.set(i, static_cast<double>(i * i % 7) - 3);
  return {{"x", x}, {"ids", Tensor::of(DType::i64, {3}, {4, 0, 2})}};
}

bool same(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return false;
  for (int64_t i = 0; i < a.count(); ++i)
    if (a.at(i) != b.at(i)) return false;
  return true;
}

// Lets call after call fail, until a run makes fewer calls; each time the next run must be right.
int strike_everywhere(Fault::Kind kind, ErrorKind expected,
                      const std::function<Device(const std::shared_ptr<Fault>&)>& open) {
  const Graph graph = mixed();
  const TensorMap inputs = mixed_inputs();
  const Tensor want = evaluate(graph, inputs).outputs.at("y");
  const auto fault = std::make_shared<Fault>();
  const Device device = open(fault);
  for (int at = 0;; ++at) {
    *fault = {kind, at};
    std::optional<Program> program;
    const auto attempt = [&] {
      if (!program) program = compile(graph, {.device = device});
      return program->run(inputs).at("y");
    };
    try {
      EXPECT_TRUE(same(attempt(), want)) << "call " << at;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), expected) << "call " << at << ": " << error.what();
    }
    if (!fault->struck) return at;
    if (program) program->reset_state();  // what the run that failed may have written
    EXPECT_TRUE(same(attempt(), want)) << "after call " << at << " failed";
  }
}

// Every loss has all kernels compiled again, in which SwiftShader is slow.
class DeviceLoss : public Trouble {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, DeviceLoss, testing::Values("lavapipe"));
INSTANTIATE_TEST_SUITE_P(EveryDeviceLong, DeviceLoss, testing::Values("swiftshader"));
TEST_P(DeviceLoss, AtAnyCallLeavesTheNextRunRight) {
  const int calls = strike_everywhere(Fault::Kind::loss, ErrorKind::device_lost,
                                      [this](const auto& fault) { return faulty(fault); });
  EXPECT_GT(calls, 30);  // or the graph is not as mixed as it was
}

TEST_P(Trouble, NoMemoryAtAnyBufferLeavesTheNextRunRight) {
  const int buffers = strike_everywhere(Fault::Kind::out_of_memory, ErrorKind::out_of_memory,
                                        [this](const auto& fault) { return faulty(fault); });
  EXPECT_GT(buffers, 8);
}

TEST_P(Trouble, ARefusalOfAnyCallLeavesTheNextRunRight) {
  const int calls = strike_everywhere(Fault::Kind::refusal, ErrorKind::device,
                                      [this](const auto& fault) { return faulty(fault); });
  EXPECT_GT(calls, 30);
}

TEST_P(Trouble, ABudgetRefusesBeforeAnythingIsAllocated) {
  Graph graph;
  const Value x = graph.input("x", f32({"n"}));
  graph.output("y", exp(x) + sin(x));
  const Program program =
      compile(graph, {.device = device(), .disabled_passes = {"fuse"}, .memory_budget = 1000});
  const auto run = [&](int64_t n) { program.run({{"x", Tensor(DType::f32, {n})}}); };
  run(50);
  EXPECT_EQ(error_of([&] { run(5000); }),
            "run: needs 80000 bytes (0 of weights, 0 of state, 20000 of inputs, 60000 of other "
            "values); the budget is 1000");
  run(50);
}

// A long row without memory: one element seen again and again.
Graph repeated_sum(int64_t count) {
  Graph graph;
  graph.output("y", sum(expand(graph.input("x", f32({1})), {count})));
  return graph;
}

// Seconds of adding.
class LargeExtents : public Trouble {};
TEST_P(LargeExtents, ElementsBeyond31BitsAreCounted) {
  const Program program = compile(repeated_sum(int64_t{1} << 31), {.device = device()});
  EXPECT_EQ(program.run({{"x", Tensor::of(DType::f32, {1}, {1})}}).at("y").at(0), 0x1p31);
}
INSTANTIATE_TEST_SUITE_P(EveryDeviceLong, LargeExtents, testing::Values("lavapipe", "swiftshader"));

TEST_P(Trouble, ElementsBeyond32BitsAreRefused) {
  const Program program = compile(repeated_sum(int64_t{1} << 33), {.device = device()});
  const std::string message = error_of([&] {
    program.run({{"x", Tensor::of(DType::f32, {1}, {1})}});
  });
  EXPECT_NE(message.find("8589934592, a kernel counts in 32 bits"), std::string::npos) << message;
}

TEST_P(Trouble, AResultBeyondABufferIsRefused) {
  Graph graph;
  const Value x = graph.input("x", f32({1}));
  graph.output("y", exp(expand(x, {int64_t{1} << 33})));
  const std::string message = error_of([&] {
    compile(graph, {.device = device()}).run({{"x", Tensor(DType::f32, {1})}});
  });
  EXPECT_NE(message.find("f32[8589934592] of 34359738368 bytes"), std::string::npos) << message;
}

TEST_P(Trouble, MoreWorkgroupsThanOneDimensionTakesAreFolded) {
  constexpr int64_t kCount = int64_t{65535} * 64 + 1000;
  Graph graph;
  const Value x = graph.input("x", f32({kCount}));
  graph.output("y", x + scalar(x, 1));
  Tensor x_tensor(DType::f32, {kCount});
  x_tensor.set(kCount - 1, 41);
  const Tensor y = compile(graph, {.device = device()}).run({{"x", x_tensor}}).at("y");
  EXPECT_EQ(y.at(0), 1);
  EXPECT_EQ(y.at(kCount - 2), 1);
  EXPECT_EQ(y.at(kCount - 1), 42);
}

}  // namespace
}  // namespace rlx
