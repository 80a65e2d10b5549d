#include "rlx/codegen/shards.h"

#include <algorithm>

namespace rlx {
namespace {

// The largest value of a stride; none where that is not known. A stride that is 0 in some runs
// counts with its value in the others.
std::optional<int64_t> longest(const Dim& stride) {
  const Interval range = stride.range({});
  if (range.high == kUnbounded || range.low == -kUnbounded) return std::nullopt;
  return std::max(range.high, -range.low);
}

// How many entries of dim `level` a block may have for this operand; 0: not even one fits.
std::optional<int64_t> most_entries(const Dims& shape, const Operand& operand, size_t level,
                                    const DeviceTraits& traits) {
  const int64_t bytes = std::max<int64_t>(device_storage(operand.dtype, traits).bytes, 1);
  // A binding starts at a multiple of the alignment, which may be before the window.
  const int64_t room = (traits.max_binding_bytes - traits.storage_alignment) / bytes;
  int64_t span = 1;
  for (size_t d = level + 1; d < shape.size(); ++d) {
    const Dim& stride = operand.layout.strides[d];
    if (stride.is(0)) continue;
    const std::optional<int64_t> step = longest(stride);
    if (!shape[d].is_number() || !step) return std::nullopt;
    span += (shape[d].number() - 1) * *step;
  }
  if (span > room) return 0;
  const Dim& stride = operand.layout.strides[level];
  const std::optional<int64_t> step = longest(stride);
  if (!step) return std::nullopt;
  return *step == 0 ? INT64_MAX : (room - span) / *step + 1;
}

}  // namespace

std::optional<Shards> cut(const Dims& shape, const std::vector<Operand>& operands, int64_t multiple,
                          const DeviceTraits& traits) {
  for (size_t level = 0; level < shape.size(); ++level) {
    // Single steps through the outer dims are expensive: only where it is known that they are
    // needed.
    if (level > 0 && !is_concrete(shape)) return std::nullopt;
    int64_t entries = INT64_MAX;
    for (const Operand& operand : operands) {
      const std::optional<int64_t> most = most_entries(shape, operand, level, traits);
      if (!most) return std::nullopt;
      entries = std::min(entries, *most);
    }
    if (entries == INT64_MAX) return std::nullopt;  // nothing depends on this dim
    Dim inner = 1;
    for (size_t d = level + 1; d < shape.size(); ++d) inner = inner * shape[d];
    if (!mod(inner, multiple).is(0)) entries = entries / multiple * multiple;
    if (entries == 0 || (level > 0 && !mod(inner * shape[level], multiple).is(0))) continue;

    Shards shards;
    shards.chunked = level;
    shards.extents = shape;
    shards.starts = Dims(shape.size(), Dim(0));
    const Dim chunks = ceil_div(shape[level], entries);
    shards.repeat = chunks;
    for (size_t d = 0; d < level; ++d) shards.repeat = shards.repeat * shape[d];
    const Dim shard = shards.repeat.is(1) ? Dim(0) : Dim(kShard);
    shards.starts[level] = (level > 0 ? mod(shard, chunks) : shard) * Dim(entries);
    shards.extents[level] = min(entries, shape[level] - shards.starts[level]);
    Dim outer = floor_div(shard, chunks);
    for (size_t d = level; d-- > 0;) {
      shards.starts[d] = d > 0 ? mod(outer, shape[d]) : outer;
      shards.extents[d] = 1;
      outer = floor_div(outer, shape[d]);
    }
    return shards;
  }
  return std::nullopt;
}

Dim first_of(const Operand& operand, const Shards& shards) {
  Dim first = operand.layout.offset;
  for (size_t d = 0; d < shards.starts.size(); ++d)
    first = first + shards.starts[d] * operand.layout.strides[d];
  return first;
}

bool runs_backwards(const Dim& stride) {
  const Interval range = stride.range({});
  return range.low < 0 && range.high <= 0;
}

Operand::Window window_of(const Operand& operand, const Shards& shards) {
  Dim lowest = first_of(operand, shards), span = 1;
  for (size_t d = 0; d < shards.starts.size(); ++d) {
    const Dim& stride = operand.layout.strides[d];
    const Dim reach = (shards.extents[d] - 1) * stride;
    const bool down = runs_backwards(stride);
    if (down) lowest = lowest + reach;
    span = down ? span - reach : span + reach;
  }
  return {lowest, span};
}

void merge_dims(Dims& shape, std::vector<Operand>& operands) {
  Dims merged;
  std::vector<Dims> strides(operands.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].is(1)) continue;
    bool joins = !merged.empty();
    for (size_t i = 0; i < operands.size() && joins; ++i)
      joins = strides[i].back() == operands[i].layout.strides[d] * shape[d];
    if (joins) {
      merged.back() = merged.back() * shape[d];
    } else {
      merged.push_back(shape[d]);
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      if (joins) strides[i].pop_back();
      strides[i].push_back(operands[i].layout.strides[d]);
    }
  }
  shape = merged;
  for (size_t i = 0; i < operands.size(); ++i) {
    operands[i].shape = merged;
    operands[i].layout.strides = std::move(strides[i]);
  }
}

int64_t shard_elements(int64_t bytes, const DeviceTraits& traits) {
  constexpr int64_t kStep = 256;  // keeps every window's start where any device can bind it
  const int64_t steps = traits.max_binding_bytes / bytes / kStep;
  if (steps == 0)
    fail(ErrorKind::limit, "this device binds at most ", traits.max_binding_bytes,
         " bytes, and the smallest shard has ", kStep * bytes);
  return steps * kStep;
}

bool fits_binding(DType dtype, const Dims& shape, const DeviceTraits& traits,
                  const SymbolRanges& ranges) {
  const Dim bytes = bytes_of(dtype, count(shape), traits);
  return bytes.range(ranges).high <= traits.max_binding_bytes;
}

}  // namespace rlx
