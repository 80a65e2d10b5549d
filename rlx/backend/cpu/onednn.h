// Convolutions of f32 by oneDNN, where rlx was built with it.
#pragma once

#include <memory>

#include "rlx/backend/cpu/convolution_window.h"
#include "rlx/tensor/tensor.h"

namespace rlx::detail {

// What one call keeps of oneDNN: primitives by extents, the least recently used goes first. A run
// with extents it has seen creates and allocates nothing.
class OneDnn {
 public:
  OneDnn();
  ~OneDnn();
  OneDnn(OneDnn&& other) noexcept;
  OneDnn& operator=(OneDnn&& other) noexcept;

  // x is [B, C, spatial..]; what y does not reach of the padded x is not read. Weights that are
  // `kept` from run to run are brought into oneDNN's order once for each change.
  bool convolution(const Tensor& x, const Tensor& w, bool kept, const Tensor* bias,
                   const ConvolutionWindow& window, Tensor& y);

 private:
  struct Cache;
  std::unique_ptr<Cache> cache_;
};

}  // namespace rlx::detail
