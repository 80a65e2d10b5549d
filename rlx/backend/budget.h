// What a run may still take when its plan has been found to fit.
#pragma once

#include <cstdint>
#include <map>

#include "rlx/image/image.h"

namespace rlx::detail {

// Bounds may be larger together than 64 bits count: then it is as much as these do.
inline int64_t sum_of(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

// Memory for values that no plan could size: an Error where a run takes more than is left.
class LateBudget {
 public:
  void begin(int64_t left) {
    left_ = left;
    held_.clear();
    by_calls_.clear();
  }
  bool is_limited() const { return left_ != INT64_MAX; }
  void spend(image::ValueId value, int64_t bytes, const image::Image& image);
  // What the call that makes a value holds besides.
  void spend_of_call(image::ValueId result, int64_t bytes, const image::Image& image);

 private:
  int64_t total() const;
  int64_t left_ = INT64_MAX;
  std::map<image::ValueId, int64_t> held_, by_calls_;  // by value, in bytes
};

// How often the loops of a run have gone round: an Error beyond the budget; 0: there is none.
class IterationBudget {
 public:
  void begin(int64_t budget) {
    budget_ = budget;
    made_ = 0;
  }
  void spend(const image::Step& jump, const image::Image& image);

 private:
  int64_t budget_ = 0, made_ = 0;
};

}  // namespace rlx::detail
