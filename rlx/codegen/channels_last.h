// Tensors [batch, channels, ...] of the host whose channels lie innermost in memory: a call may
// give its result so, and others read it as a view.
#pragma once

#include "rlx/lower/site.h"

namespace rlx {

// How [batch, channels, ...] lies with its channels innermost, and the shape of that memory.
Layout channels_last_layout(const Dims& shape);
Dims channels_last_memory(const Dims& shape);

// Are there places beside each other whose channels could lie apart?
bool has_channels_last(const Dims& shape);
bool is_channels_last(const Operand& operand);

// Floats that tiles of the host hold, as f32 that is rounded to the dtype.
bool is_tile_float(DType dtype);
// Numbers that kernels of the host compute so: floats, bytes and the sums of their products.
bool flows_channels_last(DType dtype);
// Does a call give its result so, for operands that lie as these?
bool gives_channels_last(const CallTraits& traits, const Dims& result,
                         const std::vector<Operand>& operands);

}  // namespace rlx
