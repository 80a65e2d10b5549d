// What a reduction is to the devices: how elements become states, states are folded, and the last
// one becomes a result.
#pragma once

#include <string>
#include <vector>

#include "rlx/lower/site.h"

namespace rlx {

// A pair is (highest, sum of exp(x - highest)), which logsumexp folds.
enum class Fold { sum, product, highest, lowest, pair };

struct ReduceFormula {
  Fold fold = Fold::sum;
  std::string map = "v";     // WGSL: the state that an element v is
  std::string finish = "v";  // the result that the state v of n elements is
  bool averages = false;     // that is v / n, which may be in range where the sum is not
};

// Which axes an op's attribute `axes` names; none means all.
std::vector<bool> reduced_axes(std::string_view op, const Attrs& attrs, const TensorType& x);

Steps lower_reduction(const LowerSite& site, const ReduceFormula& formula);

}  // namespace rlx
