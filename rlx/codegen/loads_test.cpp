#include "rlx/codegen/loads.h"

#include <gtest/gtest.h>

namespace rlx {
namespace {

Operand operand(const std::string& name, ValueId value, Dims shape, Access access) {
  Operand made(value, {DType::f32, std::move(shape)}, access);
  made.name = name;
  return made;
}

// A kernel of x, value 0, of 8 elements, and y, value 1, of 3.
Dispatch dispatch_of(const std::string& source) {
  Dispatch dispatch{.kernel = {"k", {"k.wgsl", source}}, .operands = {}};
  dispatch.operands = {operand("x", 0, {2, 4}, Access::read), operand("y", 1, {3}, Access::write)};
  dispatch.constants = {{"TAPS", int64_t{5}}};
  dispatch.params = {{"window", Dims{2, 3, 1}}, {"rows", Dim("n")}};
  return dispatch;
}
std::optional<Dim> loads_of_x(Dispatch dispatch) {
  Steps steps = std::move(dispatch);
  const std::optional<Load> load = only_load(steps, 0);
  return load ? load->times : std::nullopt;
}
std::optional<Dim> said(const std::string& sentence) {
  return loads_of_x(dispatch_of("// A kernel.\n// " + sentence + "\nfn main() {}\n"));
}

TEST(Loads, AreCountedAsTheKernelSays) {
  EXPECT_EQ(said("Loads: x 3."), Dim(24));
  EXPECT_EQ(said("Loads: gamma 1, x 2."), Dim(16));
  EXPECT_EQ(said("Loads: x 1 for each y."), Dim(3));
  EXPECT_EQ(said("Loads: x window for each y."), Dim(18));
  EXPECT_EQ(said("Loads: x TAPS for each y."), Dim(15));
  EXPECT_EQ(said("Loads: x rows."), Dim("n") * Dim(8));
  EXPECT_EQ(said("Loads: * 1."), Dim(8));
  EXPECT_EQ(said("Loads: x rows * 9/TAPS in all."), Dim("n") * Dim(2));
  EXPECT_EQ(said("Loads: gamma 1, x rows *\n// 9/2/TAPS in all."), Dim("n"));
}

TEST(Loads, AreNotKnownWhereNothingIsSaid) {
  EXPECT_EQ(said("Loads the rows."), std::nullopt);
  EXPECT_EQ(said("Loads: gamma 1."), std::nullopt);
  EXPECT_EQ(said("Loads: x TILES."), std::nullopt);
  EXPECT_EQ(said("Loads: x 1 for each z."), std::nullopt);
  EXPECT_EQ(said("Loads: x rows/TILES in all."), std::nullopt);
  EXPECT_EQ(said("Loads: x rows/ in all."), std::nullopt);
}

TEST(Loads, InAllAreNotKnownOfShards) {
  Dispatch dispatch = dispatch_of("// Loads: x rows in all.\n");
  EXPECT_EQ(loads_of_x(dispatch), Dim("n"));
  dispatch.repeat = 2;
  EXPECT_EQ(loads_of_x(dispatch), std::nullopt);
}

TEST(Loads, OfAnotherKernelCountWhereItRuns) {
  Dispatch dispatch = dispatch_of("// Loads: x 1.\n");
  const Dim few = 1 - min(floor_div(Dim("n"), 8), 1);
  dispatch.alternatives = {{few, {"few.wgsl", "// Loads: x ROWS.\n"}, {{"ROWS", int64_t{4}}}}};
  const Dim loads = *loads_of_x(dispatch);
  EXPECT_EQ(loads.value({{"n", 7}}), 32);
  EXPECT_EQ(loads.value({{"n", 8}}), 8);
}

TEST(Loads, MayBeSaidInThePrelude) {
  Dispatch dispatch = dispatch_of("fn main() {}");
  dispatch.prelude = {"alias T = f32;", "// Loads: x 2."};
  EXPECT_EQ(loads_of_x(dispatch), Dim(16));
}

TEST(Loads, OfKernelsInPlaceOfOneAnotherAreTheMost) {
  Dispatch dispatch = dispatch_of("// Loads: x 1.\n");
  dispatch.alternatives = {{Dim(1), {"wide.wgsl", "// Loads: x 4.\n"}, {}}};
  EXPECT_EQ(loads_of_x(dispatch), Dim(32));
  dispatch.alternatives[0].source.text = "";
  EXPECT_EQ(loads_of_x(dispatch), std::nullopt);
}

TEST(Loads, OfABufferItselfAreNoLoads) {
  EXPECT_EQ(loads_of_x(dispatch_of("// Loads: x 1.\nlet v = buffer_x[0];")), std::nullopt);
  EXPECT_EQ(loads_of_x(dispatch_of("// Loads: x 1.\nlet v = buffer_xs[0];")), Dim(8));
  Dispatch dispatch = dispatch_of("// Loads: x 1.\n");
  dispatch.operands[0].atomic = true;
  EXPECT_EQ(loads_of_x(dispatch), std::nullopt);
}

TEST(Loads, OfSeveralStepsAreNotOne) {
  const Dispatch dispatch = dispatch_of("// Loads: x 1.\n");
  Steps twice = dispatch;
  twice.add(dispatch);
  EXPECT_FALSE(only_load(twice, 0));
  Steps copied = dispatch;
  copied.add(Copy{0, 2});
  EXPECT_FALSE(only_load(copied, 0));
  Steps both = dispatch_of("// Loads: x 1.\n");
  std::get<Dispatch>(both.list[0].what).operands.push_back(operand("z", 0, {8}, Access::read));
  EXPECT_FALSE(only_load(both, 0));
}

}  // namespace
}  // namespace rlx
