// Claims about reshape, transpose, expand, squeeze, unsqueeze, slice and shape_of: values, symbols,
// layouts.

#include <gtest/gtest.h>

#include <algorithm>

#include "rlx/ops/ops_core.h"
#include "rlx/ops/testing.h"

namespace rlx {
namespace {

Tensor counting(Shape shape, DType dtype = DType::f32) {
  Tensor tensor(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, static_cast<double>(i));
  return tensor;
}

Tensor list(std::initializer_list<double> values) {
  return Tensor::of(DType::i64, {static_cast<int64_t>(values.size())}, values);
}

// What `build` makes of an input x of type `type`, run on `x` and other inputs.
template <class Build>
Tensor result(const TensorType& type, const Tensor& x, Build build, TensorMap others = {}) {
  Graph graph;
  const Value input = graph.input("x", type);
  graph.output("y", build(graph, input));
  others["x"] = x;
  return evaluate(graph, others).outputs.at("y");
}
template <class Build>
Tensor result(const Tensor& x, Build build) {
  return result(x.type(), x, [&](Graph&, Value value) { return build(value); });
}

template <class Build>
std::string error_of(const TensorType& type, Build build) {
  Graph graph;
  const Value x = graph.input("x", type);
  try {
    build(graph, x);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::optional<Layout> layout_of(Value value, const Layout& input) {
  const Node& node = value.producer();
  const TensorType& type = node.inputs[0].type();
  const InferSite site{*node.op, {&type}, node.attrs, {nullptr}, {}, nullptr};
  return node.op->view({site, value.type(), input});
}

using Numbers = std::vector<double>;

TEST(Reshape, KeepsElementsInOrder) {
  const Tensor y = result(counting({2, 6}), [](Value x) { return reshape(x, {3, -1}); });
  EXPECT_EQ(y.shape(), (Shape{3, 4}));
  EXPECT_EQ(elements(y), elements(counting({12})));
}

TEST(Reshape, MinusOneIsExactWhateverTheSymbolsAre) {
  Graph graph;
  const Value x = graph.input("x", f32({"b", "s", 768}));
  EXPECT_EQ(reshape(x, {"b", "s", -1, 64}).shape(), (Dims{"b", "s", 12, 64}));
  EXPECT_EQ(reshape(x, {-1, 768}).shape(), (Dims{Dim("b") * Dim("s"), 768}));
  EXPECT_EQ(reshape(x, {Dim("b") * Dim("s"), -1}).shape(), (Dims{Dim("b") * Dim("s"), 768}));
  EXPECT_EQ(reshape(x, {"b", -1}).shape(), (Dims{"b", Dim("s") * Dim(768)}));
  EXPECT_TRUE(reshape(x, {"b", -1, 64}).producer().checks.empty());
}

TEST(Reshape, AnOperandsZeroCopiesADim) {
  const auto build = [](Graph& graph, Value x) {
    return reshape(x, graph.constant(list({0, 3, -1})));
  };
  const Tensor y = result(f32({"n", 12}), counting({2, 12}), build);
  EXPECT_EQ(y.shape(), (Shape{2, 3, 4}));
}

TEST(Reshape, ATargetOfTheRunDecidesTheShape) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 6})), shape = graph.input("shape", i64({2}));
  graph.output("y", reshape(x, shape));
  for (const auto& [target, wanted] : {std::pair{list({3, -1}), Shape{3, 4}},
                                       {list({0, 6}), Shape{2, 6}},
                                       {list({12, 1}), Shape{12, 1}}}) {
    const Tensor y = evaluate(graph, {{"x", counting({2, 6})}, {"shape", target}}).outputs.at("y");
    EXPECT_EQ(y.shape(), wanted);
  }
  EXPECT_THROW(evaluate(graph, {{"x", counting({2, 6})}, {"shape", list({5, -1})}}), Error);
}

TEST(Reshape, ErrorsNameTheCounts) {
  EXPECT_EQ(error_of(f32({2, 3}),
                     [](Graph&, Value x) {
                       reshape(x, {4, 2});
                     }),
            "reshape: elements of f32[2, 3] and of [4, 2]: 6 and 8");
  EXPECT_EQ(error_of(f32({2, 3}),
                     [](Graph&, Value x) {
                       reshape(x, {-1, -1});
                     }),
            "reshape: more than one dim of [-1, -1] is -1");
  EXPECT_EQ(error_of(f32({2, 3}),
                     [](Graph&, Value x) {
                       reshape(x, {4, -1});
                     }),
            "reshape: elements of f32[2, 3] and of [4, -1]: 6 and 4");
}

TEST(Reshape, IsAViewWhereDimsSplitAndMergeWhole) {
  Graph graph;
  const Value x = graph.input("x", f32({"b", 4, "s", 8}));
  const Value swapped = transpose(x, {0, 2, 1, 3});  // [b, s, 4, 8]
  const Layout strided = *layout_of(swapped, Layout::row_major(x.shape()));
  const auto split = layout_of(reshape(swapped, {"b", "s", 4, 2, 4}), strided);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->strides, (Dims{Dim("s") * Dim(32), 8, Dim("s") * Dim(8), 4, 1}));
  EXPECT_FALSE(layout_of(reshape(swapped, {"b", "s", 32}), strided));
  EXPECT_EQ(*layout_of(reshape(x, {-1, 8}), Layout::row_major(x.shape())), (Layout{0, {8, 1}}));
}

TEST(Transpose, PermutesDims) {
  const Tensor y = result(counting({2, 3}), [](Value x) { return transpose(x, {1, 0}); });
  EXPECT_EQ(elements(y), (Numbers{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(result(counting({2, 3, 4}), [](Value x) { return transpose(x, {}); }).shape(),
            (Shape{4, 3, 2}));
  EXPECT_EQ(error_of(f32({2, 3}),
                     [](Graph&, Value x) {
                       transpose(x, {0, 0});
                     }),
            "transpose: [0, 0] is not an order of the dims of f32[2, 3]");
}

TEST(Transpose, OfADimOfOneStaysContiguous) {
  Graph graph;
  const Value x = graph.input("x", f32({1, "n"}));
  const Value y = transpose(x, {1, 0});
  EXPECT_EQ(*layout_of(y, Layout::row_major(x.shape())), Layout::row_major(y.shape()));
}

TEST(Expand, RepeatsAsNumPyBroadcasts) {
  const Tensor y = result(counting({2, 1}), [](Value x) { return expand(x, {2, 1, 3}); });
  EXPECT_EQ(y.shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(elements(y), (Numbers{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(result(counting({3}), [](Value x) { return expand(x, {1}); }).shape(), (Shape{3}));
  EXPECT_EQ(error_of(f32({3}), [](Graph&, Value x) { expand(x, {4}); }),
            "expand: f32[3] cannot become [4]: 3 and 4");
}

TEST(Expand, ToASymbolTakesItsValueFromTheRun) {
  Graph graph;
  const Value x = graph.input("x", f32({1, 2})), other = graph.input("other", f32({"n"}));
  graph.output("y", expand(x, {other.shape()[0], 2}));
  const Tensor y =
      evaluate(graph, {{"x", counting({1, 2})}, {"other", counting({3})}}).outputs.at("y");
  EXPECT_EQ(elements(y), (Numbers{0, 1, 0, 1, 0, 1}));
}

TEST(Squeeze, DropsDimsOfOne) {
  EXPECT_EQ(result(counting({1, 3, 1}), [](Value x) { return squeeze(x, {-1}); }).shape(),
            (Shape{1, 3}));
  EXPECT_EQ(result(counting({1, 3, 1}), [](Value x) { return squeeze(x, {}); }).shape(),
            (Shape{3}));
  EXPECT_EQ(error_of(f32({2, 3}), [](Graph&, Value x) { squeeze(x, {0}); }),
            "squeeze: dim 0 of f32[2, 3] must be 1: 2 and 1");
}

TEST(Unsqueeze, CountsAxesOfTheResult) {
  EXPECT_EQ(result(counting({2, 3}),
                   [](Value x) {
                     return unsqueeze(x, {0, -1});
                   })
                .shape(),
            (Shape{1, 2, 3, 1}));
  EXPECT_EQ(error_of(f32({2}), [](Graph&, Value x) { unsqueeze(x, {3}); }),
            "unsqueeze: axis 3 is out of range for f32[2] with 1 new (rank 2)");
}

TEST(Slice, FollowsNumPy) {
  const Tensor x = counting({7});
  const auto sliced = [&](int64_t start, int64_t end, int64_t step) {
    return elements(result(x, [&](Value v) { return slice(v, {start}, {end}, {}, {step}); }));
  };
  EXPECT_EQ(sliced(1, 5, 2), (Numbers{1, 3}));
  EXPECT_EQ(sliced(-3, INT64_MAX, 1), (Numbers{4, 5, 6}));
  EXPECT_EQ(sliced(-100, 100, 3), (Numbers{0, 3, 6}));
  EXPECT_EQ(sliced(5, 2, 1), (Numbers{}));
  EXPECT_EQ(sliced(-1, INT64_MIN, -2), (Numbers{6, 4, 2, 0}));
  EXPECT_EQ(sliced(100, 1, -3), (Numbers{6, 3}));
  EXPECT_EQ(sliced(2, -1, -1), (Numbers{}));
}

TEST(Slice, OfEveryBoundAndStepFollowsPythonsRule) {
  for (const int64_t extent : {0, 1, 5})
    for (int64_t start = -7; start <= 7; ++start)
      for (int64_t end = -7; end <= 7; ++end)
        for (const int64_t step : {1, 2, 3, -1, -2, -3}) {
          const auto clamped = [&](int64_t at) {
            at += at < 0 ? extent : 0;
            return step > 0 ? std::min(std::max<int64_t>(at, 0), extent)
                            : std::min(std::max<int64_t>(at, -1), extent - 1);
          };
          Numbers wanted;
          for (int64_t i = clamped(start); step > 0 ? i < clamped(end) : i > clamped(end);
               i += step)
            wanted.push_back(static_cast<double>(i));
          const Tensor x = counting({extent});
          const Tensor known =
              result(x, [&](Value v) { return slice(v, {start}, {end}, {}, {step}); });
          EXPECT_EQ(elements(known), wanted)
              << start << ':' << end << ':' << step << " of " << extent;
          // The same with an extent, and with bounds, that only the run knows.
          Graph graph;
          const Value v = graph.input("x", f32({"n"})), from = graph.input("from", i64({1})),
                      to = graph.input("to", i64({1}));
          const Value by_attr = slice(v, {start}, {end}, {}, {step}),
                      by_value = slice(v, from, to, {}, {step});
          const SymbolValues symbols{{"n", extent}, {"from.0", start}, {"to.0", end}};
          for (const Value& y : {by_attr, by_value})
            EXPECT_EQ(y.shape()[0].value(symbols), static_cast<int64_t>(wanted.size()))
                << y.type() << ": " << start << ':' << end << ':' << step << " of " << extent;
        }
}

TEST(Slice, KeepsSymbolicDimsSimple) {
  Graph graph;
  const Value x = graph.input("x", f32({"n"}));
  const Dim n("n");
  EXPECT_EQ(slice(x, {0}, {INT64_MAX}).shape()[0], n);
  EXPECT_EQ(slice(x, {1}, {INT64_MAX}).shape()[0], max(n - 1, 0));
  EXPECT_EQ(slice(x, {0}, {-1}).shape()[0], max(n - 1, 0));
  EXPECT_EQ(slice(x, {-1}, {INT64_MAX}).shape()[0], min(1, n));
  EXPECT_EQ(slice(x, {-1}, {INT64_MIN}, {}, {-1}).shape()[0], n);
}

TEST(Slice, IsAViewWithAnOffset) {
  Graph graph;
  const Value x = graph.input("x", f32({4, "n"}));
  const Dim n("n");
  const auto layout =
      layout_of(slice(x, {3}, {INT64_MIN}, {0}, {-2}), Layout::row_major(x.shape()));
  EXPECT_EQ(*layout, (Layout{n * Dim(3), {n * Dim(-2), 1}}));
}

TEST(Slice, RefusesAStepOfZero) {
  EXPECT_EQ(error_of(f32({2}), [](Graph&, Value x) { slice(x, {0}, {1}, {0}, {0}); }),
            "slice: the step of axis 0 is 0");
  EXPECT_EQ(error_of(f32({2}), [](Graph&, Value x) { slice(x, {1}, {0}, {0}, {INT64_MIN}); }),
            "slice: the step of axis 0, -9223372036854775808, has no negative");
  EXPECT_EQ(error_of(f32({2}), [](Graph&, Value x) { slice(x, {0}, {1}, {1}); }),
            "slice: axis 1 is out of range for f32[2] (rank 1)");
}

TEST(Slice, OfNoAxesIsTheListItself) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 4}));
  EXPECT_EQ(reshape(x, slice(shape_of(x), Ints{}, Ints{})).shape(), (Dims{"n", 4}));
}

TEST(ShapeOf, IsKnownWithoutRunning) {
  Graph graph;
  const Value x = graph.input("x", f32({"b", "s", 64}));
  const Value shape = shape_of(x);
  const Value batch = gather(shape, graph.constant(list({0})));
  const Value flat = reshape(x, concat({batch, graph.constant(list({-1}))}, 0));
  EXPECT_EQ(flat.shape(), (Dims{"b", Dim("s") * Dim(64)}));
  const Value last = slice(shape, {-2}, {INT64_MAX});
  EXPECT_EQ(reshape(x, concat({graph.constant(list({-1})), last}, 0)).shape(), x.shape());
  graph.output("y", shape);
  EXPECT_EQ(elements(evaluate(graph, {{"x", counting({2, 3, 64})}}).outputs.at("y")),
            (Numbers{2, 3, 64}));
}

}  // namespace
}  // namespace rlx
