#include "rlx/image/verify.h"

#include <gtest/gtest.h>

#include "rlx/compile/build_image.h"
#include "rlx/image/needs.h"
#include "rlx/ops/ops_core.h"
#include "rlx/testing.h"

namespace rlx::image {

using namespace detail;
namespace {

// y = relu(x . w), on a GPU: it has a weight, kernels and two dispatches.
Image product(bool on_gpu) {
  Graph graph;
  const rlx::Value x = graph.input("x", f32({graph.symbol("n", 8, 1), 4}));
  const rlx::Value w = graph.weight("w", Tensor(DType::f32, {4, 2}));
  graph.output("y", relu(matmul(x, w)));
  DeviceTraits traits;
  if (on_gpu) {
    traits.name = "paper";
    traits.device_class = DeviceClass::integrated;
  }
  return build_image(graph, traits);
}

// What verify() says after a change.
template <class Change>
std::string fault(bool on_gpu, Change change) {
  Image image = product(on_gpu);
  change(image);
  return error_of([&] { verify(image); });
}
Dispatch& dispatch(Image& image) { return std::get<Dispatch>(image.run[0].what); }
Call& call(Image& image) { return std::get<Call>(image.run[0].what); }

void expect_fault(const std::string& found, const std::string& wanted) {
  EXPECT_EQ(found.substr(0, wanted.size()), wanted);
}

TEST(ImageVerify, AcceptsWhatTheCompilerBuilds) {
  EXPECT_NO_THROW(verify(product(false)));
  EXPECT_NO_THROW(verify(product(true)));
  EXPECT_NO_THROW(verify(Image{}));
}

TEST(ImageVerify, NamesAnIndexThatPointsNowhere) {
  const auto cpu = [](auto change) { return fault(false, change); };
  const auto gpu = [](auto change) { return fault(true, change); };
  expect_fault(cpu([](Image& i) { i.values[1].shape[0] = 99; }), "image: value 1: cell 99, of ");
  expect_fault(cpu([](Image& i) { i.values[0].bytes = kNone; }), "image: value 0: cell -1, of ");
  expect_fault(cpu([](Image& i) { i.values[0].place = 7; }), "image: value 0: value 7, of ");
  expect_fault(cpu([](Image& i) { i.values[1].source = 1; }), "image: value 1: source 1, of 1");
  expect_fault(cpu([](Image& i) { i.run[0].node = 50; }), "image: run step 0: node 50, of ");
  expect_fault(cpu([](Image& i) { call(i).inputs[0].value = -2; }),
               "image: run step 0: value -2, of ");
  expect_fault(cpu([](Image& i) { call(i).results[0] = 44; }), "image: run step 0: value 44, of ");
  expect_fault(cpu([](Image& i) {
                 call(i).in_place = {{0, 1}};
               }),
               "image: run step 0: result 1, of 1");
  expect_fault(cpu([](Image& i) {
                 call(i).told = {{0, 2, 0}};
               }),
               "image: run step 0: axis 2, of 2");
  expect_fault(cpu([](Image& i) {
                 i.run.push_back({Jump{4}, -1});
               }),
               "image: run step 2: step 4, of 4");
  expect_fault(cpu([](Image& i) {
                 i.run.push_back({Fetch{0, {}, 3, ""}, -1});
               }),
               "image: run step 2: segment 3, of 0");
  expect_fault(cpu([](Image& i) { i.inputs[0].shape[1] = -1; }), "image: input 0: cell -1, of ");
  expect_fault(cpu([](Image& i) { i.outputs[0].value = -1; }), "image: output 0: value -1, of ");
  expect_fault(cpu([](Image& i) { i.planned_by = {1000}; }), "image: planned cell 0: cell 1000");
  expect_fault(gpu([](Image& i) { dispatch(i).choices[0].kernel = 9; }),
               "image: run step 0: kernel 9, of ");
  expect_fault(gpu([](Image& i) { dispatch(i).choices[0].workgroups = kNone; }),
               "image: run step 0: cell -1, of ");
  expect_fault(gpu([](Image& i) { dispatch(i).flags_errors = true; }),
               "image: run step 0: value -1, of ");
  expect_fault(gpu([](Image& i) {
                 dispatch(i).choices[0].words = {{4096, 0}};
               }),
               "image: run step 0: a word of the params is at byte 4096 of ");
}

TEST(ImageVerify, NamesWhatDoesNotFitTogether) {
  const auto cpu = [](auto change) { return fault(false, change); };
  const auto gpu = [](auto change) { return fault(true, change); };
  expect_fault(cpu([](Image& i) {
                 i.sources[0] = Tensor(DType::f32, {4, 1});
               }),
               "image: value 1: the source of 'w' is f32[4, 1], which it is not");
  expect_fault(cpu([](Image& i) { i.values[1].bytes = i.values[1].shape[0]; }),
               "image: value 1: 'w' has 4 bytes and needs 32");
  expect_fault(cpu([](Image& i) { i.numbers.code[0].a = i.numbers.code.back().result; }),
               "image: instruction 0: cell ");
  expect_fault(cpu([](Image& i) { i.numbers.known[0].number = i.numbers.symbols[0].number; }),
               "image: symbol 0: cell 0 is defined twice");
  expect_fault(cpu([](Image& i) { i.numbers.count += 1; }), "image: cell 0: ");
  expect_fault(cpu([](Image& i) { i.inputs.push_back(i.inputs[0]); }),
               "image: input 1: 'x' is there twice");
  expect_fault(cpu([](Image& i) { i.weights[0].value = 0; }),
               "image: weight 0: value 0 is of another kind than 'w'");
  expect_fault(cpu([](Image& i) {
                 i.traits.device_class = DeviceClass::discrete;
                 i.run.push_back({Dispatch{}, -1});
               }),
               "image: run step 2: a dispatch without a kernel");
  expect_fault(gpu([](Image& i) { i.traits.device_class = DeviceClass::host; }),
               "image: run step 0: it is a dispatch, and the image is for the CPU");
  expect_fault(gpu([](Image& i) { dispatch(i).operands.pop_back(); }),
               "image: run step 0: kernel 'matmul' has 3 bindings, the dispatch gives 2");
  expect_fault(gpu([](Image& i) { dispatch(i).operands[0].access = Access::write; }),
               "image: run step 0: kernel 'matmul' has another access to binding 0");
  expect_fault(gpu([](Image& i) { dispatch(i).choices[0].params.resize(4); }),
               "image: run step 0: kernel 'matmul' has ");
}

TEST(ImageVerify, AlignmentsArePowersOfTwo) {
  const auto gpu = [](auto change) { return fault(true, change); };
  for (const int64_t alignment : {int64_t{0}, int64_t{3}, int64_t{-256}, int64_t{24}, INT64_MIN}) {
    expect_fault(gpu([&](Image& i) { i.traits.storage_alignment = alignment; }),
                 text("image: device 0: its storage alignment is ", alignment, ", which is no"));
    expect_fault(gpu([&](Image& i) { i.traits.uniform_alignment = alignment; }),
                 text("image: device 0: its uniform alignment is ", alignment, ", which is no"));
  }
}

TEST(ImageVerify, AnImageForAnotherDeviceNamesBoth) {
  const auto refused = [](const Image& image, const DeviceTraits& device) {
    return error_of([&] { check_device(image, device); });
  };
  const Image gpu = product(true);
  DeviceTraits other = gpu.traits;
  other.name = "other";
  EXPECT_EQ(refused(gpu, other), "");
  EXPECT_EQ(refused(product(false), DeviceTraits{}), "");
  expect_fault(refused(product(false), other),
               "the image was built for 'cpu' and cannot run on 'other': one is the CPU");
  expect_fault(refused(gpu, DeviceTraits{}),
               "the image was built for 'paper' and cannot run on 'cpu': one is the CPU");
  other.max_storage_buffers = 2;
  expect_fault(refused(gpu, other),
               "the image was built for 'paper' and cannot run on 'other': it needs storage "
               "buffers of 3, the limit is 2");
  other = gpu.traits;
  other.max_binding_bytes = 64;
  expect_fault(refused(gpu, other),
               "the image was built for 'paper' and cannot run on 'paper': "
               "it needs bindings in bytes of 128, the limit is 64");
  Image f16 = gpu;
  f16.kernels[0].f16 = true;
  expect_fault(refused(f16, gpu.traits),
               "the image was built for 'paper' and cannot run on 'paper': it needs f16");
}

TEST(ImageVerify, AKernelNeedsNoMoreThanItsDeviceHas) {
  const auto gpu = [](auto change) { return fault(true, [&](Image& i) { change(i.kernels[0]); }); };
  expect_fault(gpu([](Kernel& k) { k.f16 = true; }),
               "image: kernel 0: 'matmul' needs f16, its device has none");
  expect_fault(gpu([](Kernel& k) { k.subgroups = true; }),
               "image: kernel 0: 'matmul' needs subgroups, its device has none");
  for (const int64_t lanes : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{257}, INT64_MAX})
    expect_fault(gpu([&](Kernel& k) { k.workgroup_invocations = lanes; }),
                 text("image: kernel 0: 'matmul' has ", lanes, " invocations, its device 256"));
  for (const int64_t bytes : {INT64_MIN, int64_t{-1}, int64_t{16385}, INT64_MAX})
    expect_fault(
        gpu([&](Kernel& k) { k.workgroup_bytes = bytes; }),
        text("image: kernel 0: 'matmul' has ", bytes, " bytes of a workgroup, its device 16384"));
}

TEST(ImageVerify, NamesALimitThatNoDeviceHas) {
  const auto gpu = [](auto change) { return fault(true, change); };
  expect_fault(gpu([](Image& i) { i.traits.storage_alignment = 0; }),
               "image: device 0: its storage alignment is 0");
  expect_fault(gpu([](Image& i) { i.traits.uniform_alignment = -256; }),
               "image: device 0: its uniform alignment is -256");
  expect_fault(gpu([](Image& i) { i.traits.max_buffer_bytes = 0; }),
               "image: device 0: its most bytes of a buffer is 0");
  expect_fault(gpu([](Image& i) { i.traits.max_workgroups = -1; }),
               "image: device 0: its most workgroups is -1");
  expect_fault(gpu([](Image& i) { i.traits.subgroup_min = -1; }),
               "image: device 0: its least subgroup is -1");
}

}  // namespace
}  // namespace rlx::image
