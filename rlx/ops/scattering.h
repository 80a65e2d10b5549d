// What the ops that write elements where indices say share: how an update meets what is there.
#pragma once

#include <functional>

#include "rlx/ops/places.h"

namespace rlx {

// The updates as [outer, steps, inner]: only those of one column can meet at a place, but where the
// indices are tuples.
struct Scattering {
  Places places;
  Dim columns, steps, inner;
};

std::vector<AttrSpec> scatter_attrs(const char* more, Attr otherwise);
// Kernels: 0 takes updates in order, column by column; 1 takes all at once; 2 sorts them by place.
Variants scatter_variants();

// Checks reduction and dtypes; the shapes are the op's own.
void check_scatter(const InferSite& site);
void scatter_reference(const ReferenceSite& site, const std::vector<int64_t>& places);
Steps lower_scatter(const LowerSite& site, const Scattering& scattering);

// The op on other operands with the same indices, and the gather that reads what it writes.
struct ScatterPair {
  std::function<Value(Value x)> gather;
  std::function<Value(Value x, Value updates, const char* reduction)> scatter;
};
Gradients scatter_gradient(const GradientSite& site, const ScatterPair& pair);

}  // namespace rlx
