// What a mixture of experts reads of its weights on a device, counted while it runs.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include "rlx/compile/build_image.h"
#include "rlx/conformance/count_loads.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_experts.h"
#include "rlx/runtime/internals.h"
#include "rlx/runtime/program.h"
#include "rlx/tensor/blocks/format.h"

namespace rlx {
namespace {

constexpr int64_t kExperts = 64, kWidth = 64, kHidden = 96, kPerToken = 2, kTile = 32;
constexpr int64_t kSome[] = {3, 17, 40, 41, 62};
constexpr int64_t kMatrix = kHidden * kWidth;  // elements of each of an expert's weights

using Experts = std::set<int64_t>;

Tensor logits(int64_t tokens, Experts& chosen) {
  Tensor scores(DType::f32, {tokens, kExperts});
  for (int64_t t = 0; t < tokens; ++t)
    for (const int64_t later : {0, 2}) {
      const int64_t expert = kSome[static_cast<size_t>(t + later) % std::size(kSome)];
      scores.set(t * kExperts + expert, static_cast<double>(9 - later));
      chosen.insert(expert);
    }
  return scores;
}

// Of fp8 a word has four elements and is loaded once for them, so what is loaded can be counted in
// matrices.
Graph mixture(bool in_blocks) {
  Graph graph;
  const auto weight = [&](const char* name, int64_t inner, int64_t outer) {
    return graph.weight(name, in_blocks ? Tensor(DType::u8, {kExperts, outer, inner})
                                        : Tensor(DType::f32, {kExperts, inner, outer}));
  };
  const Value x = graph.input("x", f32({"tokens", kWidth})),
              scores = graph.input("scores", f32({"tokens", kExperts}));
  graph.output("y", mixture_of_experts(x, softmax_gate(scores, kPerToken),
                                       {.gate = weight("gate", kWidth, kHidden),
                                        .up = weight("up", kWidth, kHidden),
                                        .down = weight("down", kHidden, kWidth),
                                        .format = in_blocks ? "fp8_e4m3" : ""}));
  return graph;
}

// Runs a mixture of so many tokens for each in turn, once for each of its products, of which one at
// a time counts; `check` is given how many matrices that has read, and how many were chosen.
using Check = std::function<void(int64_t tokens, int64_t read, int64_t chosen)>;
void check_on(const Device& device, bool in_blocks, const std::vector<int64_t>& tokens,
              const Check& check) {
  const OpSet ops = catalog();
  const Graph graph = mixture(in_blocks);
  const Lowered lowered = detail::lower_graph(graph, device.traits());
  const int64_t loads = in_blocks ? kMatrix / 4 : kMatrix;
  int products = 0;
  for (size_t i = 0; i < lowered.steps.list.size(); ++i) {
    Lowered counting = lowered;
    auto* product = std::get_if<Dispatch>(&counting.steps.list[i].what);
    if (!product || product->kernel.name.find("grouped_matmul") == std::string::npos) continue;
    Dispatch counted = *product;
    count_loads(counting, counted, "w", device.traits(), {kExperts, loads});
    std::get<Dispatch>(counting.steps.list[i + 1].what) = counted;  // behind the count's clearing
    const Image image = detail::image_of(detail::build_image(counting, device.traits()));
    const Program program = prepare(device, image, ops);
    ++products;
    for (const int64_t some : tokens) {
      SCOPED_TRACE(text(device.name(), ", tokens: ", some));
      Experts chosen, read;
      const Tensor scores = logits(some, chosen);
      const Tensor counts =
          program.run({{"x", Tensor(DType::f32, {some, kWidth})}, {"scores", scores}}).at(kLoads);
      for (int64_t e = 0; e < kExperts; ++e)
        if ((counts.integer_at(1 + e / 32) >> (e % 32) & 1) != 0) read.insert(e);
      EXPECT_EQ(read, chosen);
      EXPECT_EQ(counts.integer_at(0) % loads, 0);
      check(some, counts.integer_at(0) / loads, static_cast<int64_t>(chosen.size()));
    }
  }
  EXPECT_EQ(products, 3);
}

void check_devices(bool in_blocks, const std::vector<int64_t>& tokens, const Check& check) {
  for (const Device& device : test_devices())
    if (!device.is_cpu()) check_on(device, in_blocks, tokens, check);
}

TEST(ExpertsLoads, BlocksOfTheChosenAreReadOnceForATileOfSortedRows) {
  constexpr int64_t kFew = 8;  // rows, each of which reads its own
  check_devices(true, {1, 4, 5, 40, 150}, [](int64_t tokens, int64_t read, int64_t chosen) {
    const int64_t rows = tokens * kPerToken;
    if (rows <= kFew)
      EXPECT_EQ(read, rows);
    else
      EXPECT_LE(read, chosen + rows / kTile);
  });
}

// Of few rows, four at a time: once where they name one expert, else once each.
TEST(ExpertsLoads, FloatsOfTheChosenAreReadOnceForATileOfSortedRows) {
  constexpr int64_t kFew = 8;
  check_devices(false, {1, 4, 5, 40, 150}, [](int64_t tokens, int64_t read, int64_t chosen) {
    const int64_t rows = tokens * kPerToken;
    EXPECT_LE(read, rows <= kFew ? rows : chosen + rows / kTile);
  });
}

}  // namespace
}  // namespace rlx
