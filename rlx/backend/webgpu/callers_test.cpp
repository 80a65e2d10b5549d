#include "rlx/backend/webgpu/callers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>

namespace rlx::detail::webgpu {
namespace {

struct CallersTest : testing::Test {
  Callers callers{OwnTickets(std::make_shared<Tickets>(), this)};
};

TEST_F(CallersTest, OneHasTheTurnUntilItIsTold) {
  ASSERT_TRUE(callers.try_begin_turn());
  EXPECT_FALSE(callers.try_begin_turn());
  bool again = false;
  callers.end_turn([&] { again = callers.try_begin_turn(); });
  EXPECT_TRUE(again) << "the user may call again from there";
}

TEST_F(CallersTest, AThreadWaitsForTheTurnOfAnother) {
  std::atomic<bool> has_it = false;
  std::thread other;
  {
    const Callers::Turn turn(callers);
    other = std::thread([&] {
      const Callers::Turn mine(callers);
      has_it = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(has_it);
  }
  other.join();
  EXPECT_TRUE(has_it);
}

TEST_F(CallersTest, AThreadThatWaitsForAllSeesTheTurnOrTheCallThatEndsIt) {
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(callers.try_begin_turn());
    std::atomic<bool> told = false;
    std::thread other([&] {
      callers.end_turn([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        told = true;
      });
    });
    callers.wait_for_all([] { return true; });
    EXPECT_TRUE(told);
    other.join();
  }
}

TEST_F(CallersTest, WhatAUserThrewIsThrownOnceToWhoeverWaits) {
  callers.tell([] { throw std::runtime_error("mine"); });
  EXPECT_THROW(callers.wait_for_all([] { return true; }), std::runtime_error);
  callers.wait_for_all([] { return true; });
}

TEST_F(CallersTest, AUserMayWaitInsideACall) {
  bool waited = false;
  callers.tell([&] {
    callers.wait_for_all([] { return true; });
    waited = true;
  });
  EXPECT_TRUE(waited);
}

}  // namespace
}  // namespace rlx::detail::webgpu
