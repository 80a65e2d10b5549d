#include "rlx/cli/report_print.h"

#include <algorithm>

#include "rlx/base/text.h"
#include "rlx/cli/table.h"

namespace rlx::cli {
namespace {

void print_times(const Measured& measured, std::ostream& out) {
  const std::vector<double>& runs = measured.run_microseconds;
  out << "  compiled in " << time_text(measured.compile_microseconds);
  if (!runs.empty()) out << ", first run " << time_text(runs.front());
  if (runs.size() > 1) out << ", median of " << runs.size() << " runs " << time_text(median(runs));
  out << '\n';
}

void print_dispatches(const std::vector<DispatchReport>& dispatches, std::ostream& out) {
  if (dispatches.empty()) return;
  out << dispatches.size() << " dispatches\n";
  Table table{{"kernel", "node", "writes", "workgroups", "bytes", "time"}, "lllrrr"};
  double total = 0;
  for (const DispatchReport& dispatch : dispatches) {
    total += std::max(dispatch.microseconds, 0.0);
    table.rows.push_back({dispatch.kernel, dispatch.node, dispatch.shape, text(dispatch.workgroups),
                          bytes_text(dispatch.bytes), time_text(dispatch.microseconds)});
  }
  table.rows.push_back({"", "", "", "", "in all", total > 0 ? time_text(total) : "-"});
  table.print(out);
}

// On the CPU every step is one, and needs no reason.
void print_host_steps(const std::vector<HostStepReport>& steps, std::ostream& out) {
  if (steps.empty()) return;
  out << steps.size() << " steps on the host\n";
  const bool reasons = std::any_of(steps.begin(), steps.end(),
                                   [](const HostStepReport& step) { return !step.reason.empty(); });
  Table table{{"op", "node", "time", "by"}, "llrl"};
  if (reasons) table.header.emplace_back("why on the host");
  for (const HostStepReport& step : steps)
    table.rows.push_back(
        {step.op, step.node, time_text(step.microseconds), step.implementation, step.reason});
  table.print(out);
}

nlohmann::ordered_json counters_json(const Counters& counters) {
  return {{"runs", counters.runs},
          {"plans", counters.plans},
          {"pipelines", counters.pipelines},
          {"buffers", counters.buffers},
          {"bind_groups", counters.bind_groups},
          {"submits", counters.submits},
          {"uploads", counters.uploads},
          {"upload_bytes", counters.upload_bytes},
          {"readbacks", counters.readbacks},
          {"readback_bytes", counters.readback_bytes},
          {"dispatches", counters.dispatches},
          {"host_steps", counters.host_steps}};
}

// A time that was not measured is null.
nlohmann::ordered_json time_json(double microseconds) {
  if (microseconds < 0) return nullptr;
  return microseconds;
}

std::string moved(uint64_t times, uint64_t bytes, const char* what) {
  return text(times, ' ', what, times == 1 ? "" : "s", " (",
              bytes_text(static_cast<int64_t>(bytes)), ')');
}

}  // namespace

void print_report(const Measured& measured, std::ostream& out) {
  const RunReport& report = measured.report;
  const Counters& run = report.counters;
  out << "report of " << (measured.run_microseconds.size() > 1 ? "the last run" : "the run")
      << " on " << report.device << '\n';
  print_times(measured, out);
  out << "  memory: " << report.slots << " slots, " << bytes_text(report.peak_bytes)
      << " at the peak";
  if (report.weight_bytes > 0) out << ", weights " << bytes_text(report.weight_bytes);
  if (report.packed_bytes > 0) out << ", packed " << bytes_text(report.packed_bytes);
  if (report.widened_bytes > 0) out << ", widened " << bytes_text(report.widened_bytes);
  if (report.state_bytes > 0) out << ", state " << bytes_text(report.state_bytes);
  out << "\n  pipelines compiled: " << measured.total.pipelines << ", in this run " << run.pipelines
      << "; plans made: " << measured.total.plans << ", in this run " << run.plans << '\n';
  if (!report.caches.empty()) out << "  caches:";
  for (const CacheReport& cache : report.caches)
    out << (&cache == report.caches.data() ? " " : "; ") << cache.held << " of at most "
        << cache.most << ' ' << cache.of << ", " << cache.dropped << " dropped";
  if (!report.caches.empty()) out << '\n';
  if (!report.restored_states.empty())
    out << "  the device was lost, and went on from the snapshot of "
        << joined(report.restored_states) << '\n';
  out << "  " << moved(run.uploads, run.upload_bytes, "upload") << ", "
      << moved(run.readbacks, run.readback_bytes, "readback") << ", " << run.submits
      << " submits\n";
  print_dispatches(report.dispatches, out);
  print_host_steps(report.host_steps, out);
}

nlohmann::ordered_json report_json(const Measured& measured) {
  const RunReport& report = measured.report;
  nlohmann::ordered_json dispatches = nlohmann::ordered_json::array();
  for (const DispatchReport& dispatch : report.dispatches)
    dispatches.push_back({{"kernel", dispatch.kernel},
                          {"node", dispatch.node},
                          {"shape", dispatch.shape},
                          {"workgroups", dispatch.workgroups},
                          {"bytes", dispatch.bytes},
                          {"microseconds", time_json(dispatch.microseconds)}});
  nlohmann::ordered_json host_steps = nlohmann::ordered_json::array();
  for (const HostStepReport& step : report.host_steps)
    host_steps.push_back({{"op", step.op},
                          {"node", step.node},
                          {"reason", step.reason},
                          {"implementation", step.implementation},
                          {"microseconds", time_json(step.microseconds)}});
  nlohmann::ordered_json caches = nlohmann::ordered_json::object();
  for (const CacheReport& cache : report.caches)
    caches[cache.of] = {{"held", cache.held}, {"most", cache.most}, {"dropped", cache.dropped}};
  return {{"device", report.device},
          {"microseconds", report.microseconds},
          {"compile_microseconds", measured.compile_microseconds},
          {"run_microseconds", measured.run_microseconds},
          {"slots", report.slots},
          {"peak_bytes", report.peak_bytes},
          {"weight_bytes", report.weight_bytes},
          {"packed_bytes", report.packed_bytes},
          {"widened_bytes", report.widened_bytes},
          {"state_bytes", report.state_bytes},
          {"caches", std::move(caches)},
          {"restored_states", report.restored_states},
          {"run", counters_json(report.counters)},
          {"total", counters_json(measured.total)},
          {"dispatches", std::move(dispatches)},
          {"host_steps", std::move(host_steps)}};
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace rlx::cli
