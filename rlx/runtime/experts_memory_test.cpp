// A mixture of experts reads blocks where they are: no step makes floats of a weight, and experts
// that no token chose do not matter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "rlx/conformance/device_test.h"
#include "rlx/image/uses.h"
#include "rlx/ops/ops_experts.h"
#include "rlx/runtime/image.h"
#include "rlx/runtime/memory_testing.h"
#include "rlx/runtime/program.h"
#include "rlx/tensor/blocks/format.h"

namespace rlx {
namespace {

constexpr int64_t kExperts = 64, kWidth = 64, kHidden = 96, kTokens = 2, kChosen = 2;
constexpr int64_t kBlock = 32, kBlockBytes = 34;  // of q8_0
constexpr int64_t kUpBytes = kExperts * kHidden * kWidth / kBlock * kBlockBytes;

// Token 0 chooses experts 5 and 6, token 1 experts 6 and 60.
bool is_chosen(int64_t expert) { return expert == 5 || expert == 6 || expert == 60; }
Tensor logits() {
  Tensor scores(DType::f32, {kTokens, kExperts});
  scores.set(5, 8);
  scores.set(6, 7);
  scores.set(kExperts + 6, 6);
  scores.set(kExperts + 60, 9);
  return scores;
}
Tensor tokens() {
  Tensor x(DType::f32, {kTokens, kWidth});
  for (int64_t i = 0; i < x.count(); ++i) x.set(i, static_cast<double>(i * 29 % 97 - 48) / 32);
  return x;
}
// Where `others` says so, all bytes of the experts that are not chosen are that.
Tensor experts(int64_t rows, int64_t inner, std::optional<uint8_t> others) {
  Tensor values(DType::f32, {kExperts, rows, inner});
  for (int64_t i = 0; i < values.count(); ++i)
    values.set(i, static_cast<double>(i * 37 % 101 - 50) / 200);
  Tensor blocks = encode_blocks(values, block_format("q8_0"));
  const auto bytes = blocks.mutable_data<uint8_t>();
  const size_t each = bytes.size() / kExperts;
  for (size_t i = 0; others && i < bytes.size(); ++i)
    if (!is_chosen(static_cast<int64_t>(i / each))) bytes[i] = *others;
  return blocks;
}

Graph mixture(std::optional<uint8_t> others = std::nullopt) {
  Graph graph;
  const Value x = graph.input("x", f32({kTokens, kWidth})),
              scores = graph.input("scores", f32({kTokens, kExperts}));
  const ExpertWeights weights{.gate = graph.weight("gate", experts(kHidden, kWidth, others)),
                              .up = graph.weight("up", experts(kHidden, kWidth, others)),
                              .down = graph.weight("down", experts(kWidth, kHidden, others)),
                              .format = "q8_0"};
  graph.output("y", mixture_of_experts(x, softmax_gate(scores, kChosen), weights));
  return graph;
}

class ExpertsMemory : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, ExpertsMemory, every_device(), device_name);

TEST_P(ExpertsMemory, EachWeightIsReadByOneStepAsTheBytesThatItIs) {
  const Program program = compile(mixture(), {.device = device()});
  const image::Image& image = detail::image_of(program);
  image::Cells cells = detail::cells_of(image, {});
  cells.evaluate();
  std::map<image::ValueId, int> readers;
  for (const image::Steps* steps : {&image.bind, &image.once, &image.run})
    for (const image::Step& step : *steps)
      for (const image::ValueId value : image::use_of(step, image.flag).reads)
        if (value >= 0) ++readers[value];
  int weights = 0;
  for (const auto& [value, steps] : readers) {
    const int64_t bytes = cells.at(image.values[static_cast<size_t>(value)].bytes);
    if (bytes < kUpBytes) continue;
    EXPECT_EQ(bytes, kUpBytes);  // gate, up and down have as many elements each
    EXPECT_EQ(steps, 1) << image.values[static_cast<size_t>(value)].name;
    ++weights;
  }
  EXPECT_EQ(weights, 3);
}

TEST_P(ExpertsMemory, NothingThatIsWrittenIsLargerThanTheRowsOfTheChosen) {
  const Program program = compile(mixture(), {.device = device()});
  const image::Image& image = detail::image_of(program);
  int64_t largest = 0;
  for (const auto& [value, bytes] : written_bytes(image)) largest = std::max(largest, bytes);
  EXPECT_EQ(largest, kTokens * kChosen * kHidden * 4);
  // All slots together have no room for one expert in floats.
  EXPECT_LT(detail::memory_plan(program, {}).peak_bytes, kHidden * kWidth * 4);
}

TEST_P(ExpertsMemory, ExpertsThatNobodyChoseMayBeNoNumbers) {
  const auto run = [&](std::optional<uint8_t> others) {
    const Program program = compile(mixture(others), {.device = device()});
    return program.run({{"x", tokens()}, {"scores", logits()}})["y"];
  };
  const Tensor wanted = run(std::nullopt), got = run(uint8_t{0xff});  // scales that are NaN
  for (int64_t i = 0; i < wanted.count(); ++i) {
    ASSERT_TRUE(std::isfinite(wanted.at(i)));
    ASSERT_EQ(got.at(i), wanted.at(i)) << i;
  }
}

}  // namespace
}  // namespace rlx
