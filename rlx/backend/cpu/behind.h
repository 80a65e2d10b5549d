// The tile of a call behind what its op has just written of the result and is still in the cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "rlx/backend/cpu/tile_program.h"

namespace rlx::detail {

class Behind {
 public:
  Behind() = default;
  Behind(std::shared_ptr<TileProgram> tile, size_t own_inputs)
      : tile_(std::move(tile)), own_inputs_(own_inputs) {}

  // How many of the inputs are the op's: the others are the tile's.
  size_t own(const std::vector<image::Argument>& inputs) const {
    return std::min(inputs.size(), own_inputs_);
  }

  // To be called first. False where the program cannot run behind this result: a kernel then
  // refuses the call.
  bool place(const image::CallSite& site) const {
    if (!tile_) return true;
    const Tensor& y = site.results[0];
    const size_t axes = y.shape().size();
    const size_t columns = !site.stored.empty() ? 1 : axes == 0 ? TileProgram::kNoAxis : axes - 1;
    return tile_->is_of_floats() && y.dtype() == DType::f32 && tile_->place(site, columns);
  }

  explicit operator bool() const { return tile_ != nullptr; }

  // Columns of some rows are there: of the axis that lies innermost.
  void run(vector::Range rows, vector::Range columns) const {
    if (tile_) tile_->run(rows, columns);
  }
  // Elements of the result are there, counted row after row.
  void run(int64_t begin, int64_t end) const {
    if (!tile_ || begin >= end) return;
    const int64_t width = tile_->columns();
    if (begin % width != 0) {
      const int64_t stop = std::min(end, (begin / width + 1) * width);
      run({begin / width, begin / width + 1}, {begin % width, stop - begin / width * width});
      begin = stop;
    }
    const int64_t whole = std::max(begin, end / width * width);
    if (begin < whole) run({begin / width, whole / width}, {0, width});
    if (whole < end)
      run({whole / width, whole / width + 1}, {whole % width, end - whole / width * width});
  }
  // Runs `make` for some rows of `length` elements at a time, and the tile behind each of them.
  template <class Make>
  void in_blocks(int64_t begin, int64_t end, int64_t length, const Make& make) const {
    // Elements: they stay in the second cache, and memory is read in long runs.
    constexpr int64_t kBlock = 1 << 15;
    const int64_t step =
        tile_ ? std::max<int64_t>(1, kBlock / std::max<int64_t>(length, 1)) : end - begin;
    for (int64_t first = begin; first < end; first += step) {
      const int64_t last = std::min(first + step, end);
      make(first, last);
      run(first * length, last * length);
    }
  }

 private:
  std::shared_ptr<TileProgram> tile_;
  size_t own_inputs_ = SIZE_MAX;
};

}  // namespace rlx::detail
