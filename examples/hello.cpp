// The smallest whole program: build a graph, compile it for the best device, run it.

#include <iostream>

#include "rlx/rlx.h"

using namespace rlx;

int main() {
  Tensor weights(DType::f32, {128, 10});
  for (int64_t i = 0; i < weights.count(); ++i)
    weights.set(i, static_cast<double>(i % 17) / 100 - 0.08);

  Graph graph;
  const Value x = graph.input("x", f32({"batch", 128}));
  const Value w = graph.weight("w", weights);
  graph.output("probabilities", softmax(matmul(x, w)));

  Tensor batch(DType::f32, {2, 128});  // "batch" is 2 in this run, and may be 3 in the next
  for (int64_t i = 0; i < batch.count(); ++i) batch.set(i, static_cast<double>(i % 5) / 5);

  try {
    const Program program = compile(graph, {.device = find_devices()[0]});
    const Tensor probabilities = program.run({{"x", batch}})["probabilities"];
    std::cout << probabilities.type() << " on " << program.device().name() << ':';
    for (const float p : probabilities.data<float>().first(10)) std::cout << ' ' << p;
    std::cout << '\n';
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
