// What a graph asks of a machine: arithmetic, and bytes that cannot be spared.
#pragma once

#include "rlx/ir/graph.h"

namespace rlx::cli {

struct Work {
  double flops = 0;               // a multiply-add is two; a view and a copy are none
  int64_t read = 0, written = 0;  // bytes of operands and of results

  Work& operator+=(const Work& other);
};

// The symbols of a graph's types: those given, and those its nodes define. What only a run can tell
// counts as 1.
SymbolValues all_symbols(const Graph& graph, SymbolValues symbols);
int64_t bytes_of_type(const TensorType& type, const SymbolValues& symbols);

// Bytes of a node's operands that it does not read: of experts that no row can name.
int64_t spared_bytes(const Graph& graph, const Node& node, const SymbolValues& symbols);
// Of one node, with what its bodies do; of two branches the one that is more.
Work work_of(const Graph& graph, const Node& node, const SymbolValues& symbols);
// Of a run: all its arithmetic, and each input, weight and output once; of experts those that rows
// can name.
Work work_of(const Graph& graph, const SymbolValues& symbols);

}  // namespace rlx::cli
