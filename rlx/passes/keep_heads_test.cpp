#include "rlx/ops/ops_core.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

TEST(KeepHeads, HeadsThatAreBroughtBackStayInside) {
  EXPECT_EQ(after_pass(keep_heads, R"(%0 = input @"q" : f32[b, s, 3, 4]
%1 = input @"k" : f32[b, 3, t, 4]
%2 = transpose %0 order=[0, 2, 1, 3] : f32[b, 3, s, 4]
%3 = attention %2, %1, %1 : f32[b, 3, s, 4]
%4 = transpose %3 order=[0, 2, 1, 3] : f32[b, s, 3, 4]
output "y" %4
)"),
            R"(%0 = input @"q" : f32[b, s, 3, 4]
%1 = input @"k" : f32[b, 3, t, 4]
%2 = transpose %1 order=[0, 2, 1, 3] : f32[b, t, 3, 4]
%3 = transpose %1 order=[0, 2, 1, 3] : f32[b, t, 3, 4]
%4 = attention %0, %2, %3 causal=false empty_row="zero" heads=1 kv_heads=0 layout="bshd" scale=0.0 softcap=0.0 window=-1 : f32[b, s, 3, 4]
output "y" %4
)");
}

TEST(KeepHeads, MasksAndSinksComeAlong) {
  Graph graph;
  const Value q = graph.input("q", f32({2, 3, 5, 4}));
  const Value y = graph.add(catalog().at("attention"),
                            {q, q, q, graph.input("bias", f32({1, 1, 5, 5})),
                             graph.input("mask", boolean({5, 5})), graph.input("sink", f32({3}))},
                            {{"causal", true}});
  graph.output("y", transpose(y, {0, 2, 1, 3}));
  EXPECT_EQ(ops_after(keep_heads, graph), OpNames("transpose transpose transpose attention"));
}

TEST(KeepHeads, AnotherOrderAndASecondReaderStay) {
  for (const bool twice : {true, false}) {
    Graph graph;
    const Value q = graph.input("q", f32({2, 3, 3, 4}));
    const Value y = graph.add(catalog().at("attention"), {q, q, q});
    graph.output("y", transpose(y, twice ? Ints{0, 2, 1, 3} : Ints{0, 2, 3, 1}));
    if (twice) graph.output("z", exp(y));
    EXPECT_EQ(ops_after(keep_heads, graph),
              OpNames(twice ? "attention transpose exp" : "attention transpose"));
  }
}

}  // namespace
}  // namespace rlx
