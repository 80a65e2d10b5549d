// What the calls of a program hold beside its values is known before it runs: by rows of all ops,
// whose operands but the first are weights.
#include <gtest/gtest.h>

#include <algorithm>

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/runner.h"
#include "rlx/ops/catalog.h"
#include "rlx/runtime/internals.h"

namespace rlx {
namespace {

class HoldingsOfRows : public testing::TestWithParam<CaseFamily> {};
INSTANTIATE_TEST_SUITE_P(Families, HoldingsOfRows, testing::ValuesIn(case_families()),
                         [](const auto& info) { return info.param.name; });

TEST_P(HoldingsOfRows, AreWhatARunThenHolds) {
  const OpSet ops = catalog();
  for (const OpCase& row : GetParam().rows()) {
    if (row.compose) continue;
    Graph graph;
    Values operands;
    TensorMap inputs;
    const std::vector<std::optional<Tensor>> data = case_data(row);
    for (size_t i = 0; i < data.size(); ++i) {
      const std::string name = text("in", i);
      if (!data[i]) {
        operands.emplace_back();
      } else if (const auto& host = ops.at(row.op)->host_inputs;
                 std::count(host.begin(), host.end(), i) != 0) {
        operands.push_back(graph.constant(*data[i]));
      } else if (i > 0) {
        operands.push_back(graph.weight(name, *data[i]));
      } else {
        operands.push_back(graph.input(name, row.inputs[i].type));
        inputs.emplace(name, *data[i]);
      }
    }
    const Value first = graph.add(ops.at(row.op), operands, row.attrs, "case");
    for (size_t r = 0; r < first.producer().types.size(); ++r)
      graph.output(text("out", r), first.of(static_cast<int>(r)));
    const Device device;
    try {
      const Program program = compile(graph, {.device = device});
      const image::Holdings known = detail::holdings_of(device, program.image(), ops, row.symbols);
      RunReport report;
      RunOptions options;
      options.report = &report;
      program.run(inputs, options);
      EXPECT_EQ(known.packed_bytes(), report.packed_bytes) << describe(row);
      EXPECT_EQ(known.widened_bytes(), report.widened_bytes) << describe(row);
    } catch (const Error& error) {
      ADD_FAILURE() << describe(row) << ": " << error.what();
    }
  }
}

}  // namespace
}  // namespace rlx
