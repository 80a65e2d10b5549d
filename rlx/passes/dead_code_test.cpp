#include "rlx/ir/text.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_core.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

TEST(DeadCode, WhatReachesNoOutputGoesAndInputsStay) {
  EXPECT_EQ(after_pass(dead_code, R"(%0 = input @"x" : f32[2]
%1 = input @"unread" : f32[3]
%2 = exp %0 : f32[2]
%3 = neg %2 : f32[2]
%4 = relu %0 : f32[2]
output "y" %4
)"),
            R"(%0 = input @"x" : f32[2]
%1 = input @"unread" : f32[3]
%2 = relu %0 : f32[2]
output "y" %2
)");
}

// Their names have the number of the node, so that no other has them and a file can be read again.
TEST(DeadCode, WhatARunTellsIsNamedAfterTheNodeWhereItIsNow) {
  Graph graph;
  const Value x = graph.input("x", f32({4}));
  exp(x);
  const Value ends = cast(sum(x), DType::i64);
  graph.output("y", range(scalar(ends, 0), ends, scalar(ends, 1)));
  const std::string text = print(dead_code.run(graph).graph);
  EXPECT_EQ(text.find("exp"), std::string::npos);
  EXPECT_EQ(print(parse(text, catalog())), text);
}

// A graph is copied by those that change it alone.
TEST(Passes, WhatChangesNothingMakesNoGraph) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3}));
  graph.output("y", matmul(exp(x), graph.weight("w", some_tensor({3, 4}))));
  for (const Pass* pass : pass_pipeline()) {
    Changing changing(std::as_const(graph));
    EXPECT_EQ(pass->function(changing, {}), 0) << pass->name;
    EXPECT_EQ(&*changing, &graph) << pass->name;
  }
}

}  // namespace
}  // namespace rlx
