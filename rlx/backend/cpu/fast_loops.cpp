#include "rlx/backend/cpu/fast_loops.h"

#include <algorithm>

namespace rlx::detail {
namespace {

bool all_f32(std::initializer_list<const Tensor*> tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const Tensor* tensor) { return tensor->dtype() == DType::f32; });
}

}  // namespace

bool convolve_small(const Tensor& x, const Tensor& w, const Tensor* bias,
                    const ConvolutionWindow& window, Tensor& y) {
  constexpr int64_t kFew = int64_t{1} << 19;  // products
  if (window.transposed || x.shape().size() != 3 || !all_f32({&x, &w, &y}) ||
      (bias && !all_f32({bias})) || y.count() * w.shape()[1] * w.shape()[2] > kFew)
    return false;
  const int64_t length = x.shape()[2], channels = w.shape()[1], width = w.shape()[2],
                outputs = y.shape()[1], places = y.shape()[2];
  float* to = y.count() > 0 ? y.mutable_data<float>().data() : nullptr;
  for (int64_t b = 0; b < y.shape()[0]; ++b)
    for (int64_t o = 0; o < outputs; ++o) {
      const int64_t group = o / (outputs / window.groups);
      const float* from = x.data<float>().data() + (b * x.shape()[1] + group * channels) * length;
      const float* weights = w.data<float>().data() + o * channels * width;
      const double first = bias ? bias->data<float>()[static_cast<size_t>(o)] : 0;
      for (int64_t t = 0; t < places; ++t) {
        const int64_t begin = t * window.strides[0] - window.pads_before[0];
        double sum = first;
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t k = 0; k < width; ++k) {
            const int64_t at = begin + k * window.dilations[0];
            if (at >= 0 && at < length)
              sum += static_cast<double>(from[c * length + at]) * weights[c * width + k];
          }
        *to++ = static_cast<float>(sum);
      }
    }
  return true;
}

}  // namespace rlx::detail
