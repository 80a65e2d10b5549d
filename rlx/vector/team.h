// A team of threads that works through ranges. The threads belong to the process: all teams share
// them, in turns, and they sleep between runs. Whoever calls works too.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "rlx/vector/range.h"

namespace rlx::vector {

// Where the members of one region meet: none goes on before all have come.
class Barrier {
 public:
  explicit Barrier(int members) : members_(members) {}
  void wait();

  // A member failed and will not come: wait() throws this in the others, up to their region.
  struct Abandoned {};
  void abandon();

 private:
  const int members_;
  std::atomic<int> came_{0};
  std::atomic<uint32_t> round_{0};
  std::atomic<bool> abandoned_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
};

// Hands out the numbers below a count. Each member has a part of its own, the same for every count
// that it divides, and takes it in order; then it takes what others have left. Of a member that is
// at work it takes nothing where little is left: what is computed on another core than before moves
// from cache to cache, here and in what follows, which costs more than a short wait.
class Shares {
 public:
  Shares(int64_t count, int members);
  int64_t take(int member);  // -1: none is left
  void stop();               // what was not taken stays undone

 private:
  static constexpr int kMost = 32;  // shares; members beyond have one together
  struct alignas(64) Next {
    std::atomic<int64_t> number{0};
    std::atomic<bool> begun{false};  // by its owner
  };
  static bool is_left_to_its_owner(const Next& next, int64_t left, int64_t all) {
    return next.begun.load(std::memory_order_relaxed) && left * 3 <= all;
  }
  const int64_t count_;
  const int shares_;
  std::array<Next, kMost> next_;
};

class Team {
 public:
  // 0: as many as there are cores. Threads are started by the first run that has work for them.
  explicit Team(int threads = 0);

  int threads() const { return threads_; }

  class Stretch;

  // body(begin, end) for ranges that make up [0, count), each of `grain` or more but the last, in
  // any order and at the same time, a part of it mostly on the same thread. Work of at most one
  // grain, and what is called from a body of a team, stays on the caller. The first exception of a
  // body is thrown here; ranges not begun by then are left out. Runs of several threads, of this
  // team or of others, take turns.
  template <class Body>
  void run(int64_t count, int64_t grain, const Body& body) {
    run_ranges(
        count, grain,
        [](const void* context, int64_t begin, int64_t end) {
          (*static_cast<const Body*>(context))(begin, end);
        },
        &body);
  }

  // body(member, members, barrier) for every member at the same time, so that they may meet.
  template <class Body>
  void region(const Body& body) {
    const int members = is_inside() ? 1 : threads_;
    Barrier barrier(members);
    run(members, 1, [&](int64_t begin, int64_t end) {
      for (int64_t member = begin; member < end; ++member) {
        try {
          body(static_cast<int>(member), members, barrier);
        } catch (const Barrier::Abandoned&) {  // the one who failed says why
        } catch (...) {
          barrier.abandon();
          throw;
        }
      }
    });
  }

 private:
  using Ranges = void (*)(const void* context, int64_t begin, int64_t end);
  class Crew;  // the threads of the process

  static bool is_inside();
  void run_ranges(int64_t count, int64_t grain, Ranges ranges, const void* context);

  int threads_;
  std::shared_ptr<Crew> crew_;
};

// While one is alive, the threads stay awake for some time after a job: the steps of a run follow
// each other closely, and a thread that sleeps takes longer to wake than most steps take.
class Team::Stretch {
 public:
  explicit Stretch(const Team& team);
  ~Stretch();
  Stretch(const Stretch&) = delete;
  Stretch& operator=(const Stretch&) = delete;

 private:
  Crew* crew_;  // null where the team is one thread
};

}  // namespace rlx::vector
