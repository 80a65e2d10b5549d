// The references of ops as implementations of calls, so that an engine runs them, and a user's own,
// without seeing an op.
#pragma once

#include "rlx/image/call.h"
#include "rlx/ir/graph.h"

namespace rlx {

// `ops` must have what bodies of control flow use as well.
image::Implementations references(const OpSet& ops);

// For images from files, in which a call may be anything: an entry for each op, found as
// check_name() of its own, that does not run it but holds what a call is given to the op's shape
// rule.
image::Implementations call_checks(const OpSet& ops);

// Every op that a graph uses, in bodies too.
OpSet ops_of(const Graph& graph);

}  // namespace rlx
