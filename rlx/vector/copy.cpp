#include "rlx/vector/copy.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace rlx::vector {
namespace {

constexpr int64_t kBlock = 64;  // of the axis that runs along the source, in one unit

// to[j * to_step + i] = from[i * from_step + j], of `rows` i and `columns` j.
template <class T>
void transpose(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t rows,
               int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) to[j * to_step + i] = from[i * from_step + j];
}

using Four = uint32_t __attribute__((vector_size(16)));
void transpose4(const uint32_t* from, int64_t from_step, uint32_t* to, int64_t to_step) {
  Four row[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&row[i], from + i * from_step, sizeof(Four));
  const Four low = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5),
             low2 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5),
             high = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7),
             high2 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
  const Four column[4] = {__builtin_shufflevector(low, low2, 0, 1, 4, 5),
                          __builtin_shufflevector(low, low2, 2, 3, 6, 7),
                          __builtin_shufflevector(high, high2, 0, 1, 4, 5),
                          __builtin_shufflevector(high, high2, 2, 3, 6, 7)};
  for (int j = 0; j < 4; ++j) std::memcpy(to + j * to_step, &column[j], sizeof(Four));
}

// Tiles of a line of the cache on both sides, from blocks of four by four.
template <class T>
void transpose_tiles(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t rows,
                     int64_t columns) {
  constexpr int64_t kTile = 16;
  for (int64_t i = 0; i < rows; i += kTile)
    for (int64_t j = 0; j < columns; j += kTile) {
      const int64_t height = std::min(kTile, rows - i), width = std::min(kTile, columns - j);
      const T* a = from + i * from_step + j;
      T* b = to + j * to_step + i;
      if (!std::is_same_v<T, uint32_t> || height < kTile || width < kTile) {
        transpose(a, from_step, b, to_step, height, width);
        continue;
      }
      if constexpr (std::is_same_v<T, uint32_t>)
        for (int64_t y = 0; y < kTile; y += 4)
          for (int64_t x = 0; x < kTile; x += 4)
            transpose4(a + y * from_step + x, from_step, b + x * to_step + y, to_step);
    }
}

}  // namespace

bool Copy::make(const Axis* axes, size_t count, int64_t width) {
  width_ = width;
  count_ = 0;
  std::array<Axis, kMostAxes> all;
  size_t used = 0;
  bool is_empty = false;
  for (size_t i = 0; i < count; ++i) {
    is_empty |= axes[i].extent == 0;
    if (axes[i].extent == 1) continue;
    if (used == kMostAxes) return false;
    all[used++] = axes[i];
  }
  if (is_empty) {
    units_ = 0;
    return true;
  }
  // In the order of the target, and neighbours that run on as one.
  for (size_t i = 1; i < used; ++i)  // few, and std::stable_sort would allocate
    for (size_t k = i; k > 0 && all[k - 1].to < all[k].to; --k) std::swap(all[k - 1], all[k]);
  size_t merged = 0;
  for (size_t i = 0; i < used; ++i) {
    Axis& last = all[merged == 0 ? 0 : merged - 1];
    if (merged > 0 && last.from == all[i].from * all[i].extent &&
        last.to == all[i].to * all[i].extent)
      last = {last.extent * all[i].extent, all[i].from, all[i].to};
    else
      all[merged++] = all[i];
  }
  inner_ = merged > 0 ? all[merged - 1] : Axis{1, 1, 1};
  across_ = {};
  size_t taken = merged;  // which axis across_ is
  way_ = inner_.from == 1 && inner_.to == 1 ? Way::runs : Way::strided;
  if (way_ == Way::strided && inner_.to == 1)
    for (size_t i = 0; i + 1 < merged; ++i)
      if (all[i].from == 1) {
        taken = i;
        across_ = all[i];
        way_ = Way::transposed;
      }
  units_ = 1;
  for (size_t i = 0; i + 1 < merged; ++i) {
    if (i == taken) continue;
    outer_[count_++] = all[i];
    units_ *= all[i].extent;
  }
  unit_elements_ = inner_.extent;
  if (way_ == Way::transposed) {
    units_ *= (across_.extent + kBlock - 1) / kBlock;
    unit_elements_ *= std::min(kBlock, across_.extent);
  }
  return true;
}

template <class T>
void Copy::run_as(const T* from, T* to, Range units) const {
  const int64_t blocks = way_ == Way::transposed ? (across_.extent + kBlock - 1) / kBlock : 1;
  int64_t block = units.begin % blocks, rest = units.begin / blocks;
  std::array<int64_t, kMostAxes> at = {};  // counts along the outer axes
  for (size_t d = count_; d-- > 0; rest /= outer_[d].extent) {
    at[d] = rest % outer_[d].extent;
    from += at[d] * outer_[d].from;
    to += at[d] * outer_[d].to;
  }
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    if (way_ == Way::runs) {
      std::memcpy(to, from, static_cast<size_t>(inner_.extent) * sizeof(T));
    } else if (way_ == Way::strided) {
      for (int64_t i = 0; i < inner_.extent; ++i) to[i * inner_.to] = from[i * inner_.from];
    } else {
      const int64_t first = block * kBlock;
      transpose_tiles(from + first, inner_.from, to + first * across_.to, across_.to, inner_.extent,
                      std::min(kBlock, across_.extent - first));
    }
    if (++block < blocks) continue;
    block = 0;
    for (size_t d = count_; d-- > 0;) {
      from += outer_[d].from;
      to += outer_[d].to;
      if (++at[d] < outer_[d].extent) break;
      from -= at[d] * outer_[d].from;
      to -= at[d] * outer_[d].to;
      at[d] = 0;
    }
  }
}

void Copy::run(const void* from, void* to, Range units) const {
  if (units.count() <= 0) return;
  switch (width_) {
    case 1:
      return run_as(static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to), units);
    case 2:
      return run_as(static_cast<const uint16_t*>(from), static_cast<uint16_t*>(to), units);
    case 4:
      return run_as(static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to), units);
    default:
      return run_as(static_cast<const uint64_t*>(from), static_cast<uint64_t*>(to), units);
  }
}

}  // namespace rlx::vector
