// The CPU gives the same bits whatever the number of its threads: work is cut where the result does
// not depend on it.
#include <gtest/gtest.h>

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/family_test.h"
#include "rlx/conformance/runner.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_core.h"

namespace rlx {
namespace {

const Device& cpu_with(int threads) {
  static const Device devices[] = {Device({.threads = 1}), Device({.threads = 2}),
                                   Device({.threads = 3})};
  return devices[threads - 1];
}

// What each number of threads gives, compared with what one does.
void expect_same(const Graph& graph, const TensorMap& inputs) {
  const auto results = [&](int threads) {
    return compile(graph, {.device = cpu_with(threads)}).run(inputs);
  };
  const TensorMap one = results(1);
  for (const int threads : {2, 3})
    for (const auto& [name, tensor] : results(threads))
      EXPECT_TRUE(same_bytes(tensor, one.at(name)))
          << name << " differs with " << threads << " threads";
}

class Threads : public FamilyTest {};
TEST_P(Threads, GiveTheSameBits) {
  const OpSet ops = catalog();
  for (const OpCase& row : rows()) {
    SCOPED_TRACE(describe(row));
    const CaseGraph made = case_graph(row, ops);
    try {
      expect_same(made.graph, made.inputs);
    } catch (const Error&) {  // a row that is to fail
    }
  }
}
INSTANTIATE_TEST_SUITE_P(EveryFamily, Threads, testing::ValuesIn(families_on({"cpu"})),
                         family_name);

// Rows are small; these are worth all threads.
Tensor some(const Shape& shape, uint64_t seed) {
  Tensor tensor(DType::f32, shape);
  uint64_t state = seed;
  for (float& x : tensor.mutable_data<float>()) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<float>(static_cast<int64_t>(state >> 40)) / float{1 << 23} - 1;
  }
  return tensor;
}

TEST(ThreadsOfLargeOps, GiveTheSameBits) {
  Graph graph;
  const Value x = graph.input("x", {DType::f32, {257, 640}});
  const Value y = matmul(x, graph.weight("w", some({640, 331}, 2)));
  graph.output("product", y);
  graph.output("softmax", softmax(y, 0));
  graph.output("sum", sum(y, {0, 1}));
  graph.output("column", mean(y, {0}));
  expect_same(graph, {{"x", some({257, 640}, 1)}});
}

}  // namespace
}  // namespace rlx
