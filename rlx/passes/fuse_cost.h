// What it saves and costs to compute a value where a kernel loads it, and whether that is worth it.
#pragma once

#include <string>

#include "rlx/base/device_traits.h"
#include "rlx/ir/graph.h"

namespace rlx {

struct ComputedLoad {
  Dim elements;           // of the value
  Dim loads;              // of single elements of it, by the kernel
  double operations = 0;  // to compute one
  double bytes_read = 0;  // of operands, for each
  double bytes = 0;       // of an element
  bool stored = false;  // the value is read elsewhere as well, and computed once more to be stored
};

struct Verdict {
  bool taken = false;
  std::string reason;  // both sides of it, in numbers
};

// Symbols count as their bound, or as a usual extent where they have none.
Verdict judge(const ComputedLoad& load, const DeviceTraits& traits, const SymbolRanges& symbols);

// About how many operations of arithmetic an op on single elements takes.
double operations_of(const Node& node);

}  // namespace rlx
