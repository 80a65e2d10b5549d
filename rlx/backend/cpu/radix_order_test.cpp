#include "rlx/backend/cpu/radix_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace rlx::detail {
namespace {

template <class T>
std::vector<int32_t> by_digits(const std::vector<T>& numbers) {
  const auto count = static_cast<int64_t>(numbers.size());
  std::vector<uint64_t> keyed(numbers.size()), other(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i)
    keyed[i] = static_cast<uint64_t>(order_key(numbers[i])) << 32 | i;
  std::vector<int32_t> order(numbers.size());
  order_by_digits(keyed.data(), other.data(), count, order.data());
  return order;
}
template <class T>
std::vector<int32_t> by_comparing(const std::vector<T>& numbers) {
  std::vector<int32_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const T x = numbers[size_t(a)], y = numbers[size_t(b)];
    return y != y ? x == x : x < y;
  });
  return order;
}

TEST(RadixOrder, FloatsOfAllKindsAreOrderedAsByComparing) {
  std::minstd_rand random(1);
  std::vector<float> numbers;
  for (int i = 0; i < 5000; ++i) {
    const float x = std::ldexp(static_cast<float>(random() % 2000) - 1000,
                               static_cast<int>(random() % 200) - 140);
    numbers.push_back(x);
    if (i % 50 == 0)
      for (const float special :
           {NAN, -NAN, INFINITY, -INFINITY, 0.0F, -0.0F, std::numeric_limits<float>::denorm_min()})
        numbers.push_back(special);
  }
  EXPECT_EQ(by_digits(numbers), by_comparing(numbers));
}

TEST(RadixOrder, IntegersOfBothSignsAreOrderedAndEqualsStay) {
  std::minstd_rand random(2);
  std::vector<int32_t> all, few(777, 5);
  std::vector<uint32_t> unsigned_ones;
  for (int i = 0; i < 3001; ++i) {
    const auto bits = static_cast<uint32_t>(random() * 3);
    unsigned_ones.push_back(bits);
    all.push_back(static_cast<int32_t>(bits));
    few.push_back(static_cast<int32_t>(bits % 5) - 2);
  }
  all.push_back(std::numeric_limits<int32_t>::min());
  EXPECT_EQ(by_digits(all), by_comparing(all));
  EXPECT_EQ(by_digits(few), by_comparing(few));
  EXPECT_EQ(by_digits(unsigned_ones), by_comparing(unsigned_ones));
  EXPECT_EQ(by_digits(std::vector<float>{3}), std::vector<int32_t>{0});
}

}  // namespace
}  // namespace rlx::detail
