// Kernels whose file says only what one element of the result is, fn compute(i: u32) -> T: the
// stores around it, whole words of packed dtypes and shards of large results come from here.
#pragma once

#include "rlx/lower/site.h"

namespace rlx {

// A main that stores compute(i) for each i from params.first to params.end. Constants: PER_WORD
// when it stores whole words.
const char* main_of_each(bool words);

// Completes a dispatch whose kernel has compute(i) and may read any element of its operands. T is
// the compute type of the result.
Dispatch each_element(Dispatch dispatch, const Operand& result, const DeviceTraits& traits);

}  // namespace rlx
