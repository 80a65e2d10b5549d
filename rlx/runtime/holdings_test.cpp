// Weights in the order of kernels, and narrower floats as f32: there before the first run, counted
// before anything is made, and held to the budget. `conformance/holdings_test.cpp` goes through all
// ops.
#include <gtest/gtest.h>

#include "rlx/ir/text.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_rearrange.h"
#include "rlx/runtime/internals.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

constexpr int64_t kRows = 64, kSize = 96;
constexpr int64_t kPacked = kSize * kSize * 4;

Tensor weight() { return {DType::f32, {kSize, kSize}}; }
Graph product(const Dim& rows, DType dtype = DType::f32) {
  Graph graph;
  const Value x = graph.input("x", {dtype, {rows, kSize}});
  graph.output("y", matmul(x, graph.weight("w", Tensor(dtype, {kSize, kSize}))));
  return graph;
}
Tensor rows(int64_t count, DType dtype = DType::f32) { return {dtype, {count, kSize}}; }

// What the device holds and has made, as a program tells that makes nothing itself.
RunReport report_of(const Device& device) {
  Graph graph;
  const Value x = graph.input("x", f32({1}));
  graph.output("y", x + x);
  RunReport report;
  RunOptions options;
  options.report = &report;
  compile(graph, {.device = device}).run({{"x", Tensor(DType::f32, {1})}}, options);
  return report;
}

TEST(Holdings, ThePacksOfKnownExtentsAreThereBeforeTheFirstRun) {
  const Device device;
  const Program program = compile(product(kRows), {.device = device});
  const RunReport before = report_of(device);
  EXPECT_GE(before.packed_bytes, kPacked);
  EXPECT_EQ(before.packs, 1);
  program.run({{"x", rows(kRows)}});
  EXPECT_EQ(report_of(device).packs, 1);
}

TEST(Holdings, APackThatDependsOnARunIsMadeByIt) {
  const Device device;
  const Program program = compile(product(Dim("rows")), {.device = device});
  EXPECT_EQ(report_of(device).packs, 0);
  program.run({{"x", rows(1)}});
  EXPECT_EQ(report_of(device).packs, 0);
  program.run({{"x", rows(kRows)}});
  EXPECT_EQ(report_of(device).packs, 1);
}

TEST(Holdings, NothingIsPackedForABranchThatMayNeverRun) {
  Graph graph = parse(R"(rlx 1
%0 = input @"x" : f32[64, 2]
%1 = input @"c" : bool[]
%2 = weight value=f32[2, 2]{1, 2, 3, 4} @"w" : f32[2, 2]
%3 = if_else %1, %0, %2 else={
  %0 = input @"x" : f32[64, 2]
  %1 = input @"w" : f32[2, 2]
  %2 = neg %0 : f32[64, 2]
  output "o" %2
} then={
  %0 = input @"x" : f32[64, 2]
  %1 = input @"w" : f32[2, 2]
  %2 = matmul %0, %1 transpose_a=false transpose_b=false : f32[64, 2]
  output "o" %2
} : f32[64, 2]
output "y" %3
)",
                      catalog());
  const Device device;
  const Program program = compile(graph, {.device = device});
  EXPECT_EQ(report_of(device).packs, 0);
  program.run({{"x", Tensor(DType::f32, {64, 2})}, {"c", Tensor::scalar(DType::boolean, 1)}});
  EXPECT_EQ(report_of(device).packs, 1);
}

TEST(Holdings, AWeightThatWasSetIsPackedByTheNextRun) {
  const Device device;
  Program program = compile(product(kRows), {.device = device});
  Tensor ones = weight();
  for (int64_t i = 0; i < ones.count(); ++i) ones.set(i, 1);
  program.set_weight("w", ones);
  Tensor x = rows(kRows);
  x.set(0, 3);
  EXPECT_EQ(program.run({{"x", x}}).at("y").at(0), 3);
}

TEST(Holdings, BoundsThatNoRunHasTogetherLeaveWhatDependsOnThemOut) {
  Graph graph;
  const Value a = graph.input("a", f32({kRows, graph.symbol("m", 64)}));
  const Value b = graph.input("b", f32({graph.symbol("n", 32), kSize}));
  graph.output("y", matmul(matmul(a, b), graph.weight("w", weight())));
  const image::Holdings holdings =
      detail::holdings_of(Device(), compile_image(graph), catalog(), {});
  EXPECT_GE(holdings.packed_bytes(), kPacked);
}

// ---- The budget --------------------------------------------------------------------------------

// Weights, inputs and the result.
constexpr int64_t kUnpacked = kPacked + 2 * kRows * kSize * 4;

TEST(Holdings, ABudgetWithoutRoomForPacksRefusesTheRunAndMakesNone) {
  for (const Dim& extent : {Dim(kRows), Dim("rows")}) {
    const Device device;
    const int64_t packed =
        detail::holdings_of(device, compile_image(product(kRows)), catalog(), {}).packed_bytes();
    const int64_t budget = kUnpacked + packed - 1;
    const Program program = compile(product(extent), {.device = device, .memory_budget = budget});
    EXPECT_EQ(error_of([&] {
                program.run({{"x", rows(kRows)}});
              }),
              text("run: needs ", budget + 1, " bytes (", kPacked, " of weights, ", packed,
                   " of packed weights, 0 of state, ", kRows * kSize * 4, " of inputs, ",
                   kRows * kSize * 4, " of other values); the budget is ", budget));
    EXPECT_EQ(report_of(device).packs, 0);
    const Program fits = compile(product(extent), {.device = device, .memory_budget = budget + 1});
    fits.run({{"x", rows(kRows)}});
    EXPECT_EQ(report_of(device).packs, 1);
  }
}

TEST(Holdings, WhatASmallerRunNeedsIsWhatItsBudgetIsFor) {
  const Device device;
  const Program program =
      compile(product(Dim("rows")), {.device = device, .memory_budget = kUnpacked});
  EXPECT_NE(error_of([&] { program.run({{"x", rows(kRows)}}); }), "");
  program.run({{"x", rows(1)}});  // takes the weight as it is
}

// A number of rows that a float says.
TEST(Holdings, WhatOnlyTheRunTellsIsHeldToTheBudgetWhenItIsThere) {
  Graph graph;
  const Value number = cast(ceil(exp(graph.input("n", f32({1})))), DType::i64);
  const Value column = reshape(expand(graph.input("x", f32({1})), number), Dims{Dim(-1), Dim(1)});
  const Value wide = column + graph.weight("zeros", Tensor(DType::f32, {1, kSize}));
  graph.output("y", matmul(wide, graph.weight("w", weight())));
  const auto run = [&](const Program& program, double n) {
    return error_of([&] {
      program.run({{"n", Tensor::of(DType::f32, {1}, {n})}, {"x", Tensor(DType::f32, {1})}});
    });
  };
  const Device device;
  constexpr int64_t kValues = 60'000;  // of 61 rows
  const Program tight = compile(graph, {.device = device, .memory_budget = kPacked + kValues});
  EXPECT_EQ(run(tight, 0), "");
  const std::string said = run(tight, 4.1);
  EXPECT_NE(said.find("of packed weights and narrower floats as f32"), std::string::npos) << said;
  EXPECT_EQ(report_of(device).packs, 0);
  const Program roomy = compile(graph, {.device = device, .memory_budget = 3 * kPacked + kValues});
  EXPECT_EQ(run(roomy, 4.1), "");
}

TEST(Holdings, ABudgetCountsNarrowerFloatsAsF32) {
  const Device device;
  Graph graph;
  const Value x = graph.input("x", {DType::f16, {1024}});
  graph.output("y", graph.add(catalog().at("cumsum"), {x}, {{"axis", int64_t{0}}}));
  const int64_t widened =
      detail::holdings_of(device, compile_image(graph), catalog(), {}).widened_bytes();
  EXPECT_EQ(widened, 2 * 4096);
  const int64_t budget = 2 * 2048 + widened - 1;
  const Tensor given(DType::f16, {1024});
  EXPECT_EQ(error_of([&] {
              compile(graph, {.device = device, .memory_budget = budget}).run({{"x", given}});
            }),
            text("run: needs ", budget + 1, " bytes (0 of weights, ", widened,
                 " of narrower floats as f32, 0 of state, 2048 of inputs, 2048 of other values); "
                 "the budget is ",
                 budget));
  compile(graph, {.device = device, .memory_budget = budget + 1}).run({{"x", given}});
}

}  // namespace
}  // namespace rlx
