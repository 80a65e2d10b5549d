// Elements in other places, beside the views of ops_core.h.
#pragma once

#include <string>

#include "rlx/ir/value.h"

namespace rlx {

Value expand(Value x, Value shape);  // an integer tensor, known at run time
Value tile(Value x, const Dims& repeats);
Value tile(Value x, Value repeats);
Value reverse(Value x, const Ints& axes);
Value roll(Value x, const Ints& shifts, const Ints& axes);
Value depth_to_space(Value x, int64_t block, const std::string& mode = "DCR");
Value space_to_depth(Value x, int64_t block);

}  // namespace rlx
