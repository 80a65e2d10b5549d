// Tensors beyond what a device binds at once: a nest of loops is cut into shards, and a shard sees
// only a window of each operand.
#pragma once

#include <optional>
#include <vector>

#include "rlx/lower/site.h"

namespace rlx {

// Blocks of a nest. Outer dims are taken one by one, one dim in chunks, the inner ones whole.
struct Shards {
  Dim repeat = 1;
  Dims starts, extents;  // of a block, per dim of the nest; over the symbol that counts shards
  size_t chunked = 0;    // the dim that is taken in chunks
};

// Cuts a nest of `shape` so that the part of each operand that a block touches can be bound. The
// operands are views of the nest's shape. A chunk of the nest is a multiple of `multiple` elements.
// None where no block is small enough, or where only a binding can tell.
std::optional<Shards> cut(const Dims& shape, const std::vector<Operand>& operands, int64_t multiple,
                          const DeviceTraits& traits);

// What a block touches of an operand, and the element it starts with.
Operand::Window window_of(const Operand& operand, const Shards& shards);
Dim first_of(const Operand& operand, const Shards& shards);

// Whether the stride is negative. A stride that is an expression is negative where the view is
// reversed.
bool runs_backwards(const Dim& stride);

// The nest with neighbouring dims merged where every operand has them end to end.
void merge_dims(Dims& shape, std::vector<Operand>& operands);

// How many elements a shard may have so that every operand of `bytes` per element can be bound.
int64_t shard_elements(int64_t bytes, const DeviceTraits& traits);
// Can a value of this many elements always be bound whole? A symbol without a range counts as
// unbounded.
bool fits_binding(DType dtype, const Dims& shape, const DeviceTraits& traits,
                  const SymbolRanges& ranges = {});

}  // namespace rlx
