// Products over any dims.
#pragma once

#include <string>

#include "rlx/ir/value.h"

namespace rlx {

// Sums over the contracting dims of both, for each element of the batch dims. The result has the
// batch dims, then the other dims of a, then those of b.
struct DotDims {
  Ints a_contracting, b_contracting, a_batch = {}, b_batch = {};
};
Value dot_general(Value a, Value b, const DotDims& dims);
// NumPy's: "bij,bjk->bik", "ij,jk" (the result has the letters that occur once, in order), "ii->i",
// "...ij,...jk->...ik".
Value einsum(const std::string& equation, const Values& operands);

}  // namespace rlx
