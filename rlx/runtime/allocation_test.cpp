// What a program allocates in its runs, and what it survives where there is no memory.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "rlx/backend/backend.h"
#include "rlx/conformance/device_test.h"
#include "rlx/ops/ops_attention.h"
#include "rlx/ops/ops_channel_norm.h"
#include "rlx/ops/ops_convolution.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_integer.h"
#include "rlx/ops/ops_norm.h"
#include "rlx/ops/ops_pool.h"
#include "rlx/ops/ops_quantise.h"
#include "rlx/ops/ops_recurrent.h"
#include "rlx/ops/ops_resize.h"
#include "rlx/ops/ops_sort.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

// Counts what our code allocates while it is switched on. The WebGPU library allocates through the
// same operator; a return address inside this program tells the two apart.
namespace {

std::atomic<int64_t> allocations{0};
std::atomic<bool> is_counting = false;  // on all threads
thread_local int64_t held = 0;          // what this thread has allocated and not freed
thread_local int64_t left = -1;         // allocations before one fails; below 0: none does

bool is_ours(const void* address) {
  Dl_info caller, self;
  return dladdr(address, &caller) && dladdr(reinterpret_cast<const void*>(&is_ours), &self) &&
         caller.dli_fbase == self.dli_fbase;
}

}  // namespace

// All forms but the aligned ones: what one of these gives, another may be asked to take back.
static void* counted(size_t bytes, const void* caller) {
  if (is_counting && is_ours(caller)) ++allocations;
  if (left >= 0 && left-- == 0) return nullptr;
  ++held;
  return std::malloc(bytes ? bytes : 1);
}
static void* counted_or_throw(size_t bytes, const void* caller) {
  if (void* memory = counted(bytes, caller)) return memory;
  throw std::bad_alloc();
}
static void freed(void* memory) {
  if (memory) --held;
  std::free(memory);
}
void* operator new(size_t bytes) { return counted_or_throw(bytes, __builtin_return_address(0)); }
void* operator new[](size_t bytes) { return counted_or_throw(bytes, __builtin_return_address(0)); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes, __builtin_return_address(0));
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes, __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { freed(memory); }
void operator delete(void* memory, size_t) noexcept { freed(memory); }
void operator delete[](void* memory) noexcept { freed(memory); }
void operator delete[](void* memory, size_t) noexcept { freed(memory); }

namespace rlx {
namespace {

class Allocations : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Allocations, every_device(), device_name);

Tensor filled(const Shape& shape, double value) {
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, value);
  return tensor;
}

TEST_P(Allocations, ABoundRunMakesNone) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 4}));
  const Value y = matmul(x, graph.weight("w", filled({4, 4}, 0.5)));
  graph.output("y", y);
  graph.output("z", relu(y - scalar(y, 1)));
  const Program program = compile(graph, {.device = device()});
  BoundRun run = program.bind({{"x", filled({8, 4}, 1)}});
  for (int i = 0; i < 3; ++i) run.run();
  const Counters before = program.counters();
  run.input("x").set(0, 5);
  allocations = 0;
  is_counting = true;
  run.run();
  is_counting = false;
  EXPECT_EQ(run.output("y").at(0), 4);
  EXPECT_EQ(program.counters().buffers, before.buffers);
  EXPECT_EQ(program.counters().bind_groups, before.bind_groups);
  EXPECT_EQ(allocations, 0);
}

// Kernels keep their scratch and what they learnt of their extents.
TEST(CpuAllocations, ABoundRunOfItsKernelsMakesNone) {
  struct Kernel {
    const char* name;
    Value (*make)(Graph& graph, Value x);
  };
  constexpr Kernel kernels[] = {
      {"attention", [](Graph&, Value x) { return attention(x, x, x, {}, {.heads = 2}); }},
      {"concat",
       [](Graph&, Value x) {
         return concat({x, exp(x)}, 1);
       }},
      {"conv",
       [](Graph& graph, Value x) {
         const Value w = graph.weight("w", filled({8, 16, 3}, 0.1));
         return relu(conv(x, w, {}, {.pads = {1, 1}}));
       }},
      {"conv, depthwise",
       [](Graph& graph, Value x) {
         return conv(reshape(x, Dims{1, 16, 4, 8}), graph.weight("w", filled({16, 1, 3, 3}, 0.1)),
                     {}, {.groups = 16});
       }},
      {"conv_integer",
       [](Graph& graph, Value x) {
         const DynamicallyQuantised bytes = dynamic_quantise(reshape(x, Dims{1, 16, 4, 8}));
         return conv_integer(bytes.y, graph.weight("w", Tensor(DType::i8, {8, 16, 3, 3})),
                             bytes.zero_point);
       }},
      // Kernels that leave what follows to another, and the order of the result to a copy.
      {"conv_transpose",
       [](Graph& graph, Value x) {
         return conv_transpose(reshape(x, Dims{1, 16, 4, 8}),
                               graph.weight("w", filled({16, 8, 3, 3}, 0.1)), {},
                               {.strides = {2, 2}});
       }},
      {"conv_transpose + mul + add",
       [](Graph& graph, Value x) {
         const Value y =
             conv_transpose(reshape(x, Dims{1, 16, 4, 8}),
                            graph.weight("w", filled({16, 8, 3, 3}, 0.1)), {}, {.strides = {2, 2}});
         return y * sigmoid(y) + y;
       }},
      {"gather", [](Graph& graph, Value x) { return gather(x, graph.input("rows", i64({3})), 1); }},
      {"group_norm", [](Graph&, Value x) { return group_norm(x, {}, {}, 4); }},
      {"layer_norm", [](Graph&, Value x) { return layer_norm(x, {}, {}); }},
      {"lstm",
       [](Graph& graph, Value x) {
         return lstm(x, graph.weight("w", filled({1, 64, 32}, 0.1)),
                     graph.weight("r", filled({1, 64, 16}, 0.1)))[0];
       }},
      {"matmul_integer",
       [](Graph& graph, Value x) {
         const DynamicallyQuantised bytes = dynamic_quantise(x);
         return matmul_integer(bytes.y, graph.weight("b", Tensor(DType::i8, {32, 24})),
                               bytes.zero_point);
       }},
      {"resize",
       [](Graph&, Value x) {
         return resize(x, Dims{1, 16, 64}, {.mode = "linear"});
       }},
      {"softmax", [](Graph&, Value x) { return softmax(x); }},
      {"top_k", [](Graph&, Value x) { return top_k(x, 3).values; }},
  };
  for (const Kernel& kernel : kernels) {
    Graph graph;
    graph.output("y", kernel.make(graph, graph.input("x", f32({1, 16, 32}))));
    const Program program = compile(graph);
    TensorMap inputs{{"x", filled({1, 16, 32}, 1)}};
    for (const auto& input : program.inputs())
      if (input.name == "rows") inputs["rows"] = Tensor(DType::i64, {3});
    BoundRun run = program.bind(inputs);
    for (int i = 0; i < 3; ++i) run.run();
    allocations = 0;
    is_counting = true;
    run.run();
    is_counting = false;
    EXPECT_EQ(allocations, 0) << kernel.name;
  }
}

// Nets whose floats are narrower run the kernels that those of f32 run.
TEST(CpuAllocations, ABoundRunOfHalvesMakesNoneAndRunsNoReference) {
  const auto layer = [](Graph& graph, Value x, DType dtype) {
    const auto weight = [&](const char* name, const Shape& shape) {
      Tensor tensor(dtype, shape);
      for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, 0.01 * static_cast<double>(i % 7));
      return graph.weight(name, tensor);
    };
    const Value picture = reshape(x, Dims{1, 8, 8, 8});
    const Value y =
        relu(conv(picture, weight("w0", {8, 8, 3, 3}), weight("b0", {8}), {.pads = {1, 1, 1, 1}}));
    const Value z = relu(conv(y, weight("w1", {8, 8, 3, 3}), {}, {.pads = {1, 1, 1, 1}}) + picture);
    const Value pooled = max_pool(z, {2, 2}, {.strides = {2, 2}}).values;
    const Value rows = reshape(concat({pooled, pooled * sigmoid(pooled)}, 1), Dims{1, 16, 16});
    const Value heads = matmul(rows, weight("qkv", {16, 48})) + weight("bqkv", {48});
    const Value a = attention(slice(heads, {0}, {16}, {2}), slice(heads, {16}, {32}, {2}),
                              slice(heads, {32}, {48}, {2}), {}, {.heads = 2});
    const Value n = layer_norm(a + rows, weight("scale", {16}), weight("shift", {16}));
    const Value f = matmul(gelu(matmul(n, weight("up", {16, 64}))), weight("down", {64, 16}));
    const Value ids = graph.input("ids", i64({4}));
    return softmax(gather(f + n, ids, 1)) + mean(f, {1}, true);
  };
  for (const DType dtype : {DType::f16, DType::bf16}) {
    Graph graph;
    graph.output("y", layer(graph, graph.input("x", {dtype, {Dim(512)}}), dtype));
    const Program program = compile(graph);
    Tensor x(dtype, {512});
    for (int64_t i = 0; i < x.count(); ++i) x.set(i, 0.1 * static_cast<double>(i % 11));
    BoundRun run = program.bind({{"x", x}, {"ids", Tensor(DType::i64, {4})}});
    run.run();
    allocations = 0;
    is_counting = true;
    run.run();
    is_counting = false;
    EXPECT_EQ(allocations, 0) << text(dtype);
    RunReport report;
    program.run({{"x", x}, {"ids", Tensor(DType::i64, {4})}}, {.report = &report});
    EXPECT_GT(report.host_steps.size(), 8u);
    for (const auto& step : report.host_steps)
      EXPECT_EQ(step.implementation.find("reference"), std::string::npos) << step.op;
  }
}

// A run fails at one allocation after another: the state is as it was, or said to be half written.
TEST(CpuAllocations, OnesThatFailLeaveNoStateHalfWrittenUnsaid) {
  Graph graph;
  const Value x = graph.input("x", f32({2})), total = graph.state("total", f32({2}));
  graph.update(total, total + x);
  graph.output("y", exp(x));
  Program program = compile(graph);
  const TensorMap inputs{{"x", filled({2}, 1)}};
  program.run(inputs);
  int failures = 0;
  for (bool done = false; !done; ++failures) {
    ASSERT_LT(failures, 1000);
    program.write_state("total", filled({2}, 7));
    BoundRun run = program.bind(inputs);
    done = true;
    left = failures;
    try {
      run.run();
    } catch (...) {
      done = false;
    }
    left = -1;
    if (done) break;
    double after = 7;
    const std::string said = error_of([&] { after = program.read_state("total").at(0); });
    EXPECT_EQ(after, 7) << "allocation " << failures;
    if (!said.empty()) EXPECT_NE(said.find("total"), std::string::npos) << said;
  }
  EXPECT_GT(failures, 5);
  EXPECT_EQ(program.read_state("total").at(0), 8);
}

// Memory of a device that nobody knows: its tensors come through the host.
struct Elsewhere : DeviceMemory {
  Tensor read(DType, const Shape&) override { return filled({2}, 3); }
  void read_async(DType dtype, const Shape& shape, Receive<Tensor> done) override {
    done(read(dtype, shape));
  }
  void wait_for_reads() override {}
};

TEST(CpuAllocations, RunsThatBringInputsFromElsewhereLeaveNoneBehind) {
  Graph graph;
  graph.output("y", exp(graph.input("x", f32({2}))));
  const Program program = compile(graph);
  RunOptions options;
  options.device_inputs = {{"x", DeviceTensor(DType::f32, {2}, std::make_shared<Elsewhere>())}};
  const auto run = [&](int times) {
    for (int i = 0; i < times; ++i)
      program.run_async({}, options, [](Result<RunResult> result) { result.take(); });
  };
  run(10);
  const int64_t before = held;
  run(100);
  EXPECT_LT(held - before, 50);
}

}  // namespace
}  // namespace rlx
