// Those who call a program: one at a time has its turn, what is told to them is told without a
// turn, and some of them wait.
#pragma once

#include <functional>
#include <utility>

#include "rlx/backend/webgpu/tickets.h"
#include "rlx/backend/webgpu/turns.h"
#include "rlx/backend/webgpu/user_calls.h"

namespace rlx::detail::webgpu {

class Callers {
 public:
  explicit Callers(OwnTickets tickets) : tickets_(std::move(tickets)) {}

  const OwnTickets& tickets() const { return tickets_; }

  // The turn of a thread that waits for it; it must not be in a callback that has the turn.
  class Turn {
   public:
    explicit Turn(Callers& callers) : callers_(callers) { callers_.begin(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { callers_.turns_.end(); }

   private:
    Callers& callers_;
  };
  // The turn of an asynchronous call, until end_turn(); false where it is somebody's already.
  bool try_begin_turn() { return turns_.try_begin(); }

  // Calls the user, who may throw: that is for those who wait for this program.
  template <class Call>
  void tell(const Call& user) {
    user_calls_.call(user);
  }
  // The same as the last thing of an asynchronous call. Whoever waits sees the turn or the call.
  template <class Call>
  void end_turn(const Call& user) {
    user_calls_.call([&] {
      turns_.end();
      user();
    });
  }
  void rethrow() { user_calls_.rethrow(); }

  // Lets callbacks arrive until `done`.
  void wait(const std::function<bool()>& done) { tickets_.wait(done); }
  // Until nobody has a turn or is being told something, and `done`.
  void wait_for_all(const std::function<bool()>& done) {
    const bool inside = user_calls_.is_here();  // the call that this one is part of ends after it
    tickets_.wait(
        [&] { return !turns_.taken() && (inside || !user_calls_.is_anywhere()) && done(); });
    rethrow();
  }

 private:
  void begin() {
    turns_.begin([this] { tickets_.wait([this] { return !turns_.is_asynchronous(); }); });
  }

  const OwnTickets tickets_;
  Turns turns_;
  UserCalls user_calls_;
};

}  // namespace rlx::detail::webgpu
