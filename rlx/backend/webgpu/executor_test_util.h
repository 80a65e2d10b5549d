// What the tests of the engine share: images made by hand from a few kernels, and a device to run
// them on.
#pragma once

#include <map>

#include "rlx/backend/webgpu/faulty_gpu.h"
#include "rlx/backend/webgpu/native_test_util.h"
#include "rlx/backend/webgpu/webgpu_device.h"

namespace rlx::detail::webgpu {

using image::Access;
using image::Kind;
using image::kNone;
using image::Number;
using image::ValueId;

// An image in the making.
struct ImageBuilder {
  std::shared_ptr<image::Image> image = std::make_shared<image::Image>();
  std::map<int64_t, Number> constants;

  Number cell() { return image->numbers.count++; }
  Number constant(int64_t value) {
    const auto [at, added] = constants.emplace(value, kNone);
    if (!added) return at->second;
    at->second = cell();
    image->numbers.known.push_back({at->second, value});
    return at->second;
  }
  Number symbol(const std::string& name, int64_t most = 0) {
    const Number made = cell();
    const Interval range = most > 0 ? Interval{0, most} : Interval{0, kUnbounded};
    image->numbers.symbols.push_back({name, made, most > 0, range});
    if (most == 0) image->planned_by.push_back(made);
    return made;
  }
  Number compute(image::Instruction::Op op, Number a, Number b) {
    const Number result = cell();
    image->numbers.code.push_back({op, result, a, b});
    return result;
  }
  Number add(Number a, Number b) { return compute(image::Instruction::Op::add, a, b); }
  Number times(Number a, Number b) { return compute(image::Instruction::Op::multiply, a, b); }
  // Rounded up.
  Number divide(Number a, int64_t by) {
    return compute(image::Instruction::Op::floor_divide, add(a, constant(by - 1)), constant(by));
  }
  // All of the code again: short programs only.
  int32_t segment() {
    image::Segment made;
    for (size_t i = 0; i < image->numbers.code.size(); ++i)
      made.code.push_back(static_cast<int32_t>(i));
    image->numbers.segments.push_back(made);
    return static_cast<int32_t>(image->numbers.segments.size()) - 1;
  }

  ValueId value(Kind kind, const std::string& name, Number count, DType dtype = DType::f32) {
    image::Value made;
    made.kind = kind;
    made.name = name;
    made.dtype = dtype;
    made.shape = {count};
    made.bytes = times(count, constant(4));
    made.place = static_cast<ValueId>(image->values.size());
    image->values.push_back(made);
    return made.place;
  }
  ValueId input(const std::string& name, Number count, const Dim& dim, DType dtype = DType::f32) {
    const ValueId made = value(Kind::input, name, count, dtype);
    image->inputs.push_back({name, {dtype, {dim}}, made, {count}, {}});
    return made;
  }
  ValueId weight(const std::string& name, const Tensor& tensor) {
    const ValueId made = value(Kind::weight, name, constant(tensor.count()), tensor.dtype());
    image->values.back().source = static_cast<int32_t>(image->sources.size());
    image->sources.push_back(tensor);
    image->weights.push_back({name, tensor.type(), made});
    return made;
  }
  ValueId state(const std::string& name, int64_t count, ValueId next = -1) {
    const ValueId made = value(Kind::state, name, constant(count));
    image->states.push_back({name, {DType::f32, {Dim(count)}}, made, next < 0 ? made : next});
    return made;
  }
  ValueId flag() {
    if (image->flag < 0) image->flag = value(Kind::flag, "flag", constant(4), DType::u32);
    return image->flag;
  }
  void output(const std::string& name, ValueId made, const Dim& dim) {
    const image::Value& from = image->values[size_t(made)];
    image->outputs.push_back({name, {from.dtype, {dim}}, made, from.shape});
  }
  int32_t node(const std::string& op, const std::string& name) {
    image->nodes.push_back({op, name});
    return static_cast<int32_t>(image->nodes.size()) - 1;
  }
  int32_t kernel(const std::string& name, const std::string& wgsl, std::vector<Access> bindings,
                 int64_t params_bytes) {
    for (size_t i = 0; i < image->kernels.size(); ++i)
      if (image->kernels[i].wgsl == wgsl) return static_cast<int32_t>(i);
    image->kernels.push_back({name, wgsl, std::move(bindings), params_bytes, {}});
    return static_cast<int32_t>(image->kernels.size()) - 1;
  }
  template <class What>
  void step(image::Steps& steps, What what, int32_t node = -1) {
    steps.push_back({std::move(what), node});
  }

  // y = x * factor + offset, both constants; `count` elements. An x below 0: y in place.
  image::Dispatch scale(ValueId x, ValueId y, Number count, float factor, float offset);
  // y = a + b.
  image::Dispatch sum(ValueId a, ValueId b, ValueId y, Number count);
  // y[i] = x[at[i]], or an error.
  image::Dispatch pick(ValueId x, ValueId at, ValueId y, Number count, Number of, int32_t node);
};

inline const char* const kScaleWgsl = R"(
struct Params { count: u32, factor: f32, offset: f32, spare: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < params.count) { y[id.x] = x[id.x] * params.factor + params.offset; }
})";
inline const char* const kScaleInPlaceWgsl = R"(
struct Params { count: u32, factor: f32, offset: f32, spare: u32 }
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@group(0) @binding(1) var<uniform> params: Params;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < params.count) { y[id.x] = y[id.x] * params.factor + params.offset; }
})";
inline const char* const kSumWgsl = R"(
struct Params { count: u32, a: u32, b: u32, c: u32 }
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < params.count) { y[id.x] = a[id.x] + b[id.x]; }
})";
inline const char* const kPickWgsl = R"(
struct Params { count: u32, limit: i32, node: u32, spare: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> at: array<i32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<storage, read_write> error_flag: array<atomic<u32>>;
@group(0) @binding(4) var<uniform> params: Params;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= params.count) { return; }
  let i = at[id.x];
  if (i < 0 || i >= params.limit) {
    if (atomicOr(&error_flag[3], 1u) == 0u) {
      atomicStore(&error_flag[0], 1u);
      atomicStore(&error_flag[1], params.node);
      atomicStore(&error_flag[2], bitcast<u32>(i));
    }
  }
  y[id.x] = x[clamp(i, 0, params.limit - 1)];
})";

inline image::Choice choice_of(ImageBuilder& builder, int32_t kernel, Number count,
                               std::vector<uint32_t> words) {
  image::Choice choice;
  choice.kernel = kernel;
  choice.workgroups = builder.divide(count, 64);
  choice.params.resize(words.size() * 4);
  std::memcpy(choice.params.data(), words.data(), words.size() * 4);
  choice.words = {{0, count}};
  return choice;
}

inline uint32_t bits_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  return bits;
}

inline image::Dispatch ImageBuilder::scale(ValueId x, ValueId y, Number count, float factor,
                                           float offset) {
  image::Dispatch dispatch;
  const std::vector<uint32_t> words = {0, bits_of(factor), bits_of(offset), 0};
  if (x < 0) {
    dispatch.operands = {{y, Access::read_write}};
    const int32_t made = kernel("scale_in_place", kScaleInPlaceWgsl, {Access::read_write}, 16);
    dispatch.choices = {choice_of(*this, made, count, words)};
    return dispatch;
  }
  dispatch.operands = {{x, Access::read}, {y, Access::write}};
  const int32_t made = kernel("scale", kScaleWgsl, {Access::read, Access::write}, 16);
  dispatch.choices = {choice_of(*this, made, count, words)};
  return dispatch;
}

inline image::Dispatch ImageBuilder::sum(ValueId a, ValueId b, ValueId y, Number count) {
  image::Dispatch dispatch;
  dispatch.operands = {{a, Access::read}, {b, Access::read}, {y, Access::write}};
  const int32_t made = kernel("sum", kSumWgsl, {Access::read, Access::read, Access::write}, 16);
  dispatch.choices = {choice_of(*this, made, count, {0, 0, 0, 0})};
  return dispatch;
}

inline image::Dispatch ImageBuilder::pick(ValueId x, ValueId at, ValueId y, Number count, Number of,
                                          int32_t node) {
  image::Dispatch dispatch;
  flag();
  dispatch.operands = {{x, Access::read}, {at, Access::read}, {y, Access::write}};
  dispatch.flags_errors = true;
  const int32_t made = kernel("pick", kPickWgsl,
                              {Access::read, Access::read, Access::write, Access::read_write}, 16);
  dispatch.choices = {choice_of(*this, made, count, {0, 0, static_cast<uint32_t>(node) + 1, 0})};
  dispatch.choices[0].words.push_back({4, of});
  return dispatch;
}

inline Tensor floats(const std::vector<double>& values) {
  return Tensor::of(DType::f32, {static_cast<int64_t>(values.size())}, values);
}
inline Tensor integers(const std::vector<double>& values) {
  return Tensor::of(DType::i32, {static_cast<int64_t>(values.size())}, values);
}
inline std::vector<double> elements(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.count(); ++i) values.push_back(tensor.at(i));
  return values;
}
using List = std::vector<double>;

inline RunRequest request_of(std::vector<Tensor> inputs,
                             std::vector<RunRequest::Want> wanted = {}) {
  RunRequest request;
  request.inputs = std::move(inputs);
  request.wanted = std::move(wanted);
  return request;
}

class ExecutorTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (from_environment("RLX_WEBGPU_LIBRARY").empty()) GTEST_SKIP() << "no RLX_WEBGPU_LIBRARY";
    adapter = find_adapter(options_for(GetParam()));
    device = std::make_shared<WebGpuDevice>(adapter->info(), with_fault(opener_of(adapter), fault));
  }
  ExecutablePtr prepared(const ImageBuilder& builder, int64_t budget = 0) {
    return prepare(*device, {builder.image, implementations, budget});
  }
  static List run(const ExecutablePtr& program, std::vector<Tensor> inputs) {
    RunRequest request = request_of(std::move(inputs));
    program->run(request);
    return request.outputs.empty() ? List{} : elements(request.outputs[0]);
  }

  std::shared_ptr<Adapter> adapter;
  std::shared_ptr<Fault> fault = std::make_shared<Fault>();
  std::shared_ptr<WebGpuDevice> device;
  std::shared_ptr<image::Implementations> implementations =
      std::make_shared<image::Implementations>();
};

// An implementation of a call from a function.
inline image::Implementation implementation_of(std::function<void(image::CallSite&)> function) {
  struct Kernel : image::CallKernel {
    explicit Kernel(std::function<void(image::CallSite&)> f) : function(std::move(f)) {}
    bool run(image::CallSite& site) override { return function(site), true; }
    std::function<void(image::CallSite&)> function;
  };
  image::Implementation made;
  made.name = "test";
  made.prepare = [function = std::move(function)](const image::Call&, const image::Image&) {
    return std::make_unique<Kernel>(function);
  };
  return made;
}

}  // namespace rlx::detail::webgpu
