#include "rlx/base/shared.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "rlx/base/function.h"

namespace rlx {
namespace {

TEST(Keep, TheLastCopyLetsGo) {
  auto number = std::make_shared<int>(7);
  const std::weak_ptr<int> seen = number;
  Keep first = std::move(number);
  Keep second = first;
  first = nullptr;
  EXPECT_FALSE(seen.expired());
  second = Keep();
  EXPECT_TRUE(seen.expired());
}

TEST(Keep, AssigningToItselfKeeps) {
  const auto number = std::make_shared<int>(7);
  Keep keep = number;
  const Keep& same = keep;
  keep = same;
  EXPECT_EQ(number.use_count(), 2);
}

TEST(Keep, CopiesMayGoOnSeveralThreads) {
  const auto number = std::make_shared<int>(7);
  {
    const Keep keep = number;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([keep] {
        for (int time = 0; time < 1000; ++time) const Keep copy = keep;
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(number.use_count(), 2);
  }
  EXPECT_EQ(number.use_count(), 1);
}

TEST(Shared, PointsToWhatItKeeps) {
  Shared<int> number = std::make_unique<int>(7);
  const Shared<const int> also = number;
  const Shared<int> moved = std::move(number);
  EXPECT_EQ(*also, 7);
  *moved = 8;
  EXPECT_EQ(*also, 8);
  EXPECT_TRUE(number == nullptr);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(moved.get(), also.get());
}

TEST(Function, CopiesShareWhatTheyCall) {
  const Function<int(int)> add = [sum = 0](int x) mutable { return sum += x; };
  const Function<int(int)> same = add;
  EXPECT_EQ(add(2), 2);
  EXPECT_EQ(same(3), 5);
}

TEST(Function, TakesAndBecomesAStdFunction) {
  const std::function<int(int)> twice = [](int x) { return 2 * x; };
  const Function<int(int)> ours = twice;
  const std::function<int(int)> theirs = ours;
  EXPECT_EQ(theirs(4), 8);
  EXPECT_FALSE(Function<void()>());
  EXPECT_TRUE(Function<void()>([] {}));
}

}  // namespace
}  // namespace rlx
