// Pages of the system that are larger than the usual ones, for memory that is read all over again:
// fewer of them have to be looked up, which in a virtual machine takes long, and to be made.
#pragma once

#include <cstddef>

namespace rlx {

constexpr size_t kLargePage = size_t{1} << 21;

// Asks for them before the memory is written to first; where there are none, nothing changes.
// Memory that is smaller than two of them stays as it is.
void ask_for_large_pages(void* data, size_t bytes);

}  // namespace rlx
