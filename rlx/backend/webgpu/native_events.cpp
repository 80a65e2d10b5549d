// Tickets, and the one place where users are called back.
#include "rlx/backend/webgpu/native_events.h"

#include <chrono>
#include <exception>
#include <utility>

namespace rlx::detail::webgpu {

namespace {
// Waits are sliced: the library holds its device's lock while it waits, so that other threads'
// calls come in between, and the loss of a device ends a wait even if the library forgets to.
constexpr uint64_t kSliceNanoseconds = 200'000;
constexpr uint64_t kLateNanoseconds = 1'000'000'000;
constexpr auto kHandover = std::chrono::microseconds(200);
}  // namespace

Ticket Events::start(const std::shared_ptr<Operation>& operation, size_t callbacks) {
  const std::lock_guard lock(mutex_);
  operation->ticket_ = ++last_ticket_;
  operation->outstanding_ = callbacks;
  operations_.emplace(operation->ticket_, operation);
  if (callbacks == 0) make_ready(*operation);
  return operation->ticket_;
}

void Events::add_future(Operation& operation, capi::Future future) {
  const std::lock_guard lock(mutex_);
  operation.futures_[operation.futures_[0].id == 0 ? 0 : 1] = future;
}

void Events::arrive(Operation& operation) {
  const std::lock_guard lock(mutex_);
  if (--operation.outstanding_ == 0) make_ready(operation);
}

void Events::make_ready(Operation& operation) {
  if (operation.state_ != Operation::State::pending) return;  // given up before the library called
  operation.state_ = Operation::State::ready;
  ready_.push_back(operations_.at(operation.ticket_));
  changed_.notify_all();
}

bool Events::deliver_one(std::unique_lock<std::mutex>& lock) {
  if (ready_.empty()) return false;
  const std::shared_ptr<Operation> operation = std::move(ready_.front());
  ready_.pop_front();
  operation->state_ = Operation::State::delivering;
  lock.unlock();
  std::exception_ptr thrown;  // a callback's exception must not leave other threads waiting
  try {
    operation->deliver();
  } catch (...) {
    thrown = std::current_exception();
  }
  lock.lock();
  operations_.erase(operation->ticket_);
  changed_.notify_all();
  if (thrown) std::rethrow_exception(thrown);
  return true;
}

void Events::wait(Ticket ticket) {
  std::unique_lock lock(mutex_);
  while (operations_.count(ticket) != 0) {
    if (deliver_one(lock)) continue;
    const std::shared_ptr<Operation> operation = operations_.at(ticket);
    if (operation->state_ == Operation::State::delivering) {  // by another thread
      changed_.wait(lock);
      continue;
    }
    const auto futures = operation->futures_;
    lock.unlock();
    bool complete = true;
    for (const capi::Future future : futures) {
      if (future.id != 0) complete &= api_.wait(instance_, future, kSliceNanoseconds);
    }
    const bool will_not_arrive = operation->will_not_arrive();
    lock.lock();
    if (operation->state_ != Operation::State::pending) continue;
    if (!complete && will_not_arrive) {
      given_up_.insert(given_up_.end(), futures.begin(), futures.end());
      make_ready(*operation);
    } else if (complete || callers_.load() > 0) {
      // Another thread is in the library: to mark this operation, or to get its lock.
      changed_.wait_for(lock, kHandover);
    }
  }
}

void Events::poll() {
  std::unique_lock lock(mutex_);
  for (auto at = operations_.begin(); at != operations_.end();) {
    const Ticket ticket = at->first;
    const auto futures = at->second->futures_;
    const bool pending = at->second->state_ == Operation::State::pending;
    lock.unlock();
    if (pending)
      for (const capi::Future future : futures)
        if (future.id != 0) api_.wait(instance_, future, 0);
    lock.lock();
    at = operations_.upper_bound(ticket);  // others may have come and gone
  }
  while (deliver_one(lock)) {
  }
}

void Events::wait_all() {
  std::unique_lock lock(mutex_);
  while (!operations_.empty()) {
    const Ticket ticket = operations_.begin()->first;
    lock.unlock();
    wait(ticket);
    lock.lock();
  }
  const std::vector<capi::Future> late = std::exchange(given_up_, {});
  lock.unlock();
  for (const capi::Future future : late) {
    if (future.id != 0) api_.wait(instance_, future, kLateNanoseconds);
  }
}

}  // namespace rlx::detail::webgpu
