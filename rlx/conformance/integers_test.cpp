// Arithmetic of 64-bit integers as models have it runs on devices, which have none: in 32 bits
// where it is known to fit them, and in two words where it is not.

#include <gtest/gtest.h>

#include "rlx/conformance/disagreement.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_control.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_cumulative.h"
#include "rlx/ops/ops_logic.h"
#include "rlx/ops/ops_math.h"
#include "rlx/ops/ops_scatter.h"
#include "rlx/ops/ops_search.h"
#include "rlx/ops/ops_sort.h"
#include "rlx/runtime/program.h"

namespace rlx {
namespace {

Tensor integers(const Shape& shape, const std::vector<int64_t>& values) {
  Tensor tensor(DType::i64, shape);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_integer(i, values[size_t(i) % values.size()]);
  return tensor;
}
Tensor reals(const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, static_cast<double>(i % 97) - 48.5);
  return tensor;
}
Value number(Value like, int64_t value) { return constant_beside(like, integers({}, {value})); }

std::string elements(const Tensor& tensor) {
  std::string all;
  for (int64_t i = 0; i < tensor.count(); ++i)
    all += text(is_integer(tensor.dtype()) ? text(tensor.integer_at(i)) : text(tensor.at(i)), ' ');
  return all;
}

// On every device, with nothing on the host, as the references have it.
void expect_strict(const Graph& graph, const TensorMap& inputs) {
  const TensorMap expected = evaluate(graph, inputs).outputs;
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    RunReport report;
    const RunResult run = compile(graph, {.device = device, .strict = true})
                              .run(inputs, RunOptions{.report = &report});
    EXPECT_TRUE(device.is_cpu() || report.host_steps.empty());
    for (const auto& [name, tensor] : expected) {
      EXPECT_EQ(run.tensors.at(name).dtype(), tensor.dtype());
      EXPECT_EQ(elements(run.tensors.at(name)), elements(tensor)) << name;
    }
  }
}

TEST(Integers, PositionsOfWhatIsNoPadding) {
  Graph graph;
  const Value ids = graph.input("ids", i64({"batch", "length"}));
  const Value table = graph.weight("table", reals({40, 3}));
  const Value mask = cast(not_equal(ids, number(ids, 1)), DType::i64);
  graph.output("y", gather(table, cumsum(mask, 1) * mask + number(ids, 1)));
  expect_strict(graph, {{"ids", integers({2, 7}, {5, 1, 9, 1, 1, 8, 4, 3, 2})}});
}

TEST(Integers, SeveralIndicesAtOnce) {
  Graph graph;
  const Value x = graph.input("x", f32({"rows", "columns"}));
  const Value i = graph.input("i", i64({"n"})), j = graph.input("j", i64({"n"}));
  const Value columns = gather(shape_of(x), number(i, 1));
  graph.output("y", gather(reshape(x, Dims{Dim("rows") * Dim("columns")}), i * columns + j));
  expect_strict(graph, {{"x", reals({5, 7})},
                        {"i", integers({4}, {4, 0, 2, 3})},
                        {"j", integers({4}, {6, 0, 5, 1})}});
}

TEST(Integers, NegativeIndicesCountFromTheEnd) {
  Graph graph;
  const Value x = graph.input("x", f32({"n"})), i = graph.input("i", i64({3}));
  const Value length = gather(shape_of(x), number(i, 0));
  graph.output("y", gather(x, where(less(i, number(i, 0)), i + length, i)));
  expect_strict(graph, {{"x", reals({9})}, {"i", integers({3}, {-1, 3, -9})}});
}

TEST(Integers, AssignmentToASlice) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 6})), updates = graph.input("updates", f32({"k", 6}));
  const Value start = graph.input("start", i64({1}));
  const Value rows = counting(x, "k") * number(start, 2) + start;
  graph.output("y", scatter_nd(x, unsqueeze(rows, {1}), updates));
  expect_strict(graph,
                {{"x", reals({9, 6})}, {"updates", reals({3, 6})}, {"start", integers({1}, {3})}});
}

TEST(Integers, BeamsAndTokensOfWhatIsBest) {
  Graph graph;
  const Value scores = graph.input("scores", f32({"batch", "beams", 50}));
  const Value flat = reshape(scores, Dims{"batch", Dim("beams") * Dim(50)});
  const TopK best = top_k(flat, 4);
  graph.output("beam", best.indices / number(best.indices, 50));
  graph.output("token", mod(best.indices, number(best.indices, 50)));
  const Value offset = unsqueeze(counting(flat, "batch") * number(best.indices, 3), {1});
  graph.output("row", best.indices / number(best.indices, 50) + offset);
  expect_strict(graph, {{"scores", reals({2, 3, 50})}});
}

TEST(Integers, HashesOfIdsLeaveOneWord) {
  Graph graph;
  const Value ids = graph.input("ids", i64({"n"})), table = graph.weight("table", reals({101, 4}));
  const Value hash = mod(ids * number(ids, 2654435761) + number(ids, 1LL << 40), number(ids, 101));
  graph.output("y", gather(table, hash));
  graph.output("bits", bitwise_xor(shift_right(ids * number(ids, 0x9E3779B1), number(ids, 15)),
                                   shift_left(ids, number(ids, 7))));
  expect_strict(graph, {{"ids", integers({9}, {0, 1, -5, 30521, INT32_MAX, 1LL << 40, INT64_MAX,
                                               INT64_MIN, 123456789123})}});
}

// The logarithm of 0 becomes the least integer, which a condition then drops.
TEST(Integers, BucketsOfDistances) {
  Graph graph;
  const Value q = graph.input("q", f32({"n"}));
  const Value table = graph.weight("table", reals({32, 2}));
  const Value at = counting(q, "n"), distance = abs(unsqueeze(at, {0}) - unsqueeze(at, {1}));
  const Value real = cast(distance, DType::f32);
  const Value far =
      number(at, 8) +
      cast(log(real / scalar(real, 8)) / scalar(real, 2.7725887) * scalar(real, 8), DType::i64);
  const Value bucket = where(less(distance, number(at, 8)), distance, minimum(far, number(at, 15)));
  graph.output("bucket", bucket);
  graph.output("y", gather(table, bucket));
  expect_strict(graph, {{"q", reals({40})}});
}

TEST(Integers, ACastSaturatesWhereItIsNoIndex) {
  Graph graph;
  const Value x = graph.input("x", f32({5}));
  const Value whole = cast(x, DType::i64);
  graph.output("whole", whole);
  graph.output("least", minimum(whole, number(whole, 7)));
  expect_strict(graph, {{"x", Tensor::of(DType::f32, {5}, {1e30, -1e30, 5.5, 3e9, 1e18})}});
}

TEST(Integers, AnIndexBeyondOneWordIsAnError) {
  Graph graph;
  const Value x = graph.input("x", f32({5})), i = graph.input("i", i64({2}));
  graph.output("y", gather(x, i * number(i, 1LL << 32)));
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    const Program program = compile(graph, {.device = device});
    EXPECT_THROW(program.run({{"x", reals({5})}, {"i", integers({2}, {1, 0})}}), Error);
    EXPECT_NO_THROW(program.run({{"x", reals({5})}, {"i", integers({2}, {0, 0})}}));
  }
}

TEST(Integers, OfAnySizeComeAndLeave) {
  Graph graph;
  const Value x = graph.input("x", i64({"n"})), y = graph.input("y", i64({"n"}));
  graph.output("sum", x + y);
  graph.output("product", x * y);
  graph.output("quotient", reshape(x / y, Dims{1, "n"}));
  graph.output("real", cast(x - y, DType::f32));
  graph.output("odd", cast(x * y, DType::boolean));
  expect_strict(graph, {{"x", integers({4}, {INT64_MAX, INT64_MIN, 1LL << 40, -7})},
                        {"y", integers({4}, {1, -1, 12345678901, 2})}});
}

TEST(Integers, StayOnTheDeviceFromProgramToProgram) {
  Graph graph;
  const Value x = graph.input("x", i64({3}));
  graph.output("y", x * number(x, 1000003));
  Graph reader;
  const Value i = reader.input("i", i64({3}));
  reader.output("y", gather(reader.input("table", f32({9})), i));
  const Tensor start = integers({3}, {1LL << 33, -5, 7});
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    const Program program = compile(graph, {.device = device});
    RunOptions keep{.keep_on_device = {"y"}};
    RunResult first = program.run({{"x", start}}, keep);
    EXPECT_EQ(elements(first.device_tensors.at("y").read()),
              text((1LL << 33) * 1000003, ' ', -5 * 1000003, ' ', 7 * 1000003, ' '));
    keep.device_inputs = {{"x", first.device_tensors.at("y")}};
    const RunResult second = program.run({}, keep);
    EXPECT_EQ(second.device_tensors.at("y").read().integer_at(2), 7LL * 1000003 * 1000003);
    // A tensor in two words where one is expected, and the other way round.
    const RunResult small =
        program.run({{"x", integers({3}, {0, 0, 0})}}, {.keep_on_device = {"y"}});
    const Program gathers = compile(reader, {.device = device});
    EXPECT_EQ(elements(gathers
                           .run({{"table", reals({9})}},
                                {.device_inputs = {{"i", small.device_tensors.at("y")}}})
                           .tensors.at("y")),
              "-48.5 -48.5 -48.5 ");
  }
}

TEST(Integers, OfALoopStayOnTheDevice) {
  Graph body;
  body.input("iteration", i64({}));
  const Value state = body.input("state", i64({3}));
  body.output("next", mod(state * number(state, 6364136223846793005) + number(state, 1),
                          number(state, 1000003)));
  Graph graph;
  const Value x = graph.input("x", i64({3}));
  graph.output("y", loop(number(x, 5), {x}, std::move(body))[0]);
  expect_strict(graph, {{"x", integers({3}, {1, 2, 1000})}});
}

// As detectors paste masks into a picture: boxes are cut where they leave it.
TEST(Integers, WhatABodyPicksOfItsOperandsHasOneWord) {
  Graph body;
  const Value at = body.input("iteration", i64({})), sum_so_far = body.input("state", i64({}));
  const Value box = gather(body.input("boxes", i64({"n", 4})), at);
  const auto side = [&](int64_t i) { return gather(box, number(box, i)); };
  const Value end = reduce_min(concat(
      {unsqueeze(side(2), {0}) + number(box, 1), constant_beside(box, integers({1}, {96}))}, 0));
  const Value length = end - side(0), width = side(3) - side(1);
  body.output("next", sum_so_far + length * width);
  Graph graph;
  const Value boxes = graph.input("boxes", i64({"n", 4})), zero = graph.input("zero", i64({}));
  graph.output("y", loop(reshape(shape_of(boxes, 0, 1), Dims{}), {zero}, std::move(body),
                         {.captured = {boxes}})[0]);
  expect_strict(graph, {{"boxes", integers({3, 4}, {3, 5, 20, 50, 70, 2, 120, 9, -4, -8, 7, 3})},
                        {"zero", integers({}, {0})}});
}

// Rows and columns of places in a picture that has been resized.
TEST(Integers, PlacesAreDividedByExtentsThatTheDataTells) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 3}));
  const Value found = gather(x, squeeze(slice(non_zero(x), {0}, {1}, {0}), {0}));  // some rows
  const Value place = argmax(reshape(found, Dims{-1}), 0),
              width = squeeze(shape_of(found, 0, 1), {0});
  graph.output("row", (place - mod(place, width)) / width);
  Tensor values(DType::f32, {4, 3});
  for (const int64_t i : {1, 5, 7, 10}) values.set(i, static_cast<double>(i));
  const TensorMap inputs{{"x", values}};
  const TensorMap expected = evaluate(graph, inputs).outputs;
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    const Program program = compile(graph, {.device = device, .strict = true});
    EXPECT_EQ(elements(program.run(inputs).at("row")), elements(expected.at("row")));
  }
}

TEST(Integers, CountsAndSumsOfMasksStayOnTheDevice) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", "m"}));
  const Value mask = cast(greater(x, scalar(x, 0)), DType::i64);
  const Value counts = sum(mask, {1}, true);
  graph.output("counts", counts);
  graph.output("all", sum(mask));
  graph.output("mean", sum(where(greater(x, scalar(x, 0)), x, scalar(x, 0)), {1}, true) /
                           cast(maximum(counts, number(counts, 1)), DType::f32));
  expect_strict(graph, {{"x", reals({7, 33})}});
}

// Short rows, rows in chunks, columns, from either end: of what a run is given, and of what it
// made.
TEST(Integers, RunningTotalsAndProductsLeaveOneWord) {
  Graph graph;
  const Value x = graph.input("x", i64({3, 700})), y = graph.input("y", i64({"n", 5}));
  graph.output("of rows", cumsum(x, -1));
  graph.output("of columns", cumsum(x * number(x, 3), 0, true, true));
  graph.output("of few", cumsum(y, 0, false, true));
  graph.output("products", cumprod(y, 1));
  graph.output("of products", cumprod(cumsum(x, 1) + number(x, 1), 1, true));
  const std::vector<int64_t> far = {1LL << 40,    -3, INT64_MAX, 12345678901,
                                    -(1LL << 62), 7,  0x7fffffff};
  expect_strict(graph, {{"x", integers({3, 700}, far)}, {"y", integers({300, 5}, far)}});
}

// What the total becomes an index of fits, whatever it was made of.
TEST(Integers, WhatIsLeftOfARunningTotalIsAnIndex) {
  Graph graph;
  const Value ids = graph.input("ids", i64({"n"})), table = graph.weight("table", reals({101, 4}));
  graph.output("y", gather(table, mod(cumsum(ids * number(ids, 2654435761), 0), number(ids, 101))));
  expect_strict(graph,
                {{"ids", integers({9}, {0, 1, -5, 30521, INT32_MAX, 1LL << 40, INT64_MAX})}});
}

}  // namespace
}  // namespace rlx
