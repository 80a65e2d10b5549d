// Products and convolutions of f32 by oneDNN, where rlx was built with it.
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

  // y = a . b + bias; leading dims broadcast, and a transposed operand has its last two swapped.
  // The bias, of y's last dim, may be null. False: not for oneDNN.
  bool matmul(const Tensor& a, bool transpose_a, const Tensor& b, bool transpose_b,
              const Tensor* bias, Tensor& y);

  // x is [B, C, spatial..]; what y does not reach of the padded x is not read. Weights that are
  // `kept` from run to run are brought into oneDNN's order once for each change.
  bool convolution(const Tensor& x, const Tensor& w, bool kept, const Tensor* bias,
                   const ConvolutionWindow& window, Tensor& y);

 private:
  struct Cache;
  std::unique_ptr<Cache> cache_;
};

}  // namespace rlx::detail
