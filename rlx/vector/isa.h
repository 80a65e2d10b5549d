// The instruction sets that the code of this folder is compiled for, side by side.
#pragma once

namespace rlx::vector {

enum class Isa { baseline, sse4, avx2, avx512 };  // in order: each processor has all below its best

// The best that this processor has and this build has code for.
Isa best_isa();
// Does this processor compute the widest vectors of an instruction set in two halves?
bool computes_in_halves(Isa isa);
const char* name_of(Isa isa);

}  // namespace rlx::vector
