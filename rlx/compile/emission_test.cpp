#include "rlx/compile/emission.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "rlx/compile/build_image.h"
#include "rlx/ops/ops_core.h"

namespace rlx::detail {
namespace {

// The only dispatch of softmax over rows of a symbolic count.
image::Dispatch softmax_of_rows(std::optional<int64_t> bound) {
  DeviceTraits traits;
  traits.device_class = DeviceClass::software;
  traits.max_binding_bytes = 1 << 20;
  Graph graph;
  if (bound) graph.symbol("n", *bound);
  graph.output("y", softmax(graph.input("x", f32({"n", 8}))));
  const image::Image image = build_image(graph, traits);
  for (const image::Step& step : image.run)
    if (const auto* dispatch = std::get_if<image::Dispatch>(&step.what)) return *dispatch;
  return {};
}

bool has_windows(const image::Dispatch& dispatch) {
  return std::any_of(dispatch.operands.begin(), dispatch.operands.end(),
                     [](const image::Bound& each) { return each.first != image::kNone; });
}

TEST(Emission, ASymbolWhoseBoundFitsOneBindingNeedsNoShards) {
  const image::Dispatch dispatch = softmax_of_rows(16384);
  ASSERT_EQ(dispatch.operands.size(), 2u);
  EXPECT_EQ(dispatch.repeat, image::kNone);
  EXPECT_FALSE(has_windows(dispatch));
}

TEST(Emission, ASymbolThatMayBeTooLargeForOneBindingIsTakenInShards) {
  for (const std::optional<int64_t> bound :
       {std::optional<int64_t>(40000), std::optional<int64_t>()}) {
    const image::Dispatch dispatch = softmax_of_rows(bound);
    ASSERT_EQ(dispatch.operands.size(), 2u);
    EXPECT_NE(dispatch.repeat, image::kNone);
    EXPECT_TRUE(has_windows(dispatch));
  }
}

}  // namespace
}  // namespace rlx::detail
