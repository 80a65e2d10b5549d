// Claims about the gathers and scatters, one_hot, reverse_sequence, concat and write_slice.

#include <gtest/gtest.h>

#include "rlx/compile/lower_graph.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_index.h"
#include "rlx/ops/ops_scatter.h"
#include "rlx/ops/testing.h"

namespace rlx {

using namespace detail;
namespace {

Tensor floats(Shape shape, std::initializer_list<double> values) {
  return Tensor::of(DType::f32, std::move(shape), values);
}
Tensor list(std::initializer_list<double> values) {
  return Tensor::of(DType::i64, {static_cast<int64_t>(values.size())}, values);
}

template <class Build>
std::string error_of(const std::vector<Tensor>& operands, Build build) {
  try {
    result_of(operands, build);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const Tensor kTable = floats({3, 2}, {0, 1, 10, 11, 20, 21});

TEST(Gather, TakesRowsAlongAnyAxis) {
  EXPECT_EQ(elements(result_of({kTable, list({2, 0, -1})},
                               [](const Values& v) { return gather(v[0], v[1]); })),
            (Numbers{20, 21, 0, 1, 20, 21}));
  EXPECT_EQ(elements(result_of({kTable, list({1})},
                               [](const Values& v) { return gather(v[0], v[1], -1); })),
            (Numbers{1, 11, 21}));
}

TEST(Gather, IndicesGiveTheirShapeToTheResult) {
  const Tensor scalar = Tensor::scalar(DType::i32, 1),
               matrix = Tensor::of(DType::u8, {2, 2}, {0, 1, 2, 0});
  EXPECT_EQ(result_of({kTable, scalar}, [](const Values& v) { return gather(v[0], v[1]); }).shape(),
            (Shape{2}));
  EXPECT_EQ(result_of({kTable, matrix}, [](const Values& v) { return gather(v[0], v[1]); }).shape(),
            (Shape{2, 2, 2}));
}

TEST(Gather, AnIndexOutOfRangeIsAnErrorWithTheLimit) {
  EXPECT_EQ(error_of({kTable, list({3})}, [](const Values& v) { return gather(v[0], v[1]); }),
            "gather: index 3 is out of range for axis 0 of f32[3, 2] (3)\n  at node 'gather_2'");
}

TEST(Scatter, OfDuplicatesTheLastReplaces) {
  const Tensor updates = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(elements(result_of({kTable, list({0, -1, 0}), updates},
                               [](const Values& v) { return scatter(v[0], v[1], v[2]); })),
            (Numbers{5, 6, 10, 11, 3, 4}));
}

TEST(Scatter, CombinesAllDuplicates) {
  const Tensor updates = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto with = [&](const char* reduction) {
    return elements(result_of({kTable, list({0, 2, 0}), updates}, [&](const Values& v) {
      return scatter(v[0], v[1], v[2], 0, reduction);
    }));
  };
  EXPECT_EQ(with("add"), (Numbers{6, 9, 10, 11, 23, 25}));
  EXPECT_EQ(with("mul"), (Numbers{0, 12, 10, 11, 60, 84}));
  EXPECT_EQ(with("max"), (Numbers{5, 6, 10, 11, 20, 21}));
  EXPECT_EQ(with("min"), (Numbers{0, 1, 10, 11, 3, 4}));
}

TEST(Scatter, WorksAlongTheLastAxis) {
  EXPECT_EQ(elements(result_of({kTable, list({1}), floats({3, 1}, {7, 8, 9})},
                               [](const Values& v) { return scatter(v[0], v[1], v[2], -1); })),
            (Numbers{0, 7, 10, 8, 20, 9}));
}

TEST(Scatter, ErrorsNameOpValueAndLimit) {
  const Tensor row = floats({1, 2}, {0, 0});
  EXPECT_EQ(
      error_of({kTable, list({5}), row}, [](const Values& v) { return scatter(v[0], v[1], v[2]); }),
      "scatter: index 5 is out of range for axis 0 of f32[3, 2] (3)\n  at node 'scatter_3'");
  EXPECT_EQ(error_of({kTable, list({5}), row},
                     [](const Values& v) { return scatter(v[0], v[1], v[2], 0, "sum"); }),
            "scatter: there is no reduction 'sum'; it takes none, add, mul, max, min");
}

TEST(Scatter, SumsOfI64AreMadeOnTheHost) {
  Graph graph;
  const Value x = graph.input("x", i64({4})), at = graph.input("at", i64({2})),
              updates = graph.input("updates", i64({2}));
  graph.output("y", scatter(x, at, updates, 0, "add"));
  const DeviceTraits traits{.name = "test", .device_class = DeviceClass::software};
  const Lowered lowered = lower_graph(graph, traits);
  const auto* host = std::get_if<Call>(&lowered.steps.list.at(0).what);
  ASSERT_TRUE(host);
  EXPECT_EQ(host->reason, "scatter with add of i64 may leave the 32 bits a device has");
}

// The kernels that a scatter of many floats to few places takes.
std::vector<std::string> kernels(const std::string& reduction, bool deterministic) {
  Graph graph;
  const Value x = graph.input("x", f32({4})), at = graph.input("at", i64({1000})),
              updates = graph.input("updates", f32({1000}));
  graph.output("y", scatter(x, at, updates, 0, reduction, deterministic));
  const DeviceTraits traits{.name = "test", .device_class = DeviceClass::software};
  std::vector<std::string> names;
  for (const Step& step : lower_graph(graph, traits).steps.list)
    if (const auto* dispatch = std::get_if<Dispatch>(&step.what))
      names.push_back(dispatch->kernel.name);
  return names;
}

TEST(Scatter, ToFewPlacesIsTakenAtOnceUnlessTheOrderMatters) {
  EXPECT_EQ(kernels("add", false), (std::vector<std::string>{"scatter_atomic"}));
  EXPECT_EQ(kernels("add", true), (std::vector<std::string>{"scatter_in_order"}));
  EXPECT_EQ(kernels("max", true), (std::vector<std::string>{"scatter_atomic"}));
  EXPECT_EQ(kernels("none", true), (std::vector<std::string>{"scatter_claim", "scatter_take"}));
}

TEST(GatherElements, TakesEachAtItsOwnCoordinates) {
  const Tensor at = Tensor::of(DType::i32, {2, 2}, {2, 0, -3, 1});
  EXPECT_EQ(elements(result_of({kTable, at},
                               [](const Values& v) { return gather_elements(v[0], v[1]); })),
            (Numbers{20, 1, 0, 11}));
  const Tensor columns = Tensor::of(DType::i32, {2, 3}, {1, 0, 1, -1, 0, 0});
  EXPECT_EQ(elements(result_of({kTable, columns},
                               [](const Values& v) { return gather_elements(v[0], v[1], 1); })),
            (Numbers{1, 0, 1, 11, 10, 10}));
}

TEST(GatherElements, ErrorsNameOpValueAndLimit) {
  const auto build = [](const Values& v) { return gather_elements(v[0], v[1], 1); };
  EXPECT_EQ(error_of({kTable, Tensor::of(DType::i64, {1, 1}, {2})}, build),
            "gather_elements: index 2 is out of range for axis 1 of f32[3, 2] (2)\n"
            "  at node 'gather_elements_2'");
  EXPECT_EQ(error_of({kTable, Tensor(DType::i64, {4, 1})}, build),
            "gather_elements: dim 0 of indices i64[4, 1] is larger than that of f32[3, 2]");
}

TEST(GatherNd, TakesBlocksByTuples) {
  const Tensor pairs = Tensor::of(DType::i64, {2, 2}, {2, 1, -3, 0});
  const auto build = [](const Values& v) { return gather_nd(v[0], v[1]); };
  EXPECT_EQ(elements(result_of({kTable, pairs}, build)), (Numbers{21, 0}));
  EXPECT_EQ(elements(result_of({kTable, Tensor::of(DType::i64, {1, 1}, {1})}, build)),
            (Numbers{10, 11}));
  EXPECT_EQ(elements(result_of({kTable, Tensor::of(DType::i64, {3, 1}, {1, 0, 1})},
                               [](const Values& v) { return gather_nd(v[0], v[1], 1); })),
            (Numbers{1, 10, 21}));
  EXPECT_EQ(error_of({kTable, Tensor(DType::i64, {2, 3})}, build),
            "gather_nd: tuples of 3 indices after 0 batch dims do not fit f32[3, 2] (rank 2)");
}

TEST(GatherNd, KeepsSymbols) {
  Graph graph;
  const Value x = graph.input("x", f32({"b", "n", 4})), at = graph.input("at", i64({"b", "m", 1}));
  EXPECT_EQ(gather_nd(x, at, 1).shape(), (Dims{"b", "m", 4}));
}

TEST(ScatterElements, CombinesAtEachPlace) {
  const Tensor at = Tensor::of(DType::i64, {2, 2}, {0, 1, 0, -1});
  const Tensor updates = floats({2, 2}, {5, 6, 7, 8});
  const auto with = [&](const char* reduction) {
    return elements(result_of({kTable, at, updates}, [&](const Values& v) {
      return scatter_elements(v[0], v[1], v[2], 0, reduction);
    }));
  };
  EXPECT_EQ(with("none"), (Numbers{7, 1, 10, 6, 20, 8}));
  EXPECT_EQ(with("add"), (Numbers{12, 1, 10, 17, 20, 29}));
  EXPECT_EQ(with("max"), (Numbers{7, 1, 10, 11, 20, 21}));
}

TEST(ScatterNd, WritesBlocksByTuples) {
  const Tensor rows = Tensor::of(DType::i64, {2, 1}, {2, 0});
  EXPECT_EQ(elements(result_of({kTable, rows, floats({2, 2}, {5, 6, 7, 8})},
                               [](const Values& v) { return scatter_nd(v[0], v[1], v[2]); })),
            (Numbers{7, 8, 10, 11, 5, 6}));
  EXPECT_EQ(error_of({kTable, rows, floats({2}, {5, 6})},
                     [](const Values& v) { return scatter_nd(v[0], v[1], v[2]); }),
            "scatter_nd: updates f32[2] must be f32[2, 2] for f32[3, 2] at i64[2, 1]");
}

TEST(OneHot, IsOffEverywhereForAnIndexOutOfRange) {
  const auto build = [](const Values& v) { return one_hot(v[0], 3); };
  EXPECT_EQ(elements(result_of({list({1, -1, 3, -4})}, build)),
            (Numbers{0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(elements(result_of({list({1}), list({2}), list({7, 9})},
                               [](const Values& v) { return one_hot(v[0], v[1], v[2], 0); })),
            (Numbers{7, 9}));
}

TEST(ReverseSequence, ReversesWhatEachLengthSays) {
  const auto build = [](const Values& v) { return reverse_sequence(v[0], v[1]); };
  EXPECT_EQ(elements(result_of({kTable, list({3, 2})}, build)), (Numbers{20, 11, 10, 1, 0, 21}));
  EXPECT_EQ(error_of({kTable, list({4, 0})}, build),
            "reverse_sequence: length 4 is out of range for axis 0 of f32[3, 2] (3)\n"
            "  at node 'reverse_sequence_2'");
}

TEST(Concat, JoinsAlongAnyAxis) {
  const Tensor more = floats({3, 1}, {5, 6, 7});
  EXPECT_EQ(elements(result_of({kTable, more}, [](const Values& v) { return concat(v, 1); })),
            (Numbers{0, 1, 5, 10, 11, 6, 20, 21, 7}));
  EXPECT_EQ(
      result_of({kTable, kTable, kTable}, [](const Values& v) { return concat(v, 0); }).shape(),
      (Shape{9, 2}));
  EXPECT_EQ(error_of({kTable, more}, [](const Values& v) { return concat(v, 0); }),
            "concat: dim 1 of f32[3, 2] and of f32[3, 1]: 2 and 1");
}

TEST(Concat, AddsSymbolicLengths) {
  Graph graph;
  const Value a = graph.input("a", f32({"b", "past", 4})),
              b = graph.input("b", f32({"b", "seq", 4}));
  EXPECT_EQ(concat({a, b}, 1).shape(), (Dims{"b", Dim("past") + Dim("seq"), 4}));
}

TEST(Concat, OfManyPartsTakesSeveralDispatches) {
  Graph graph;
  Values parts;
  for (int i = 0; i < 9; ++i) parts.push_back(graph.input(text("x", i), f32({2, 3})));
  graph.output("y", concat(parts, 1));
  const DeviceTraits traits{.name = "test", .device_class = DeviceClass::software};
  EXPECT_EQ(lower_graph(graph, traits).steps.list.size(), 2u);
}

TEST(WriteSlice, ReplacesABlock) {
  EXPECT_EQ(elements(result_of({kTable, floats({2, 1}, {5, 6}), list({1, 1})},
                               [](const Values& v) { return write_slice(v[0], v[1], v[2]); })),
            (Numbers{0, 1, 10, 5, 20, 6}));
}

TEST(WriteSlice, ABlockThatDoesNotFitIsAnError) {
  EXPECT_EQ(error_of({kTable, floats({2, 1}, {5, 6}), list({2, 0})},
                     [](const Values& v) { return write_slice(v[0], v[1], v[2]); }),
            "write_slice: dim 0 of f32[2, 1] at 2 does not fit f32[3, 2] (3)");
  Tensor far(DType::i64, {2});
  far.set_integer(0, INT64_MAX);  // its end is beyond all integers
  EXPECT_EQ(error_of({kTable, floats({2, 1}, {5, 6}), far},
                     [](const Values& v) { return write_slice(v[0], v[1], v[2]); }),
            "write_slice: dim 0 of f32[2, 1] at 9223372036854775807 does not fit f32[3, 2] (3)");
}

TEST(WriteSlice, MayTakeItsOperandsPlace) {
  Graph graph;
  const Value cache = graph.state("cache", f32({8, 4})), row = graph.input("row", f32({1, 4}));
  const Value starts = graph.input("starts", i64({2}));
  const Value next = write_slice(cache, row, starts);
  graph.update(cache, next);
  const DeviceTraits traits{.name = "test", .device_class = DeviceClass::software};
  const Lowered lowered = lower_graph(graph, traits);
  const auto* copy = std::get_if<Copy>(&lowered.steps.list.at(0).what);
  const auto* write = std::get_if<Dispatch>(&lowered.steps.list.at(1).what);
  ASSERT_TRUE(copy && write);
  ASSERT_EQ(write->in_place.size(), 1u);
  EXPECT_EQ(write->in_place[0].from, copy->source);
  EXPECT_EQ(write->in_place[0].to, copy->target);
}

}  // namespace
}  // namespace rlx
