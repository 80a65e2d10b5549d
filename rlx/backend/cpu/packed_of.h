// What a kernel made of a weight, while it is the same weight in the same order.
#pragma once

#include <vector>

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

class PackedOf {
 public:
  // Calls make(to) where there is another than before. Weights that are not kept are packed anew.
  template <class Make>
  const float* get(const CpuEngine& engine, const Tensor& weight, bool is_kept,
                   const PackedWeights::Order& order, int64_t size, const Make& make) {
    if (!is_kept) {
      own_.resize(static_cast<size_t>(size));
      make(own_.data());
      return own_.data();
    }
    const Tensor::Mark mark = weight.mark();
    if (held_ && mark == mark_ && order == order_) return held_.get();
    mark_ = {};
    engine.packed->get(weight, order, size, held_, make);
    mark_ = mark;
    order_ = order;
    return held_.get();
  }

 private:
  PackedPtr held_;
  Tensor::Mark mark_;
  PackedWeights::Order order_ = {};
  std::vector<float> own_;
};

}  // namespace rlx::detail
