// The reference against values that rlx had no part in: tests/oracle/*.txt, of tools/make-oracle.
#include "rlx/conformance/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/runner.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/catalog.h"

namespace rlx {
namespace {

namespace fs = std::filesystem;

std::vector<OracleRow> stored_rows() {
  std::vector<OracleRow> all;
  for (const auto& entry : fs::directory_iterator(RLX_SOURCE_DIR "/tests/oracle")) {
    if (entry.path().extension() != ".txt") continue;
    std::ostringstream source;
    source << std::ifstream(entry.path()).rdbuf();
    for (OracleRow& row : parse_oracle(source.str(), entry.path().filename().string()))
      all.push_back(std::move(row));
  }
  return all;
}

// A row of op_cases and what it should give.
struct Checked {
  OpCase row;
  OracleRow want;
};

// Those whose operands and attributes are still what they were, and the rest of the stored ones.
struct Oracle {
  std::vector<Checked> rows;
  std::vector<OracleRow> stale;
};

Oracle oracle() {
  const OpSet ops = catalog();
  std::map<std::string, std::vector<OpCase>> by_name;  // more than one where attributes differ
  for (OpCase& row : op_cases()) by_name[describe(row)].push_back(std::move(row));
  Oracle all;
  for (OracleRow& want : stored_rows()) {
    const std::vector<OpCase>& rows = by_name[want.row];
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const OpCase& row) {
      return fingerprint(row, ops) == want.fingerprint;
    });
    if (found == rows.end())
      all.stale.push_back(std::move(want));
    else
      all.rows.push_back({*found, std::move(want)});
  }
  return all;
}

TensorMap reference_of(const OpCase& row, const OpSet& ops) {
  try {
    const CaseGraph built = case_graph(row, ops);
    return evaluate(built.graph, built.inputs).outputs;
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
    return {};
  }
}

void expect_agreement(const Checked& checked, const OpSet& ops) {
  SCOPED_TRACE(text(describe(checked.row), " (", checked.want.source, ")"));
  const TensorMap got = reference_of(checked.row, ops);
  ASSERT_EQ(got.size(), checked.want.results.size());
  for (size_t r = 0; r < checked.want.results.size(); ++r) {
    const Tensor &want = checked.want.results[r], &have = got.at(text("out", r));
    ASSERT_EQ(text(have.type()), text(want.type())) << "result " << r;
    const auto mismatch = compare(have, want, tolerance_of(checked.row, ops));
    EXPECT_FALSE(mismatch) << "result " << r << ": " << mismatch->message();
  }
}

TEST(Oracle, TheReferenceAgreesWithProgramsThatAreNotRlx) {
  const OpSet ops = catalog();
  for (const Checked& checked : oracle().rows) expect_agreement(checked, ops);
}

TEST(Oracle, IsOfTheRowsAsTheyAre) {
  for (const OracleRow& row : oracle().stale)
    ADD_FAILURE() << row.row << " has changed, or is gone: regenerate with tools/make-oracle "
                  << row.op;
}

TEST(Oracle, EveryOpAndCompositionHasAtLeastThreeRowsWithSomethingInThem) {
  std::map<std::string, int> rows;
  for (const OracleRow& row : stored_rows())
    rows[row.op] += std::any_of(row.results.begin(), row.results.end(),
                                [](const Tensor& result) { return result.count() > 0; });
  for (const OpCase& row : op_cases()) rows[row.op];
  for (const OpRef& op : catalog().all())
    if (op->family != "structure") rows[op->name];
  for (const auto& [op, count] : rows) EXPECT_GE(count, 3) << op << ": see tools/make-oracle";
}

TEST(Oracle, HasEveryAttributeOfEveryOpAtAnotherValueThanItsDefault) {
  const OpSet ops = catalog();
  std::set<std::pair<std::string, std::string>> seen;
  for (const Checked& checked : oracle().rows) {
    const CaseGraph built = case_graph(checked.row, ops);
    for (const Node& node : built.graph.nodes())
      for (const AttrSpec& spec : node.op->attrs)
        for (const auto& [name, value] : node.attrs)
          if (name == spec.name && !(spec.otherwise && *spec.otherwise == value))
            seen.emplace(node.op->name, name);
  }
  for (const OpRef& op : ops.all())
    for (const AttrSpec& spec : op->attrs)
      EXPECT_TRUE(op->family == "structure" || seen.count({op->name, spec.name}))
          << op->name << ": no row of tests/oracle sets " << spec.name;
}

TEST(Oracle, AFaultyFileNamesTheLine) {
  const auto message = [](const char* source) -> std::string {
    try {
      parse_oracle(source, "x.txt");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("# a comment\nrow"), "x.txt:2: the fingerprint is missing");
  EXPECT_EQ(message("op exp numpy\nrow 0 exp(f32[2])\nis f32[2]: 1"),
            "x.txt:3: a number is missing");
  EXPECT_EQ(message("op exp numpy\nrow 0 exp(f32[1])\nis f32[1]: 1 2"),
            "x.txt:3: more numbers than f32[1] has");
  EXPECT_EQ(message("values 1"), "x.txt:1: 'values' is not op, row or is");
}

TEST(Oracle, AnotherOperandGivesAnotherFingerprint) {
  const OpSet ops = catalog();
  const auto of = [&](double x, int64_t axis) {
    const Tensor operand = Tensor::of(DType::f32, {1, 2}, {x, 2});
    return fingerprint({"softmax", {given(operand)}, {{"axis", axis}}, "a row"}, ops);
  };
  EXPECT_EQ(of(1, 0), of(1, 0));
  EXPECT_NE(of(1, 0), of(1, 1));
  EXPECT_NE(of(1, 0), of(1.0000001, 0));
}

}  // namespace
}  // namespace rlx
