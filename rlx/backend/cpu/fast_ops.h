// The one table of this backend that names ops: faster implementations than the references, which
// may refuse what they were not made for.
#pragma once

#include <memory>

#include "rlx/image/call.h"

namespace rlx::detail {

struct CpuEngine;

// What the calls of those can do.
std::vector<CallTraits> call_traits();

// Does the first implementation take an operand at any address, where a file may have it?
bool reads_anywhere(const image::Call& call, size_t input);

// For a CPU device, whose engine this is; without one, on the calling thread, for what another
// device leaves to the host.
// `others` has what users brought: their functions of single elements run in tiles, too.
image::Implementations fast_implementations(std::shared_ptr<const CpuEngine> engine = nullptr,
                                            const image::Implementations& others = {});

}  // namespace rlx::detail
