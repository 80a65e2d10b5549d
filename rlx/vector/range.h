// Some of what is counted from 0.
#pragma once

#include <cstdint>

namespace rlx::vector {

struct Range {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};

constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
// The size of one of so many parts of about equal size that make up `count`.
constexpr int64_t part_of(int64_t count, int64_t parts, int64_t multiple) {
  const int64_t part = divide_up(divide_up(count, parts), multiple) * multiple;
  return part < count ? part : count;
}

// The i-th of so many parts of [0, count), as even as can be.
constexpr Range part_at(int64_t i, int64_t parts, int64_t count) {
  return {i * count / parts, (i + 1) * count / parts};
}

}  // namespace rlx::vector
