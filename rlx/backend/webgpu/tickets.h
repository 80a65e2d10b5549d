// What is under way on a device, for those who wait: natively callbacks arrive inside Gpu::wait()
// alone, so that whoever waits has to know for what.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "rlx/backend/webgpu/gpu.h"

namespace rlx::detail::webgpu {

class Tickets {
 public:
  using Id = uint64_t;

  // An entry is opened before the call, told the call's ticket, and closed first thing in the
  // callback. `owner` is who waits for it as a rule; null: anybody may have to.
  Id open(const void* owner);
  void set(Id id, const std::shared_ptr<Waitable>& by, Ticket ticket);
  void close(Id id);
  // All of it for a call that gives a ticket, start(id): where it throws, nothing is under way.
  template <class Start>
  void start(const void* owner, const std::shared_ptr<Waitable>& by, const Start& start) {
    const Id id = open(owner);
    try {
      set(id, by, start(id));
    } catch (...) {
      close(id);
      throw;
    }
  }
  // The owner is gone; whoever waits next also waits for what it has left.
  void abandon(const void* owner);

  // Lets callbacks arrive until `done` is true: the owner's first, others' where it has none.
  void wait(const void* owner, const std::function<bool()>& done);
  void wait_for_all();

  // Held by what goes on from callback to callback, between which it may have no entry.
  class Busy {
   public:
    explicit Busy(std::shared_ptr<Tickets> tickets);
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    ~Busy();

   private:
    const std::shared_ptr<Tickets> tickets_;
  };
  bool is_idle() const;  // nothing is under way

  // What a callback threw that belongs to no program; the device's own wait throws it.
  void keep(std::exception_ptr thrown);
  void rethrow();

 private:
  struct Entry {
    Id id = 0;
    const void* owner = nullptr;
    std::weak_ptr<Waitable> by;
    Ticket ticket = 0;
    bool set = false, abandoned = false;
  };
  bool wait_for_one(const void* owner);
  void wait_for_abandoned();
  void wait_for(const Entry& entry);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> entries_;  // oldest first
  Id last_ = 0;
  int busy_ = 0;
  std::exception_ptr thrown_;
};

// The tickets as one owner has them.
class OwnTickets {
 public:
  OwnTickets(std::shared_ptr<Tickets> tickets, const void* owner)
      : tickets_(std::move(tickets)), owner_(owner) {}

  const std::shared_ptr<Tickets>& all() const { return tickets_; }
  const void* owner() const { return owner_; }

  template <class Start>
  void start(const std::shared_ptr<Waitable>& by, const Start& call) const {
    tickets_->start(owner_, by, call);
  }
  Tickets::Id open() const { return tickets_->open(owner_); }
  void set(Tickets::Id id, const std::shared_ptr<Waitable>& by, Ticket ticket) const {
    tickets_->set(id, by, ticket);
  }
  void close(Tickets::Id id) const { tickets_->close(id); }
  void wait(const std::function<bool()>& done) const { tickets_->wait(owner_, done); }
  void abandon() const { tickets_->abandon(owner_); }

 private:
  std::shared_ptr<Tickets> tickets_;
  const void* owner_;
};

}  // namespace rlx::detail::webgpu
