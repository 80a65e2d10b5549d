#include "rlx/conformance/support.h"

#include <gtest/gtest.h>

#include "rlx/ir/graph.h"
#include "rlx/ops/catalog.h"

namespace rlx {
namespace {

const OpSupport& find(const SupportTable& table, const std::string& name) {
  for (const OpSupport& op : table.ops)
    if (op.name == name) return op;
  throw Error(ErrorKind::invalid_input, name);
}

OpCase row(const std::string& op, const CaseInput& x) { return {op, {x}, {}, "small"}; }

TEST(Support, ADtypeIsListedWhereItsRowsPass) {
  const std::vector<OpCase> rows{row("neg", normal(f32({3}))), row("neg", normal(i32({3}))),
                                 row("abs", normal(f16({3})))};
  const SupportTable table = support_table(rows, catalog(), {Device()});
  EXPECT_EQ(find(table, "neg").rows, 2);
  EXPECT_EQ(find(table, "neg").devices.at("cpu"), (std::vector{DType::f32, DType::i32}));
  EXPECT_EQ(find(table, "abs").devices.at("cpu"), (std::vector{DType::f16}));
  EXPECT_EQ(table.ops.size(), 2u);  // nothing is said of ops without rows
}

TEST(Support, AFailureIsANote) {
  OpSet ops;
  ops.add(std::make_shared<OpDef>(OpDef{
      .name = "broken",
      .family = "test",
      .infer = [](const InferSite& site) -> Types { return {site.in(0)}; },
      .reference = [](const ReferenceSite&) { fail(ErrorKind::device, "it broke"); },
      .gradient_reason = "it is broken",
  }));
  const SupportTable table = support_table({row("broken", normal(f32({3})))}, ops, {Device()});
  EXPECT_TRUE(table.ops[0].devices.at("cpu").empty());
  EXPECT_NE(table.ops[0].note.find("no gradient: it is broken"), std::string::npos);
  EXPECT_NE(table.ops[0].note.find("f32 failed (cpu): it broke"), std::string::npos)
      << table.ops[0].note;
}

}  // namespace
}  // namespace rlx
