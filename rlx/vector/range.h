// Some of what is counted from 0.
#pragma once

#include <cstdint>

namespace rlx::vector {

struct Range {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};

}  // namespace rlx::vector
