#include "rlx/backend/webgpu/callbacks.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace rlx::detail::webgpu {
namespace {

struct Program : std::enable_shared_from_this<Program>, Callbacks::Owner {
  std::shared_ptr<void> hold() override { return shared_from_this(); }
  void fail(const Error& error) override { failed += error.what(); }
  void settle() override { ++settled; }

  Callbacks callbacks{*this, OwnTickets(std::make_shared<Tickets>(), this)};
  std::string failed;
  int settled = 0;
};

// False: it will call back.
bool at_once() { return true; }
bool later() { return false; }

TEST(Callbacks, AnOwnerIsHeldAndUnsettledWhileOneIsToCome) {
  auto program = std::make_shared<Program>();
  const std::weak_ptr<Program> held = program;
  Callbacks& callbacks = program->callbacks;
  EXPECT_TRUE(callbacks.enter([&] {
    EXPECT_TRUE(callbacks.expect(at_once));
    EXPECT_FALSE(callbacks.expect(later));
    EXPECT_FALSE(callbacks.expect(later));
  }));
  program = nullptr;
  ASSERT_FALSE(held.expired());
  EXPECT_EQ(held.lock()->settled, 0);
  callbacks.arrive([] {});
  ASSERT_FALSE(held.expired());
  EXPECT_EQ(held.lock()->settled, 0);
  bool arrived = false;
  callbacks.arrive([&] { arrived = true; });
  EXPECT_TRUE(arrived);
  EXPECT_TRUE(held.expired());
}

TEST(Callbacks, WhatCannotBeStartedIsNotExpected) {
  const auto program = std::make_shared<Program>();
  program->callbacks.enter([&] {
    program->callbacks.expect([]() -> bool { throw Error(ErrorKind::device, "not now"); });
  });
  EXPECT_EQ(program->failed, "not now");
  EXPECT_EQ(program->settled, 1);
}

TEST(Callbacks, WhatIsCalledOrDroppedLaterFindsTheLockFreeForOtherThreads) {
  const auto program = std::make_shared<Program>();
  Callbacks& callbacks = program->callbacks;
  const auto try_lock = [&] {  // in another thread: this one may hold it
    bool free = false;
    std::thread([&] { free = callbacks.enter([] {}); }).join();
    return free;
  };
  int called = 0, dropped = 0;
  callbacks.enter([&] {
    callbacks.call_later(
        [&](const Error* error) {
          ASSERT_NE(error, nullptr);
          EXPECT_EQ(std::string(error->what()), "it failed");
          called += try_lock() ? 1 : 0;
        },
        Error(ErrorKind::device, "it failed"));
    callbacks.drop_later(std::shared_ptr<void>(nullptr, [&](void*) { dropped += try_lock(); }));
  });
  EXPECT_EQ(called, 1);
  EXPECT_EQ(dropped, 1);
  callbacks.enter([] {});
  EXPECT_EQ(called, 1) << "it is called once";
}

TEST(Callbacks, NothingComesInOnceItIsAbandoned) {
  const auto program = std::make_shared<Program>();
  Callbacks& callbacks = program->callbacks;
  callbacks.enter([&] { callbacks.expect(later); });
  bool told = false;
  callbacks.abandon(
      [&] { callbacks.call_later([&](const Error*) { told = true; }, std::nullopt); });
  EXPECT_TRUE(told);
  const auto forbidden = [] { FAIL() << "it is abandoned"; };
  EXPECT_FALSE(callbacks.enter(forbidden));
  callbacks.look_in(forbidden);
  callbacks.arrive(forbidden);
  EXPECT_EQ(program->settled, 0);
  EXPECT_EQ(program.use_count(), 1) << "and it is held no longer";
}

}  // namespace
}  // namespace rlx::detail::webgpu
