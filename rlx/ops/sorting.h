// What sort and top_k share: both order the elements of each row and keep the first `keep` of them.
#pragma once

#include "rlx/lower/site.h"

namespace rlx {

struct Ordering {
  size_t axis = 0;
  bool descending = false;  // NaN counts as the largest
};

Variants sort_variants();
void sort_reference(const ReferenceSite& site, const Ordering& ordering);
Steps lower_sort(const LowerSite& site, const Ordering& ordering);

// An unsigned number for each element, in the elements' order, as the function sort_key of WGSL
// that includes lib/sort_key; equal elements, zeros of both signs and NaN have equal ones.
std::string sort_key_function(const LowerSite& site, DType dtype, bool descending = false);

// These numbers in order, and where each was; equal ones as they were.
struct SortedKeys {
  Steps steps;
  Operand keys, order;
  Dim first;  // element of these
};
SortedKeys sort_keys(const LowerSite& site, const Operand& x);

// The gradient of the values goes back to where they were.
Gradients sort_gradient(const GradientSite& site, size_t axis);

}  // namespace rlx
