// How many cores this process may compute on.
#pragma once

namespace rlx::vector {

// Cores, not their hardware threads, which share what multiplies; 1 or more.
int core_count();

}  // namespace rlx::vector
