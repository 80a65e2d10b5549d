// A run as a trace that chrome://tracing and Perfetto show.
#pragma once

#include <nlohmann/json.hpp>

#include "rlx/base/report.h"

namespace rlx::cli {

// One track of dispatches and one of steps on the host. How long each took is measured; when it
// began is not, so each track lays its events end to end.
nlohmann::ordered_json trace_json(const RunReport& report);

}  // namespace rlx::cli
