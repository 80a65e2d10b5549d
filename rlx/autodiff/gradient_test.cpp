#include "rlx/autodiff/gradient.h"

#include <gtest/gtest.h>

#include "rlx/ops/ops_core.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

TEST(Gradient, NeedsNoneOfWhatMadeTheValue) {
  Graph graph;
  const Value x = non_zero(graph.input("x", f32({4})));  // has none
  const Value w = cast(x, DType::f32);
  EXPECT_EQ(gradient(sum(w * w), {w})[0].type(), w.type());
}

TEST(Gradient, OfWhatIsNotOneGraphIsRefused) {
  Graph graph, other;
  const Value x = graph.input("x", f32({2})), stranger = other.input("x", f32({2}));
  const Value y = exp(exp(x));
  EXPECT_EQ(error_of([&] {
              gradient(y, {x, stranger});
            }),
            "gradient: with respect to value 1, which is of another graph");
  EXPECT_EQ(error_of([&] { gradient(y, {Value{}}); }),
            "gradient: with respect to value 0, which is absent");
  EXPECT_EQ(error_of([&] { gradient(Value{}, {x}); }), "gradient: there is no value to take it of");
  EXPECT_EQ(error_of([&] { gradient(y, {x}, stranger); }),
            "gradient: the seed is of another graph");
}

TEST(Gradient, SeedsThatAreNotThoseOfTheOutputsAreRefused) {
  Graph graph, other;
  const Value x = graph.input("x", f32({2})), y = exp(x), z = sum(x);
  EXPECT_EQ(error_of([&] {
              gradient({y, z}, {x}, {y});
            }),
            "gradient: there are 1 seeds for 2 values");
  EXPECT_EQ(error_of([&] {
              gradient({y, z}, {x}, {y, y});
            }),
            "gradient: the seed 1 is f32[2], it must be like f32[]");
  EXPECT_EQ(error_of([&] {
              gradient({y, other.input("x", f32({2}))}, {x});
            }),
            "gradient: value 1 is of another graph");
  EXPECT_EQ(error_of([&] {
              gradient({y, cast(x, DType::i32)}, {x});
            }),
            "gradient: of 1 i32[2], which is not a float");
  EXPECT_EQ(error_of([&] { gradient(Values{}, {x}); }),
            "gradient: there is no value to take it of");
}

}  // namespace
}  // namespace rlx
