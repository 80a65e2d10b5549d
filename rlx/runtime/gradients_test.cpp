// Gradients of several outputs, on every device.

#include <gtest/gtest.h>

#include "rlx/autodiff/gradient.h"
#include "rlx/conformance/device_test.h"
#include "rlx/ops/ops_core.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

class Gradients : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Gradients, every_device(), device_name);

// Seeds are values of the graph: here inputs of the run, one for each output.
TEST_P(Gradients, OfSeveralOutputsAddUpByTheirSeeds) {
  Graph graph;
  const Value x = graph.input("x", f32({3})), w = graph.input("w", f32({3}));
  const Value unused = graph.input("unused", f32({2}));
  const Value y = x * x * w, z = sum(y) + sum(w);  // the one reads the other
  const Value s = graph.input("s", f32({3})), t = graph.input("t", f32({}));
  const Values slopes = gradient({y, z, x}, {x, w, unused}, {s, t, Value{}});
  const Values ones = gradient({y, z}, {x});
  graph.output("dx", slopes[0]);
  graph.output("dw", slopes[1]);
  graph.output("none", slopes[2]);
  graph.output("ones", ones[0]);
  const auto of = [](const Shape& shape, std::initializer_list<double> numbers) {
    return Tensor::of(DType::f32, shape, numbers);
  };
  const TensorMap got = compile(graph, {.device = device(), .strict = true})
                            .run({{"x", of({3}, {1, 2, -3})},
                                  {"w", of({3}, {4, -1, 0.5})},
                                  {"s", of({3}, {1, 10, 2})},
                                  {"t", of({}, {0.5})},
                                  {"unused", of({2}, {0, 0})}});
  // (s + t) 2 x w + 1, (s + t) x^2 + t, and 2 * 2 x w.
  EXPECT_TRUE(same_bytes(got.at("dx"), of({3}, {13, -41, -6.5})));
  EXPECT_TRUE(same_bytes(got.at("dw"), of({3}, {2, 42.5, 23})));
  EXPECT_TRUE(same_bytes(got.at("none"), of({2}, {0, 0})));
  EXPECT_TRUE(same_bytes(got.at("ones"), of({3}, {16, -8, -6})));
}

}  // namespace
}  // namespace rlx
