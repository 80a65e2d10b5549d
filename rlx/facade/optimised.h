// The compiler's part of compile(), for our own program and the tests. It is not installed.
#pragma once

#include "rlx/passes/passes.h"
#include "rlx/runtime/program.h"

namespace rlx::detail {

// The graph that is lowered for a device; `passes` says what is to be told of them.
Graph optimised(const Graph& graph, const CompileOptions& options, PassOptions passes = {});

}  // namespace rlx::detail
