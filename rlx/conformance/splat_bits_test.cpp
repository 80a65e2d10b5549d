// Gradients of pictures have the same bits in every run where that was asked for.
#include <gtest/gtest.h>

#include "rlx/autodiff/gradient.h"
#include "rlx/conformance/device_test.h"
#include "rlx/conformance/random.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_splat.h"
#include "rlx/runtime/program.h"

namespace rlx {
namespace {

class SplatBits : public DeviceTest {};

// Each Gaussian is seen by many tiles, so the order in which these add to it counts.
TEST_P(SplatBits, OfGradientsAreTheSameInEveryRun) {
  constexpr int64_t kCount = 60;
  Random random("splats");
  const auto spread = [&](const Shape& shape, double low, double high) {
    Tensor x(DType::f32, shape);
    for (int64_t i = 0; i < x.count(); ++i) x.set(i, low + (high - low) * random.uniform());
    return x;
  };
  const std::vector<Tensor> operands = {spread({kCount, 3}, -1, 1), spread({kCount, 3}, -1.2, -0.3),
                                        spread({kCount, 4}, -1, 1), spread({kCount}, -2, 1),
                                        spread({kCount, 4, 3}, -0.2, 0.5)};
  Graph graph;
  Values in;
  TensorMap inputs;
  for (const Tensor& x : operands) {
    const std::string name = text("x", in.size());
    in.push_back(graph.input(name, x.type()));
    inputs[name] = x;
  }
  const Value camera =
      graph.constant(Tensor::of(DType::f32, {12}, {0.3, 0.4, -4, 0, 0, 0, 0, 1, 0, 0.8, 0.1, 100}));
  const Value background = graph.constant(Tensor::of(DType::f32, {3}, {0.2, 0.1, 0.4}));
  const Value picture = gaussian_splat({in[0], in[1], in[2], in[3], in[4]}, camera, background,
                                       {.width = 48, .height = 40, .deterministic = true});
  const Values gradients = gradient(sum(picture * picture), in);
  for (size_t i = 0; i < gradients.size(); ++i) graph.output(text("d", i), gradients[i]);
  const Program program = compile(graph, {.device = device(), .strict = true});
  const TensorMap first = program.run(inputs);
  for (int run = 0; run < 3; ++run)
    for (const auto& [name, tensor] : program.run(inputs)) {
      const Tensor& other = first.at(name);
      EXPECT_TRUE(std::equal(tensor.bytes().begin(), tensor.bytes().end(), other.bytes().begin()))
          << name;
    }
}
INSTANTIATE_TEST_SUITE_P(Devices, SplatBits, every_device(), device_name);

}  // namespace
}  // namespace rlx
