// Builds a small transformer encoder and saves it: make_encoder encoder.rlx writes the graph there
// and its weights beside it. `rlx demo` runs the result.

#include <cmath>
#include <iostream>
#include <random>

#include "rlx/rlx.h"

using namespace rlx;

namespace {

constexpr int64_t kWidth = 32, kHeads = 4, kHidden = 64, kVocabulary = 100, kClasses = 4;
constexpr int kLayers = 2;

// Weights by name, drawn from one generator so that the file is the same every time.
class Weights {
 public:
  explicit Weights(Graph& graph) : graph_(graph) {}

  // Uniform, with the variance that keeps activations about as large as they come in.
  Value matrix(const std::string& name, int64_t rows, int64_t columns) {
    return filled(name, {rows, columns}, 0, std::sqrt(3.0 / static_cast<double>(rows)));
  }
  Value vector(const std::string& name, int64_t length, double about) {
    return filled(name, {length}, about, 0.1);
  }

 private:
  Value filled(const std::string& name, Shape shape, double about, double spread) {
    Tensor tensor(DType::f32, std::move(shape));
    for (float& element : tensor.mutable_data<float>()) {
      const double unit = std::ldexp(static_cast<double>(random_()), -31) - 1;  // in [-1, 1)
      element = static_cast<float>(about + spread * unit);
    }
    return graph_.weight(name, tensor);
  }

  Graph& graph_;
  std::mt19937 random_{2024};
};

Value norm(Weights& weights, const std::string& name, Value x) {
  const Value gamma = weights.vector(name + ".gamma", kWidth, 1);
  return layer_norm(x, gamma, weights.vector(name + ".beta", kWidth, 0));
}

Value dense(Weights& weights, const std::string& name, Value x, int64_t to,
            const std::string& activation = "") {
  const Value w = weights.matrix(name + ".weight", x.shape().back().number(), to);
  return linear(x, w, weights.vector(name + ".bias", to, 0), activation);
}

// [batch, seq, width] to [batch, heads, seq, width / heads], a view.
Value split_heads(Value x) {
  return transpose(reshape(x, {x.shape()[0], x.shape()[1], kHeads, kWidth / kHeads}), {0, 2, 1, 3});
}

Value attend(Weights& weights, const std::string& name, Value x) {
  const Value q = split_heads(dense(weights, name + ".query", x, kWidth));
  const Value k = split_heads(dense(weights, name + ".key", x, kWidth));
  const Value v = split_heads(dense(weights, name + ".value", x, kWidth));
  const Value mixed = transpose(attention(q, k, v, {}, {.heads = kHeads}), {0, 2, 1, 3});
  return dense(weights, name + ".out", reshape(mixed, x.shape()), kWidth);
}

Graph make_encoder() {
  Graph graph;
  Weights weights(graph);
  const Dim batch = graph.symbol("batch", 8, 1), seq = graph.symbol("seq", 64, 1);
  const Value ids = graph.input("ids", i64({batch, seq}));
  Value x = gather(weights.matrix("embedding", kVocabulary, kWidth), ids);
  for (int i = 0; i < kLayers; ++i) {
    const std::string layer = "layer" + std::to_string(i);
    x = x + attend(weights, layer + ".attention", norm(weights, layer + ".norm1", x));
    const Value hidden =
        dense(weights, layer + ".up", norm(weights, layer + ".norm2", x), kHidden, "gelu");
    x = x + dense(weights, layer + ".down", hidden, kWidth);
  }
  const Value pooled = mean(norm(weights, "final", x), {1});
  graph.output("probabilities", softmax(dense(weights, "classifier", pooled, kClasses)));
  return graph;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_encoder FILE.rlx\n";
    return 2;
  }
  try {
    save_rlx(make_encoder(), argv[1]);
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
