#include "rlx/cli/bench_results.h"

#include <algorithm>
#include <cmath>

#include "rlx/base/text.h"
#include "rlx/cli/pages.h"
#include "rlx/cli/table.h"
#include "rlx/cli/tensor_print.h"

namespace rlx::cli {
namespace {

using BenchJson = nlohmann::ordered_json;

// The value that a share of all are at most, of values in order.
double percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const double at = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(std::max(at, 1.0)) - 1)];
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

BenchStart median_start(const std::vector<BenchStart>& starts) {
  const auto of = [&](double BenchStart::*part) {
    std::vector<double> values;
    for (const BenchStart& start : starts) values.push_back(start.*part);
    return median(values);
  };
  return {of(&BenchStart::load), of(&BenchStart::compile), of(&BenchStart::first)};
}

std::string fixed(double value, int digits) {
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
  return buffer;
}

// What a run takes of the machine, where it was measured.
struct Shares {
  bool known = false;
  double flops = 0, bytes = 0;
};
Shares shares_of(const BenchResults& results, const BenchLine& line, double microseconds) {
  const auto limits = results.limits.find(line.threads);
  if (line.device != "cpu" || limits == results.limits.end() || microseconds <= 0) return {};
  const double bytes = static_cast<double>(line.work.read + line.work.written);
  return {true, line.work.flops / (microseconds * 1e-6) / limits->second.flops,
          bytes / (microseconds * 1e-6) / limits->second.bytes};
}

std::string percent(const Shares& shares, double share) {
  return shares.known ? fixed(100 * share, share < 0.1 ? 1 : 0) + " %" : "-";
}

void print_figures(const BenchResults& results, std::ostream& out) {
  Table table{{"model", "batch", "threads", "program", "min", "median", "p90", "p99", "a second",
               "load", "compile", "first cold", "warm", "memory", "of peak", "of reads"},
              "lrrlrrrrrrrrrrrr"};
  for (const BenchLine& line : results.lines) {
    std::vector<const BenchFigures*> programs{&line.ours};
    for (const BenchFigures& peer : line.peers) programs.push_back(&peer);
    for (const BenchFigures* figures : programs) {
      const Latency time = latency_of(figures->runs);
      const BenchStart cold = median_start(figures->cold), warm = median_start(figures->warm);
      const Shares shares = shares_of(results, line, time.median);
      const bool first = figures == &line.ours;
      table.rows.push_back({first ? line.model : "", first ? text(line.batch) : "",
                            first ? (line.device == "cpu" ? text(line.threads) : line.device) : "",
                            figures->program, time_text(time.min), time_text(time.median),
                            time_text(time.p90), time_text(time.p99),
                            short_number(static_cast<double>(line.batch) * 1e6 / time.median),
                            time_text(cold.load), time_text(cold.compile), time_text(cold.all()),
                            time_text(warm.all()), bytes_text(figures->peak_bytes),
                            percent(shares, shares.flops), percent(shares, shares.bytes)});
    }
  }
  table.print(out, "");
}

// Theirs divided by ours: above 1, ours is faster.
struct Ratios {
  double median = 0, min = 0, first = 0;
};
Ratios ratios_of(const BenchFigures& ours, const BenchFigures& peer) {
  const Latency a = latency_of(ours.runs), b = latency_of(peer.runs);
  return {b.median / a.median, b.min / a.min,
          median_start(peer.cold).all() / median_start(ours.cold).all()};
}

void print_ratios(const BenchResults& results, std::ostream& out) {
  Table table{{"model", "batch", "threads", "peer", "by median", "by min", "first result",
               "difference", "allowed"},
              "lrrlrrrrr"};
  std::map<std::string, std::pair<double, int>> logs;  // by peer and threads
  for (const BenchLine& line : results.lines)
    for (size_t i = 0; i < line.peers.size(); ++i) {
      const BenchFigures& peer = line.peers[i];
      const Agreement& agreement = line.agreements[i];
      const Ratios ratios = ratios_of(line.ours, peer);
      auto& [sum, count] = logs[text(peer.program, ", ", line.threads, " threads")];
      sum += std::log(ratios.median);
      ++count;
      table.rows.push_back({line.model, text(line.batch), text(line.threads), peer.program,
                            fixed(ratios.median, 2), fixed(ratios.min, 2), fixed(ratios.first, 2),
                            short_number(agreement.difference) + (agreement.within() ? "" : " !"),
                            short_number(agreement.allowed)});
    }
  if (table.rows.empty()) return;
  out << "\ntheir time divided by ours: above 1, rlx is faster\n";
  table.print(out, "");
  for (const auto& [what, sum] : logs)
    out << "geometric mean by median, " << what << ": "
        << fixed(std::exp(sum.first / sum.second), 3) << '\n';
}

BenchJson start_json(const std::vector<BenchStart>& starts) {
  const BenchStart start = median_start(starts);
  return {{"load_us", start.load}, {"compile_us", start.compile}, {"first_us", start.first}};
}

// Few enough runs to draw, evenly from all, in the order they were.
std::vector<double> some_of(const std::vector<double>& runs) {
  constexpr size_t kMost = 200;
  std::vector<double> some;
  const size_t step = (runs.size() + kMost - 1) / kMost;
  for (size_t i = 0; i < runs.size(); i += std::max<size_t>(step, 1))
    some.push_back(std::round(runs[i] * 10) / 10);
  return some;
}

BenchJson figures_json(const BenchFigures& figures) {
  const Latency time = latency_of(figures.runs);
  return {{"program", figures.program},
          {"runs", time.runs},
          {"min_us", time.min},
          {"median_us", time.median},
          {"p90_us", time.p90},
          {"p99_us", time.p99},
          {"cold", start_json(figures.cold)},
          {"warm", start_json(figures.warm)},
          {"peak_bytes", figures.peak_bytes},
          {"some_runs_us", some_of(figures.runs)}};
}

BenchJson line_json(const BenchResults& results, const BenchLine& line) {
  const Shares shares = shares_of(results, line, latency_of(line.ours.runs).median);
  BenchJson json{{"model", line.model},      {"device", line.device},
                 {"threads", line.threads},  {"batch", line.batch},
                 {"flops", line.work.flops}, {"bytes", line.work.read + line.work.written}};
  if (shares.known) json["of_peak"] = shares.flops, json["of_reads"] = shares.bytes;
  json["programs"] = BenchJson::array({figures_json(line.ours)});
  for (size_t i = 0; i < line.peers.size(); ++i) {
    const Ratios ratios = ratios_of(line.ours, line.peers[i]);
    const Agreement& agreement = line.agreements[i];
    BenchJson peer = figures_json(line.peers[i]);
    peer["ratio_median"] = ratios.median;
    peer["ratio_min"] = ratios.min;
    peer["ratio_first"] = ratios.first;
    peer["difference"] =
        std::isfinite(agreement.difference) ? BenchJson(agreement.difference) : BenchJson();
    peer["allowed"] = agreement.allowed;
    json["programs"].push_back(std::move(peer));
  }
  return json;
}

}  // namespace

Latency latency_of(std::vector<double> runs) {
  std::sort(runs.begin(), runs.end());
  if (runs.empty()) return {};
  return {runs.size(), runs.front(), median(runs), percentile(runs, 0.9), percentile(runs, 0.99)};
}

void BenchFigures::add(const BenchAnswer& answer) {
  program = answer.program;
  runs.insert(runs.end(), answer.runs.begin(), answer.runs.end());
  cold.push_back(answer.cold);
  warm.push_back(answer.warm);
  peak_bytes = std::max(peak_bytes, answer.peak_bytes);
}

void print_results(const BenchResults& results, std::ostream& out) {
  const Machine& machine = results.machine;
  out << machine.processor << " (" << machine.isa << "), " << machine.cores << " cores, "
      << bytes_text(machine.memory_bytes) << ", " << machine.system << ", load "
      << fixed(machine.load, 1) << ", " << results.date << '\n';
  for (const auto& [threads, limits] : results.limits)
    out << threads << (threads == 1 ? " thread" : " threads")
        << " at most: " << fixed(limits.flops / 1e9, 0) << " GFLOP/s, reads of "
        << fixed(limits.bytes / 1e9, 1) << " GB/s\n";
  out << '\n';
  print_figures(results, out);
  print_ratios(results, out);
  for (const std::string& skipped : results.skipped) out << "left out: " << skipped << '\n';
}

BenchJson results_json(const BenchResults& results) {
  BenchJson limits = BenchJson::array(), lines = BenchJson::array();
  for (const auto& [threads, limit] : results.limits)
    limits.push_back({{"threads", threads}, {"flops", limit.flops}, {"read_bytes", limit.bytes}});
  for (const BenchLine& line : results.lines) lines.push_back(line_json(results, line));
  return {{"date", results.date},        {"revision", results.revision},
          {"note", results.note},        {"machine", machine_json(results.machine)},
          {"limits", std::move(limits)}, {"lines", std::move(lines)},
          {"left_out", results.skipped}};
}

std::string results_page(const BenchResults& results) {
  return page_with("bench_page.html", results_json(results));
}

}  // namespace rlx::cli
