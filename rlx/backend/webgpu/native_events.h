// What is under way on a device: operations wait for the library's callbacks, then for delivery.
// The library calls back inside a wait, perhaps another thread's, perhaps under its own locks. So a
// callback only marks its operation ready; users are called from wait(), with no lock held.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <vector>

#include "rlx/backend/webgpu/gpu.h"
#include "rlx/backend/webgpu/native_api.h"

namespace rlx::detail::webgpu {

// Memory that is used again: a read in the steady state allocates nothing.
using Pool = std::shared_ptr<std::pmr::memory_resource>;
template <class T>
struct PoolAllocator {
  using value_type = T;
  Pool pool;

  explicit PoolAllocator(Pool p) : pool(std::move(p)) {}
  template <class Other>
  PoolAllocator(const PoolAllocator<Other>& other)
      : pool(other.pool) {}  // NOLINT: allocators convert
  T* allocate(size_t count) {
    return static_cast<T*>(
        pool->allocate(count * sizeof(T), alignof(T)));  // NOLINT: T is no mistake
  }
  void deallocate(T* memory, size_t count) {
    pool->deallocate(memory, count * sizeof(T), alignof(T));  // NOLINT: as above
  }
  bool operator==(const PoolAllocator& other) const { return pool == other.pool; }
};

class Operation {
 public:
  virtual ~Operation() = default;
  virtual void deliver() = 0;  // calls the user back
  // Its device is lost, so the library may never call back.
  virtual bool will_not_arrive() const { return false; }

 private:
  friend class Events;
  enum class State { pending, ready, delivering } state_ = State::pending;
  Ticket ticket_ = 0;
  size_t outstanding_ = 0;                    // library callbacks still to come
  std::array<capi::Future, 2> futures_ = {};  // an id of 0 is none
};

class Events : public std::enable_shared_from_this<Events> {
 public:
  Events(const capi::Api& api, capi::Instance instance) : api_(api), instance_(instance) {}

  template <class T, class... Parts>
  std::shared_ptr<T> make(Parts&&... parts) {
    return std::allocate_shared<T>(PoolAllocator<T>(pool_), std::forward<Parts>(parts)...);
  }

  // Registers an operation that is ready after `callbacks` calls of arrive(); at once if 0.
  Ticket start(const std::shared_ptr<Operation>& operation, size_t callbacks);
  void add_future(Operation& operation, capi::Future future);
  void wait(Ticket ticket);
  void poll();      // delivers what has arrived, and waits for nothing
  void wait_all();  // also for callbacks of operations that were given up

  // Held by threads in calls of the library other than waiting; waiting makes room for them.
  class Caller {
   public:
    explicit Caller(Events& events) : events_(events) { ++events_.callers_; }
    Caller(const Caller&) = delete;
    ~Caller() { --events_.callers_; }

   private:
    Events& events_;
  };

  // The userdata of one library callback: it keeps the operation alive until the call has come.
  template <class T>
  struct Token {
    std::shared_ptr<T> operation;
    std::shared_ptr<Events> events;
  };
  template <class T>
  void* token(const std::shared_ptr<T>& operation) {
    PoolAllocator<Token<T>> allocator(pool_);
    return new (allocator.allocate(1)) Token<T>{operation, shared_from_this()};
  }
  // For use inside a library callback: records the outcome, then marks the callback as arrived.
  template <class T, class Record>
  static void arrived(void* user, Record record) {
    auto* place = static_cast<Token<T>*>(user);
    const Token<T> token = std::move(*place);
    place->~Token<T>();
    PoolAllocator<Token<T>>(token.events->pool_).deallocate(place, 1);
    record(*token.operation);
    token.events->arrive(*token.operation);
  }

 private:
  void arrive(Operation& operation);
  void make_ready(Operation& operation);
  bool deliver_one(std::unique_lock<std::mutex>& lock);

  const capi::Api& api_;
  const capi::Instance instance_;
  std::mutex mutex_;  // a leaf: nothing is called while it is held
  std::condition_variable changed_;
  std::atomic<int> callers_ = 0;
  Ticket last_ticket_ = 0;
  using OperationPtr = std::shared_ptr<Operation>;
  using Entry = std::pair<const Ticket, OperationPtr>;
  const Pool pool_ = std::make_shared<std::pmr::synchronized_pool_resource>();
  std::map<Ticket, OperationPtr, std::less<>, PoolAllocator<Entry>> operations_{
      PoolAllocator<Entry>(pool_)};  // not yet delivered
  std::deque<OperationPtr, PoolAllocator<OperationPtr>> ready_{PoolAllocator<OperationPtr>(pool_)};
  std::vector<capi::Future> given_up_;
};

}  // namespace rlx::detail::webgpu
