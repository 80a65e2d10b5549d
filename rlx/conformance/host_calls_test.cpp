// On the CPU these ops have code of their own however they are called. Their references are right
// as well, and slower by tens of times: no other test sees that a call went back to one.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/runner.h"
#include "rlx/ops/catalog.h"

namespace rlx {
namespace {

// By family of rows.
const std::map<std::string, std::set<std::string>> kOps = {
    {"blocks", {"quantised_gather", "quantised_grouped_matmul", "quantised_matmul"}},
    {"fft", {"fourier"}},
    {"losses", {"fake_quantise"}},
    {"points", {"nearest"}},
    {"search", {"argmax", "argmin", "cumprod", "cumsum", "sort"}},
    {"sequence", {"gated_delta_net", "selective_scan", "selective_scan_gradient"}},
    {"signal", {"fourier"}},
    {"splat", {"splat_raster", "splat_raster_gradient"}},
};

// Rows that may: of nothing, of what models do not have.
bool may_take_reference(const OpCase& row, const TensorMap& inputs) {
  const DType dtype = row.inputs[0].type.dtype;
  const bool is_rare = dtype == DType::boolean || dtype == DType::i16 || dtype == DType::u64;
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const auto& input) { return input.second.count() == 0; }) ||
         (is_rare && kOps.at("search").count(row.op) != 0) ||
         (row.op == "quantised_matmul" && row.inputs.size() == 4 &&
          !row.attrs.get_or("transpose_w", true));  // a gradient's, of bytes with zero points
}

TEST(HostCalls, TakeNoReference) {
  for (const CaseFamily& family : case_families()) {
    const auto ops = kOps.find(family.name);
    if (ops == kOps.end()) continue;
    std::set<std::string> seen;
    for (const OpCase& row : family.rows()) {
      if (!row.compose && !ops->second.count(row.op)) continue;
      const CaseGraph made = case_graph(row, catalog());
      if (may_take_reference(row, made.inputs)) continue;
      RunReport report;
      RunOptions options;
      options.report = &report;
      compile(made.graph).run(made.inputs, options);
      for (const auto& step : report.host_steps) {
        if (!ops->second.count(step.op)) continue;
        seen.insert(step.op);
        EXPECT_EQ(step.implementation.find("reference"), std::string::npos)
            << step.op << " of " << describe(row);
      }
    }
    EXPECT_EQ(seen, ops->second) << "rows of " << family.name;
  }
}

}  // namespace
}  // namespace rlx
