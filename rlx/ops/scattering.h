// What the scatter ops share: how an update is combined with the element at its place.
#pragma once

#include "rlx/ops/places.h"

namespace rlx {

// The updates as [outer, steps, inner]. Only updates of one column can have the same place, except
// where the indices are tuples.
struct Scattering {
  Places places;
  Dim columns, steps, inner;
};

// What one of these ops adds to that: how its indices name places.
struct ScatterForm {
  const char *name, *onnx;
  const char* attr;  // an integer of which the places depend
  Types (*infer)(const InferSite&);
  std::vector<int64_t> (*places)(const ReferenceSite&);  // of each element of the updates
  Scattering (*scattering)(const LowerSite&);
  Value (*gather)(Value x, Value indices, int64_t attr);  // reads what the op writes
};
// Kernels: 0 takes updates in order, column by column; 1 takes all at once; 2 sorts them by place.
OpDef scatter_def(const ScatterForm& form);

// For infer: checks reduction and dtypes.
void check_scatter(const InferSite& site);

}  // namespace rlx
