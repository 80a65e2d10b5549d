// A program's lock, and the callbacks that come in under it: what takes time is started under the
// lock and goes on in a callback, perhaps in another thread.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "rlx/backend/backend.h"
#include "rlx/backend/webgpu/tickets.h"

namespace rlx::detail::webgpu {

class Callbacks {
 public:
  // Whose lock it is.
  class Owner {
   public:
    virtual std::shared_ptr<void> hold() = 0;  // keeps the owner alive
    // Under the lock, after each part of the work that came in.
    virtual void fail(const Error& error) = 0;  // it threw this
    virtual void settle() = 0;                  // no callback is to come any more

   protected:
    ~Owner() = default;
  };
  Callbacks(Owner& owner, OwnTickets tickets) : owner_(owner), tickets_(std::move(tickets)) {}

  const OwnTickets& tickets() const { return tickets_; }
  std::shared_ptr<void> hold() const { return owner_.hold(); }

  // Runs a part of the work under the lock; false, and nothing is done, once it is abandoned.
  template <class Action>
  bool enter(const Action& action) {
    return pass(action, 0);
  }
  // The same from a callback that expect() or start() announced.
  template <class Action>
  void arrive(const Action& action) {
    pass(action, 1);
  }
  // From a callback that is only half of one: the other half arrives.
  template <class Action>
  void look_in(const Action& action) {
    const std::lock_guard lock(mutex_);
    if (!abandoned_) action();
  }
  // For what is no part of the work: nobody is told anything when the lock goes.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  // Under the lock. Starts what gives its result at once (true) or calls back once (false); where
  // it throws, it does not call back.
  template <class Get>
  auto expect(const Get& get) {
    auto result = announced(get);
    if (result) --pending_;
    return result;
  }
  // The same for a call of a device, call(id), which gives a ticket and calls back for sure.
  template <class Call>
  void start(const std::shared_ptr<Waitable>& by, const Call& call) {
    announced([&] { return tickets_.start(by, call), true; });
  }
  // Under the lock, for when it is gone, one of each: what is called then may call anything, and
  // what is dropped may be the last to hold a device, which then calls back.
  void call_later(RunDone done, std::optional<Error> error) {
    later_.done = std::move(done);
    later_.error = std::move(error);
  }
  void drop_later(std::shared_ptr<void> dropped) { later_.dropped = std::move(dropped); }

  // Whatever comes in from now on finds nothing to do; `last` is the last that happens.
  template <class Action>
  void abandon(const Action& last) {
    Later later;
    {
      const std::lock_guard lock(mutex_);
      abandoned_ = true;
      last();
      later = std::exchange(later_, {});
    }
    tickets_.abandon();
    later.call();
  }

 private:
  struct Later {
    RunDone done;
    std::optional<Error> error;
    std::shared_ptr<void> dropped;

    void call() {
      if (done) done(error ? &*error : nullptr);
    }
  };

  template <class Action>
  bool pass(const Action& action, int arrived) {
    const std::shared_ptr<void> self = hold();  // the user may drop the program in the end
    std::shared_ptr<void> released;
    Later later;
    bool entered = false;
    {
      const std::lock_guard lock(mutex_);
      pending_ -= arrived;
      entered = !abandoned_;
      if (entered) {
        try {
          action();
        } catch (...) {
          owner_.fail(current_error());
        }
        if (pending_ == 0) owner_.settle();
      }
      later = std::exchange(later_, {});
      if (pending_ == 0) released = std::move(alive_);
    }
    later.call();
    return entered;
  }

  template <class Start>
  auto announced(const Start& start) {
    ++pending_;
    alive_ = hold();
    try {
      return start();
    } catch (...) {
      --pending_;
      throw;
    }
  }

  Owner& owner_;
  const OwnTickets tickets_;
  std::mutex mutex_;
  int pending_ = 0;              // callbacks to come
  std::shared_ptr<void> alive_;  // the owner, while there are some
  Later later_;
  bool abandoned_ = false;
};

}  // namespace rlx::detail::webgpu
