// rlx's own part of a benchmark: one model, in a process of its own.
#pragma once

#include "rlx/cli/bench_job.h"
#include "rlx/cli/commands.h"

namespace rlx::cli {

BenchAnswer measure(const BenchJob& job, Context& context);

}  // namespace rlx::cli
