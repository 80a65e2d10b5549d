#include "rlx/vector/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace rlx::vector {
namespace {

using Axis = Copy::Axis;

// Every element by itself.
template <class T>
void one_by_one(const std::vector<Axis>& axes, size_t d, const T* from, T* to) {
  if (d == axes.size()) {
    *to = *from;
    return;
  }
  for (int64_t i = 0; i < axes[d].extent; ++i)
    one_by_one(axes, d + 1, from + i * axes[d].from, to + i * axes[d].to);
}

template <class T>
void expect_right(const std::vector<Axis>& axes) {
  int64_t from_size = 1, to_size = 1;
  for (const Axis& axis : axes) {
    from_size += std::max<int64_t>(axis.extent - 1, 0) * axis.from;
    to_size += std::max<int64_t>(axis.extent - 1, 0) * axis.to;
  }
  std::vector<T> from(static_cast<size_t>(from_size)), want(static_cast<size_t>(to_size), T{99}),
      got = want;
  std::iota(from.begin(), from.end(), T{1});
  one_by_one(axes, 0, from.data(), want.data());
  Copy copy;
  ASSERT_TRUE(copy.make(axes.data(), axes.size(), sizeof(T)));
  const int64_t third = copy.units() / 3;
  copy.run(from.data(), got.data(), {third, copy.units()});
  copy.run(from.data(), got.data(), {0, third});
  EXPECT_EQ(got, want);
}

// A row-major target of the extents, read from a row-major source whose axes are permuted.
std::vector<Axis> permuted(std::vector<int64_t> extents, std::vector<size_t> order) {
  std::vector<Axis> axes(extents.size());
  int64_t step = 1;
  for (size_t d = extents.size(); d-- > 0; step *= extents[d]) axes[d] = {extents[d], 0, step};
  step = 1;
  for (size_t i = order.size(); i-- > 0; step *= extents[order[i]]) axes[order[i]].from = step;
  return axes;
}

TEST(VectorCopy, EveryPermutationOfOddExtentsIsRight) {
  for (const std::vector<int64_t>& extents : {std::vector<int64_t>{3, 17, 5},
                                              {64, 1, 70},
                                              {2, 33, 129},
                                              {0, 3, 4},
                                              {1, 1, 1},
                                              {5, 4, 3}}) {
    std::vector<size_t> order{0, 1, 2};
    do {
      expect_right<uint8_t>(permuted(extents, order));
      expect_right<uint16_t>(permuted(extents, order));
      expect_right<uint32_t>(permuted(extents, order));
      expect_right<uint64_t>(permuted(extents, order));
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(VectorCopy, StepsBroadcastsAndGapsAreRight) {
  expect_right<uint32_t>({});                                   // a single element
  expect_right<uint32_t>({{7, 3, 1}});                          // every third
  expect_right<uint32_t>({{7, 1, 2}});                          // into every second
  expect_right<uint32_t>({{5, 0, 4}, {4, 1, 1}});               // one row again and again
  expect_right<uint32_t>({{5, 1, 4}, {4, 0, 1}});               // each element again and again
  expect_right<uint32_t>({{6, 40, 9}, {3, 10, 3}, {3, 2, 1}});  // out of gaps
  expect_right<uint64_t>({{20, 1, 50}, {30, 25, 1}});           // transposed, into and out of gaps
  expect_right<uint32_t>({{3, 5000, 9000}, {20, 1, 50}, {30, 25, 1}});
}

TEST(VectorCopy, NeighboursThatRunOnAreOneRun) {
  Copy copy;
  const Axis axes[] = {{4, 30, 30}, {5, 6, 6}, {6, 1, 1}};
  ASSERT_TRUE(copy.make(axes, 3, 4));
  EXPECT_EQ(copy.units(), 1);
  EXPECT_EQ(copy.unit_elements(), 120);
}

}  // namespace
}  // namespace rlx::vector
