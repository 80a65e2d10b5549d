#include "rlx/conformance/support.h"

#include <algorithm>
#include <iomanip>
#include <set>

#include "rlx/ir/graph.h"

namespace rlx {
namespace {

// The dtype a row stands for: that of its first operand that is data, and not merely a condition.
DType dtype_of(const OpCase& row, const OpDef* op) {
  DType dtype = DType::boolean;
  for (size_t i = 0; i < row.inputs.size(); ++i) {
    const bool host = op && std::count(op->host_inputs.begin(), op->host_inputs.end(), i) != 0;
    if (row.inputs[i].fill == CaseInput::Fill::absent || host) continue;
    dtype = row.inputs[i].type.dtype;
    if (dtype != DType::boolean) break;
  }
  return dtype;
}

// What happened to the rows of one op on one device, by dtype.
struct Tally {
  std::map<DType, std::map<Outcome, int64_t>> outcomes;
  std::map<Outcome, std::map<std::string, std::set<DType>>> reasons;

  void add(DType dtype, const CaseResult& result) {
    ++outcomes[dtype][result.outcome];
    if (result.outcome == Outcome::pass) return;
    const std::string first_line = result.detail.substr(0, result.detail.find('\n'));
    reasons[result.outcome][first_line].insert(dtype);
  }
  // Those that ran there as a rule and were never wrong. A cast of f64 to itself is not yet f64.
  std::vector<DType> passed() const {
    std::vector<DType> dtypes;
    for (auto [dtype, seen] : outcomes) {
      const int64_t elsewhere = seen[Outcome::host] + seen[Outcome::refused];
      if (seen[Outcome::pass] > elsewhere && seen[Outcome::fail] == 0) dtypes.push_back(dtype);
    }
    return dtypes;
  }
};

constexpr const char* kWords[] = {"passed", "failed", "on the host", "refused"};

// "f64 on the host of lavapipe, swiftshader (why)", the devices that say the same in one clause.
void add_notes(const std::vector<std::pair<std::string, Tally>>& tallies, std::string& note) {
  std::map<std::string, std::vector<std::string>> devices_by_clause;
  std::vector<std::string> order;
  for (const auto& [device, tally] : tallies)
    for (const auto& [outcome, reasons] : tally.reasons)
      for (const auto& [reason, dtypes] : reasons) {
        const std::string clause =
            text(joined(dtypes), ' ', kWords[static_cast<size_t>(outcome)], '\t', reason);
        if (!devices_by_clause.count(clause)) order.push_back(clause);
        devices_by_clause[clause].push_back(device);
      }
  for (const std::string& clause : order) {
    const size_t tab = clause.find('\t');
    if (!note.empty()) note += "; ";
    note += text(clause.substr(0, tab), " (", joined(devices_by_clause[clause]),
                 "): ", clause.substr(tab + 1));
  }
}

// An op of the catalogue, or a function made of such.
struct Subject {
  std::string name;
  OpRef op;  // null: a composition
  std::vector<const OpCase*> rows;
};

std::vector<Subject> subjects_of(const std::vector<OpCase>& rows, const OpSet& ops) {
  std::map<std::string, Subject> subjects;
  for (const OpCase& row : rows) {
    Subject& subject = subjects[row.op];
    subject.name = row.op;
    if (const OpRef* op = ops.find(row.op)) subject.op = *op;
    subject.rows.push_back(&row);
  }
  std::vector<Subject> list;
  for (auto& [name, subject] : subjects) list.push_back(std::move(subject));
  return list;
}

OpSupport describe(const Subject& subject) {
  if (subject.op)
    return {.name = subject.name,
            .family = subject.op->family,
            .rows = static_cast<int64_t>(subject.rows.size()),
            .gradient = static_cast<bool>(subject.op->gradient),
            .note = subject.op->gradient ? "" : "no gradient: " + subject.op->gradient_reason};
  const bool gradient = std::any_of(subject.rows.begin(), subject.rows.end(),
                                    [](const OpCase* row) { return row->gradient; });
  return {.name = subject.name,
          .family = "compositions",
          .rows = static_cast<int64_t>(subject.rows.size()),
          .gradient = gradient,
          .note = "made of other ops"};
}

}  // namespace

SupportTable support_table(const std::vector<OpCase>& rows, const OpSet& ops,
                           const std::vector<Device>& devices, const SupportOptions& options) {
  SupportTable table;
  for (const Device& device : devices) table.devices.push_back(device.name());
  size_t done = 0;
  for (const Subject& subject : subjects_of(rows, ops)) {
    OpSupport support = describe(subject);
    std::vector<std::pair<std::string, Tally>> tallies;
    for (const Device& device : devices) tallies.emplace_back(device.name(), Tally{});
    for (const OpCase* row : subject.rows) {
      const DType dtype = dtype_of(*row, subject.op.get());
      for (size_t d = 0; d < devices.size(); ++d) {
        const CaseResult result = run_case(*row, ops, devices[d]);
        tallies[d].second.add(dtype, result);
        if (options.details) options.details(*row, devices[d], false, result);
        if (options.gradients && has_gradient_check(*row, ops))
          options.details(*row, devices[d], true, check_gradient(*row, ops, devices[d]));
      }
      if (options.progress) options.progress(++done, rows.size());
    }
    for (const auto& [device, tally] : tallies) support.devices[device] = tally.passed();
    add_notes(tallies, support.note);
    table.ops.push_back(std::move(support));
  }
  return table;
}

std::string to_markdown(const SupportTable& table) {
  std::string out =
      "# Ops\n\nWhat works where, by dtype: made by `rlx ops --markdown` from what ran and was right. A "
      "composition\nis made of other ops and runs wherever they do. A dtype that a device lacks runs "
      "on the host, and the\nreport of a run says so; with `--strict` that is an error.\n\n";
  out += text("| op | family | ", joined(table.devices, " | "), " | gradient | note |\n");
  out += "|---|---|---|---|";
  for (size_t d = 0; d < table.devices.size(); ++d) out += "---|";
  out += '\n';
  for (const OpSupport& op : table.ops) {
    out += text("| `", op.name, "` | ", op.family, " | ");
    for (const std::string& device : table.devices)
      out += text(op.devices.at(device).empty() ? "–" : joined(op.devices.at(device), " "), " | ");
    out += text(op.gradient ? "yes" : "no", " | ", op.note, " |\n");
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, const SupportTable& table) {
  std::vector<std::vector<std::string>> lines{{"op", "family", "rows", "gradient"}};
  lines[0].insert(lines[0].end(), table.devices.begin(), table.devices.end());
  lines[0].emplace_back("note");
  for (const OpSupport& op : table.ops) {
    auto& line = lines.emplace_back(
        std::vector<std::string>{op.name, op.family, text(op.rows), op.gradient ? "yes" : "no"});
    for (const std::string& device : table.devices)
      line.push_back(op.devices.at(device).empty() ? "-" : joined(op.devices.at(device), " "));
    line.push_back(op.note);
  }
  std::vector<size_t> widths(lines[0].size(), 0);
  for (const auto& line : lines)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  for (const auto& line : lines) {
    for (size_t i = 0; i + 1 < line.size(); ++i)
      out << std::left << std::setw(static_cast<int>(widths[i] + 2)) << line[i];
    out << line.back() << '\n';
  }
  return out;
}

}  // namespace rlx
