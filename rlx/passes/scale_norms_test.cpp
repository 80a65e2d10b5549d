#include "rlx/ops/ops_core.h"
#include "rlx/passes/testing.h"

namespace rlx {

const OpDef& batch_norm_op();

namespace {

Value batch_norm(Value x, Value gamma, Value beta, Value mean, Value variance) {
  return x.apply(batch_norm_op(), {x, gamma, beta, mean, variance});
}

TEST(ScaleNorms, OfKnownStatisticsIsAScaleAndAShift) {
  for (const bool affine : {true, false})
    for (const Dims& shape : {Dims{2, 3}, Dims{"b", 3, 5}, Dims{2, 3, 1, "w"}}) {
      Graph graph;
      const Value x = graph.input("x", f32(shape));
      const auto weight = [&](const char* name, double least) {
        Tensor tensor = some_tensor({3}, std::string(name).size());
        for (int64_t i = 0; i < 3; ++i) tensor.set(i, least + std::fabs(tensor.at(i)));
        return graph.weight(name, tensor);
      };
      const Value gamma = affine ? weight("gamma", -1) : Value{},
                  beta = affine ? weight("beta", -1) : Value{};
      graph.output("y", batch_norm(x, gamma, beta, weight("mean", 0), weight("variance", 0.1)));
      EXPECT_EQ(ops_after(scale_norms, graph), OpNames("mul add"));
    }
}

// Rounded to f16 between the two, it would be another number; data are not known.
TEST(ScaleNorms, WhatIsNarrowOrToldByARunStays) {
  Graph narrow, told;
  const auto norm = [](Value x, Value mean, Value variance) {
    return batch_norm(x, {}, {}, mean, variance);
  };
  const Tensor one = Tensor::of(DType::f16, {3}, {1, 2, 0.5});
  narrow.output(
      "y", norm(narrow.input("x", f16({2, 3})), narrow.weight("m", one), narrow.weight("v", one)));
  EXPECT_EQ(ops_after(scale_norms, narrow), OpNames("batch_norm"));
  const Value mean = told.input("m", f32({3}));
  told.output("y", norm(told.input("x", f32({2, 3})), mean, mean * mean));
  EXPECT_EQ(ops_after(scale_norms, told), OpNames("batch_norm mul"));
}

}  // namespace
}  // namespace rlx
