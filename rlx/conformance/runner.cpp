#include "rlx/conformance/runner.h"

#include <algorithm>
#include <set>

#include "rlx/conformance/case_data.h"
#include "rlx/ir/evaluate.h"
#include "rlx/runtime/internals.h"

namespace rlx {

using namespace detail;
namespace {

using Fill = CaseInput::Fill;

// The reference's results when subnormal operands count as zeros, which devices may do.
TensorMap flushed_reference(const CaseGraph& built) {
  TensorMap flushed;
  for (const auto& [name, tensor] : built.inputs) flushed[name] = without_subnormals(tensor);
  return evaluate(built.graph, flushed).outputs;
}

std::string host_reasons(const RunReport& report) {
  std::set<std::string> reasons;
  for (const HostStepReport& step : report.host_steps)
    // Numbers that a run reads back compute nothing. Most reasons begin with the op they are about.
    if (!step.reason.empty() && step.op != "fetch")
      reasons.insert(step.reason.rfind(step.op, 0) == 0 ? step.reason
                                                        : text(step.op, ": ", step.reason));
  return joined(reasons, "; ");
}

CaseResult refused(const Error& error) {
  const bool limit = error.kind() == ErrorKind::limit;
  if (limit || error.kind() == ErrorKind::unsupported)
    return {Outcome::refused, error.what(), limit};
  return {Outcome::fail, error.what()};
}

CaseResult compare_outputs(const OpCase& row, const OpSet& ops, const CaseGraph& built,
                           const TensorMap& outputs, bool may_flush) {
  const Tolerance tolerance = tolerance_of(row, ops);
  const TensorMap wanted = evaluate(built.graph, built.inputs).outputs;
  bool special = false;
  for (const CaseInput& input : row.inputs) special |= input.fill == Fill::special;
  TensorMap flushed;
  if (special && may_flush) flushed = flushed_reference(built);
  for (const auto& [name, want] : wanted) {
    const auto otherwise = flushed.find(name);
    const Tensor& got = outputs.at(name);
    if (const auto mismatch = compare(got, want, tolerance,
                                      otherwise == flushed.end() ? nullptr : &otherwise->second))
      return {Outcome::fail, mismatch->at < 0
                                 ? text(name, " is ", got.type(), ", it should be ", want.type())
                                 : text(name, ' ', want.type(), ": ", mismatch->message())};
  }
  return {};
}

}  // namespace

const char* name(Outcome outcome) {
  constexpr const char* kNames[] = {"pass", "fail", "host", "refused"};
  return kNames[static_cast<size_t>(outcome)];
}

CaseGraph case_graph(const OpCase& row, const OpSet& ops) {
  CaseGraph built;
  const std::vector<std::optional<Tensor>> data = case_data(row);
  for (size_t i = 0; i < data.size(); ++i) {
    const std::string name = text("in", i);
    built.operands.push_back(data[i] ? built.graph.input(name, row.inputs[i].type) : Value{});
    if (data[i]) built.inputs.emplace(name, *data[i]);
  }
  if (row.compose) {
    built.results = row.compose(built.operands);
  } else {
    const Value first = built.graph.add(ops.at(row.op), built.operands, row.attrs, "case");
    const size_t results = first.producer().types.size();
    for (size_t r = 0; r < results; ++r) built.results.push_back(first.of(static_cast<int>(r)));
  }
  for (size_t r = 0; r < built.results.size(); ++r)
    built.graph.output(text("out", r), built.results[r]);
  return built;
}

Tolerance tolerance_of(const OpCase& row, const OpSet& ops) {
  constexpr Accuracy kComposition{16};
  const Accuracy accuracy = row.compose ? kComposition : ops.at(row.op)->accuracy;
  return {accuracy.ulps, std::max<int64_t>(row.terms, 1), row.slack, accuracy.absolute};
}

CaseResult run_case(const OpCase& row, const OpSet& ops, const Device& device, bool optimise) {
  try {
    const CaseGraph built = case_graph(row, ops);
    const Program program = compile(built.graph, {.device = device, .optimise = optimise});
    const std::vector<std::string> faults =
        check_plan(detail::image_of(program), detail::memory_plan(program, row.symbols));
    if (!faults.empty()) return {Outcome::fail, faults[0]};
    RunReport report;
    RunOptions options;
    options.report = &report;
    const TensorMap outputs = program.run(built.inputs, options).tensors;
    CaseResult result = compare_outputs(row, ops, built, outputs, !device.is_cpu());
    const std::string reasons = device.is_cpu() ? "" : host_reasons(report);
    if (result.outcome == Outcome::pass && !reasons.empty()) result = {Outcome::host, reasons};
    return result;
  } catch (const Error& error) {
    return refused(error);
  } catch (const std::exception& error) {
    return {Outcome::fail, error.what()};
  }
}

}  // namespace rlx
