#include "rlx/plan/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "rlx/compile/build_image.h"
#include "rlx/image/uses.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_loop.h"
#include "rlx/plan/slots.h"
#include "rlx/testing.h"

namespace rlx::detail {
namespace {

DeviceTraits gpu_traits() {
  DeviceTraits traits;
  traits.name = "test";
  traits.device_class = DeviceClass::software;
  return traits;
}

struct Planned {
  image::Image image;
  MemoryPlan plan;
};

Planned planned(const Graph& graph, const DeviceTraits& traits = gpu_traits()) {
  image::Image image = build_image(graph, traits);
  MemoryPlan plan = plan_memory(image, image::Cells(image.numbers));
  return {std::move(image), std::move(plan)};
}

std::vector<std::string> faults(const Planned& p) { return check_plan(p.image, p.plan); }

Graph chain() {
  Graph graph;
  Value y = graph.input("x", f32({8}));
  for (int i = 0; i < 4; ++i) y = softmax(y);  // which reads more of a row than it writes
  graph.output("y", y);
  return graph;
}

TEST(MemoryPlan, AChainAlternatesBetweenTwoSlots) {
  const Planned p = planned(chain());
  EXPECT_EQ(p.plan.slot_bytes, (std::vector<int64_t>{32, 32}));
  EXPECT_TRUE(faults(p).empty());
}

TEST(MemoryPlan, AnElementwiseResultTakesThePlaceOfAnOperandThatEnds) {
  Graph graph;
  graph.output("y", relu(tanh(exp(exp(graph.input("x", f32({8})))))));
  const Planned p = planned(graph);
  EXPECT_EQ(p.plan.slot_bytes, (std::vector<int64_t>{32}));
  EXPECT_TRUE(faults(p).empty());
}

TEST(MemoryPlan, ALargeSlotIsLeftToALargeValue) {
  Graph graph;
  const auto made = [&](const char* name, int64_t extent) {
    return softmax(graph.input(name, f32({extent})));
  };
  const Value a = made("a", 250), b = made("b", 120);
  graph.output("first", sum(a, {}) + sum(b, {}));
  const Value c = made("c", 150), d = made("d", 250);  // c would fit where a was
  graph.output("second", sum(d, {}) + sum(c, {}));
  const Planned p = planned(graph);
  EXPECT_EQ(p.plan.live_bytes / 100, (250 + 150) * 4 / 100);
  EXPECT_LE(p.plan.peak_bytes, p.plan.live_bytes + 16);
  EXPECT_TRUE(faults(p).empty());
}

// Levels of a U-Net: each keeps a value for the way back, half as large as the one before.
Graph levels() {
  Graph graph;
  Value x = graph.input("x", f32({4096}));
  std::vector<Value> kept;
  for (int64_t extent = 4096; extent >= 128; extent /= 2) {
    kept.push_back(softmax(x));
    x = slice(softmax(kept.back()), {0}, {extent / 2}, {0});
  }
  for (size_t i = kept.size(); i-- > 0;) x = softmax(concat({softmax(x), kept[i]}, 0));
  graph.output("y", x);
  return graph;
}

TEST(MemoryPlan, ValuesOfManySizesLieSideBySide) {
  // A device may not read and write one buffer in a step, which costs room.
  for (const auto& [traits, most] : {std::pair(DeviceTraits(), 1.02), {gpu_traits(), 1.25}}) {
    const Planned p = planned(levels(), traits);
    EXPECT_LE(double(p.plan.peak_bytes), most * double(p.plan.live_bytes)) << traits.name;
    EXPECT_TRUE(std::any_of(p.plan.offset_of.begin(), p.plan.offset_of.end(), [](int64_t offset) {
      return offset > 0;
    })) << traits.name;
    EXPECT_EQ(faults(p), std::vector<std::string>()) << traits.name;
  }
}

// As MobileNetV2 begins. No two slots are smaller: two of the values of 1.8 MB follow each other,
// and the largest is in one slot with one of them at most.
TEST(MemoryPlan, WhatASlotGrowsByLastIsPlacedEarlier) {
  const int64_t bytes[] = {1605632, 1605632, 802816, 4816896, 1204224, 301056,
                           1806336, 1806336, 301056, 1806336, 451584};
  Stays stays;
  SideBySide rules{.alignment = 256};
  for (size_t step = 0; step < std::size(bytes); ++step) {
    stays.push_back({bytes[step], step, step == 5 ? 8 : step + 1});  // a residual is read later
    rules.kept_apart.emplace_back();
  }
  const auto keep_apart = [&](size_t a, size_t b) {
    rules.kept_apart[a].push_back(b);
    rules.kept_apart[b].push_back(a);
  };
  for (size_t step = 1; step < stays.size(); ++step) keep_apart(step - 1, step);
  keep_apart(5, 8);
  EXPECT_EQ(side_by_side(stays, rules).total(), 4816896 + 1806336);
}

TEST(MemoryPlan, AValueReadLaterKeepsItsSlot) {
  Graph graph;
  const Value a = exp(graph.input("x", f32({8})));
  graph.output("y", softmax(softmax(a)) * a);
  const Planned p = planned(graph);
  EXPECT_EQ(p.plan.slot_bytes.size(), 3u);
  EXPECT_TRUE(faults(p).empty());
}

TEST(MemoryPlan, ViewsTakeNoMemory) {
  Graph graph;
  const Value x = exp(graph.input("x", f32({2, 6})));
  graph.output("y", relu(transpose(reshape(x, {3, 4}), {1, 0})));
  EXPECT_EQ(planned(graph).plan.slot_bytes, (std::vector<int64_t>{48, 48}));
}

TEST(MemoryPlan, ABoundedSymbolIsPlannedForItsBound) {
  Graph graph;
  const Dim n = graph.symbol("n", 100);
  graph.output("y", exp(graph.input("x", f32({n, 4}))));
  EXPECT_EQ(planned(graph).plan.slot_bytes, (std::vector<int64_t>{1600}));
}

TEST(MemoryPlan, AStateIsUpdatedInPlace) {
  Graph graph;
  const Value cache = graph.state("cache", f32({8, 4}));
  const Value next = write_slice(cache, graph.input("x", f32({1, 4})), graph.input("at", i64({2})));
  graph.update(cache, next);
  graph.output("y", exp(next));
  const Planned p = planned(graph);
  EXPECT_TRUE(faults(p).empty());
  const image::State& state = p.image.states[0];
  EXPECT_EQ(p.image.values[size_t(state.next)].place, state.value);
}

TEST(MemoryPlan, AStateReadLaterIsNotUpdatedInPlace) {
  Graph graph;
  const Value cache = graph.state("cache", f32({8, 4}));
  const Value next = write_slice(cache, graph.input("x", f32({1, 4})), graph.input("at", i64({2})));
  graph.update(cache, next);
  graph.output("y", exp(next));
  graph.output("old", exp(cache));
  const Planned p = planned(graph);
  EXPECT_TRUE(faults(p).empty());
  const image::State& state = p.image.states[0];
  EXPECT_EQ(p.image.values[size_t(state.next)].place, state.next);
}

// Each next to the one it is made of, as layers of a picture are.
TEST(MemoryPlan, ValuesOfManySizesHaveOneMiddleWhereMemoryAllows) {
  const Stays stays = {{1600, 0, 1}, {1600, 1, 2}, {800, 2, 3},
                       {4800, 3, 4}, {1200, 4, 5}, {640, 5, 6}};
  const Slots slots = around_middles(stays, 64, 6600);
  EXPECT_LE(slots.total(), 6600);
  for (size_t i = 0; i < stays.size(); ++i) {
    const int64_t middle = slots.offsets[i] + stays[i].bytes / 2,
                  wanted = slots.bytes[size_t(slots.of[i])] / 2;
    EXPECT_NEAR(double(middle), double(wanted), 64) << i;
    EXPECT_EQ(slots.offsets[i] % 64, 0) << i;
  }
}

// By the end of the run there may be much else.
TEST(MemoryPlan, ANextValueLivesUntilItsStateIsReadForTheLastTime) {
  for (const DeviceTraits& traits : {DeviceTraits(), gpu_traits()}) {
    Graph graph;
    const Value x = graph.input("x", f32({8, 8})), last = graph.state("last", f32({8, 8}));
    const Value next = softmax(x);
    Value y = matmul(next, last);
    for (int i = 0; i < 3; ++i) y = matmul(y, x);
    graph.update(last, next);
    graph.output("y", y);
    const Planned p = planned(graph, traits);
    EXPECT_EQ(faults(p), std::vector<std::string>());
    const image::State& state = p.image.states[0];
    const image::Life life = image::lives_of(p.image, p.image.run)[size_t(state.next)];
    ASSERT_GE(life.last, 2);
    EXPECT_TRUE(std::holds_alternative<image::Copy>(p.image.run[size_t(life.last)].what));
    EXPECT_EQ(p.image.run.size(), size_t(life.last) + 4) << "three products follow";
  }
}

TEST(MemoryPlan, AStateThatALoopReadsIsUpdatedBehindTheLoop) {
  Graph body;
  const Value i = body.input("i", i64({})), total = body.input("total", f32({4})),
              state = body.input("state", f32({4}));
  body.output("next", total + state * cast(i, DType::f32));
  Graph graph;
  const Value x = graph.input("x", f32({4})), last = graph.state("last", f32({4}));
  const Value next = softmax(x);
  const Value summed =
      graph.add(catalog().at("loop"), {graph.input("n", i64({})), next, last},
                {{"body", GraphPtr(std::make_shared<const Graph>(std::move(body)))},
                 {"captured", int64_t{1}}});
  graph.update(last, next);
  graph.output("y", softmax(softmax(summed)));
  const Planned p = planned(graph);
  EXPECT_EQ(faults(p), std::vector<std::string>());
  const image::State& of = p.image.states[0];
  int32_t copy = -1, back = -1;
  for (size_t at = 0; at < p.image.run.size(); ++at) {
    const auto* each = std::get_if<image::Copy>(&p.image.run[at].what);
    if (each && each->target.value == of.value) copy = static_cast<int32_t>(at);
    const auto* jump = std::get_if<image::Jump>(&p.image.run[at].what);
    if (jump && jump->target <= static_cast<int32_t>(at)) back = static_cast<int32_t>(at);
  }
  ASSERT_GE(back, 0);
  EXPECT_EQ(copy, back + 1);
  const auto& leave = std::get<image::Jump>(
      p.image.run[size_t(std::get<image::Jump>(p.image.run[size_t(back)].what).target)].what);
  EXPECT_EQ(leave.target, copy) << "whoever leaves the loop comes by";
}

TEST(MemoryPlan, WhatWidensWeightsOnceHasALimitForAllOfThem) {
  Graph graph;
  const Value x = graph.input("x", f32({1, 2048}));
  for (int i = 0; i < 6; ++i)  // 16 MB each as floats
    graph.output(
        text("y", i),
        matmul(x, cast(graph.weight(text("w", i), Tensor(DType::i8, {2048, 2048})), DType::f32)));
  const Planned p = planned(graph, DeviceTraits());
  int64_t bytes = 0;
  for (size_t v = 0; v < p.image.values.size(); ++v)
    if (p.image.values[v].kind == image::Kind::once) bytes += p.plan.bytes_of[v];
  EXPECT_EQ(bytes, int64_t{64} << 20);
  EXPECT_EQ(p.image.once.size(), 4u);
}

TEST(PlanChecker, FindsALiveValueOverwritten) {
  Graph graph;
  const Value a = exp(graph.input("x", f32({8})));
  graph.output("y", softmax(softmax(a)) * a);
  Planned p = planned(graph);
  for (int& slot : p.plan.slot_of)
    if (slot == 2) slot = 0;  // a softmax onto a, which mul reads
  ASSERT_FALSE(faults(p).empty());
  EXPECT_NE(faults(p)[0].find("overwritten"), std::string::npos) << faults(p)[0];
}

TEST(PlanChecker, FindsABufferReadAndWrittenInOneStep) {
  Planned p = planned(chain());
  for (int& slot : p.plan.slot_of)
    if (slot == 1) slot = 0;
  bool found = false;
  for (const std::string& fault : faults(p))
    found |= fault.find("in one buffer") != std::string::npos;
  EXPECT_TRUE(found);
}

TEST(PlanChecker, FindsAValueThatAnotherOverlaps) {
  Planned p = planned(levels(), DeviceTraits());
  ASSERT_TRUE(faults(p).empty());
  const auto highest = std::max_element(p.plan.offset_of.begin(), p.plan.offset_of.end());
  *highest -= 64;
  EXPECT_FALSE(faults(p).empty());
}

TEST(PlanChecker, FindsAnOffsetThatCannotBeBound) {
  Planned p = planned(chain());
  p.plan.slot_bytes[0] += 64;
  for (size_t v = 0; v < p.plan.slot_of.size(); ++v)
    if (p.plan.slot_of[v] == 0) p.plan.offset_of[v] = 4;
  ASSERT_FALSE(faults(p).empty());
  EXPECT_NE(faults(p)[0].find("begins at byte 4"), std::string::npos) << faults(p)[0];
}

// As they would be without the copies that lowering makes of a state's old value.
TEST(PlanChecker, FindsAStateThatIsReadAfterItsUpdate) {
  Graph graph;
  const Value first = graph.state("first", f32({2})), second = graph.state("second", f32({2}));
  graph.update(first, exp(graph.input("x", f32({2}))));
  graph.update(second, first);
  graph.output("old", first);
  Planned p = planned(graph);
  EXPECT_TRUE(faults(p).empty());
  const image::ValueId state = p.image.states[0].value;
  p.image.outputs[0].value = state;
  std::get<image::Copy>(p.image.run.back().what).source.value = state;  // the update of `second`
  EXPECT_EQ(faults(p),
            (std::vector<std::string>{"'second' is copied from state 'first' after its update",
                                      "output 'old' is state 'first' after its update"}));
}

TEST(PlanChecker, FindsASlotThatIsTooSmall) {
  Planned p = planned(chain());
  p.plan.slot_bytes[0] = 16;
  ASSERT_FALSE(faults(p).empty());
  EXPECT_NE(faults(p)[0].find("its slot 16"), std::string::npos);
}

TEST(PlanChecker, FindsAValueBeyondTheDevicesBuffers) {
  Planned p = planned(chain());
  p.image.traits.max_buffer_bytes = 16;
  EXPECT_FALSE(faults(p).empty());
}

TEST(MemoryPlan, SizesBeyondFourGibibytesAreRight) {
  Graph graph;
  graph.output("y", softmax(softmax(graph.input("x", f32({70000, 70000})))));
  EXPECT_EQ(planned(graph).plan.peak_bytes, int64_t{2} * 70000 * 70000 * 4);
}

TEST(MemoryPlan, SizesThatAreTooManyTogetherAreAnError) {
  for (const bool on_host : {true, false}) {
    Graph graph;
    const Value x = graph.input("x", f32({graph.symbol("n", int64_t{1} << 60, 1)}));
    const Value a = softmax(x), b = softmax(a), c = softmax(b);
    graph.output("y", softmax(a * b * c));
    EXPECT_NE(error_of([&] {
                planned(graph, on_host ? DeviceTraits() : gpu_traits());
              }).find("does not fit 64 bits"),
              std::string::npos);
  }
}

TEST(PlanChecker, FindsAFaultInWhatRunsOnce) {
  Graph graph;
  const Value w = graph.weight("w", Tensor(DType::f32, {8}));
  graph.output("y", graph.input("x", f32({8})) + softmax(softmax(w)) * softmax(w));
  Planned p = planned(graph);
  ASSERT_GE(p.image.once.size(), 2u);
  EXPECT_TRUE(faults(p).empty());
  std::swap(p.image.once.front(), p.image.once.back());
  ASSERT_FALSE(faults(p).empty());
  EXPECT_NE(faults(p)[0].find("before it is written"), std::string::npos) << faults(p)[0];
}

}  // namespace
}  // namespace rlx::detail
