// A result of a group may take the place of what its kernel reads element by element, and of
// nothing that a load reads elsewhere.

#include <gtest/gtest.h>

#include "rlx/codegen/group.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_cumulative.h"
#include "rlx/ops/ops_fused.h"

namespace rlx {
namespace {

// The dispatches of a body over operands that lie in these values.
std::vector<Dispatch> lowered(Graph body, const std::vector<Operand>& operands) {
  Graph graph;
  Values inputs;
  for (const Operand& operand : operands)
    inputs.push_back(
        graph.input(text("x", inputs.size()), TensorType{operand.dtype, operand.shape}));
  const Node& node = fused(inputs, std::move(body))[0].producer();
  std::vector<Operand> results;
  ValueId next = 100;
  for (const TensorType& type : node.types) results.emplace_back(next++, type, Access::read);
  DeviceTraits traits;
  traits.device_class = DeviceClass::discrete;
  traits.max_binding_bytes = int64_t{1} << 27;
  traits.max_storage_buffers = 8;
  const Choices choices;
  const LowerSite site{node,
                       traits,
                       choices,
                       operands,
                       results,
                       [&](const TensorType&) { return next++; },
                       {},
                       [](const Operand& from, const Operand& to) -> Steps {
                         return Copy{from.value, to.value}; },
                       {},
                       {}};
  std::optional<Steps> steps = lower_group(site, *node.attrs.get<GraphPtr>("body"));
  EXPECT_TRUE(steps);
  std::vector<Dispatch> found;
  for (Step& step : steps ? steps->list : std::vector<Step>())
    if (auto* dispatch = std::get_if<Dispatch>(&step.what)) found.push_back(*dispatch);
  return found;
}
bool takes_place_of(const std::vector<Dispatch>& dispatches, ValueId value) {
  for (const Dispatch& dispatch : dispatches)
    for (const InPlace& pair : dispatch.in_place)
      if (pair.from == value) return true;
  return false;
}

const TensorType kRows{DType::f32, {6, 40}};

// A running total reads elements of its row that come before the one it stores.
TEST(GroupPlaces, WhatALoadAndTheStoreReadIsNotTaken) {
  Graph body;
  const Value x = body.input("x", kRows), residual = body.input("residual", kRows);
  body.output("y", cumsum(x * residual, 1) + residual);
  const auto made = lowered(std::move(body), {{1, kRows, Access::read}, {2, kRows, Access::read}});
  EXPECT_FALSE(takes_place_of(made, 1));
  EXPECT_FALSE(takes_place_of(made, 2));
}

TEST(GroupPlaces, WhatTheStoreAloneReadsMayBeTaken) {
  Graph body;
  const Value x = body.input("x", kRows), residual = body.input("residual", kRows);
  body.output("y", cumsum(x * x, 1) + residual);
  const auto made = lowered(std::move(body), {{1, kRows, Access::read}, {2, kRows, Access::read}});
  EXPECT_FALSE(takes_place_of(made, 1));
  EXPECT_TRUE(takes_place_of(made, 2));
}

// The kernel writes a block into the value it was given, which the load of the block reads as well.
TEST(GroupPlaces, WhatALoadReadsIsNotUpdatedInPlace) {
  const TensorType block{DType::f32, {2, 40}};
  const auto made = [&](ValueId of_block) {
    Graph body;
    const Value x = body.input("x", kRows), part = body.input("part", block);
    const Value starts = body.constant(Tensor::of(DType::i64, {2}, {1, 0}));
    body.output("y", write_slice(x, part * part, starts));
    return lowered(std::move(body), {{1, kRows, Access::read}, {of_block, block, Access::read}});
  };
  EXPECT_TRUE(takes_place_of(made(2), 1));
  EXPECT_FALSE(takes_place_of(made(1), 1));
}

}  // namespace
}  // namespace rlx
