#include "rlx/cli/trace.h"

#include <algorithm>

namespace rlx::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kProcess = 1;
enum Track { run_track = 1, dispatch_track = 2, host_track = 3 };

Json track_name(Track track, const std::string& name) {
  return {{"name", "thread_name"},
          {"ph", "M"},
          {"pid", kProcess},
          {"tid", int{track}},
          {"args", {{"name", name}}}};
}

Json event(Track track, const std::string& name, double start, double microseconds, Json args) {
  args["measured"] = microseconds >= 0;
  return {{"name", name},           {"ph", "X"},   {"pid", kProcess},
          {"tid", int{track}},      {"ts", start}, {"dur", std::max(microseconds, 0.0)},
          {"args", std::move(args)}};
}

}  // namespace

Json trace_json(const RunReport& report) {
  Json events = Json::array();
  events.push_back({{"name", "process_name"},
                    {"ph", "M"},
                    {"pid", kProcess},
                    {"args", {{"name", "rlx on " + report.device}}}});
  events.push_back(track_name(run_track, "run"));
  events.push_back(track_name(dispatch_track, "dispatches"));
  events.push_back(track_name(host_track, "steps on the host"));
  events.push_back(event(run_track, "run", 0, report.microseconds, {{"device", report.device}}));
  double start = 0;
  for (const DispatchReport& dispatch : report.dispatches) {
    events.push_back(event(dispatch_track, dispatch.kernel, start, dispatch.microseconds,
                           {{"node", dispatch.node},
                            {"shape", dispatch.shape},
                            {"workgroups", dispatch.workgroups},
                            {"bytes", dispatch.bytes}}));
    start += std::max(dispatch.microseconds, 0.0);
  }
  start = 0;
  for (const HostStepReport& step : report.host_steps) {
    events.push_back(event(host_track, step.op, start, step.microseconds,
                           {{"node", step.node}, {"reason", step.reason}}));
    start += std::max(step.microseconds, 0.0);
  }
  return {
      {"traceEvents", std::move(events)},
      {"displayTimeUnit", "ms"},
      {"otherData", {{"note", "durations are measured; events of a track are laid end to end"}}}};
}

}  // namespace rlx::cli
