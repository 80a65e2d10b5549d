#include "rlx/vector/team.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

#include "rlx/vector/cores.h"
#include "rlx/vector/range.h"

namespace rlx::vector {
namespace {

#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
constexpr bool kHasThreads = false;
#else
constexpr bool kHasThreads = true;
#endif

// Longer than most steps take, shorter than anyone would notice on a busy machine.
constexpr auto kSpin = std::chrono::microseconds(20);
// Inside a stretch, behind that: between two looks others may have the core.
constexpr auto kAwake = std::chrono::microseconds(400);

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// True as soon as `done` is, false after kSpin.
template <class Done>
bool spin_until(const Done& done) {
  if (done()) return true;
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

// True as soon as `done` is, false after kAwake or when `goes_on` is false.
template <class Done, class GoesOn>
bool stay_awake_until(const Done& done, const GoesOn& goes_on) {
  const auto end = std::chrono::steady_clock::now() + kAwake;
  while (goes_on() && std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      pause();
    }
    std::this_thread::yield();
  }
  return done();
}

// Is this thread inside a body? A run from there stays on it.
thread_local bool inside = false;

}  // namespace

void Barrier::wait() {
  const uint32_t round = round_.load();
  if (came_.fetch_add(1) + 1 == members_) {
    came_.store(0);
    {
      const std::lock_guard lock(mutex_);
      round_.store(round + 1);
    }
    changed_.notify_all();
    return;
  }
  const auto done = [&] { return round_.load() != round || abandoned_.load(); };
  if (!spin_until(done)) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, done);
  }
  if (round_.load() == round) throw Abandoned();
}

void Barrier::abandon() {
  {
    const std::lock_guard lock(mutex_);
    abandoned_.store(true);
  }
  changed_.notify_all();
}

Shares::Shares(int64_t count, int members) : count_(count), shares_(std::clamp(members, 1, kMost)) {
  for (int i = 0; i < shares_; ++i)
    next_[static_cast<size_t>(i)].number = part_at(i, shares_, count).begin;
}

int64_t Shares::take(int member) {
  for (int i = 0; i < shares_; ++i) {
    const int share = (member + i) % shares_;
    const Range all = part_at(share, shares_, count_);
    Next& next = next_[static_cast<size_t>(share)];
    const int64_t left = all.end - next.number.load(std::memory_order_relaxed);
    if (left <= 0) continue;
    if (i == 0)
      next.begun.store(true, std::memory_order_relaxed);
    else if (is_left_to_its_owner(next, left, all.count()))
      continue;
    const int64_t number = next.number.fetch_add(1, std::memory_order_relaxed);
    if (number < all.end) return number;
  }
  return -1;
}

void Shares::stop() {
  for (int i = 0; i < shares_; ++i)
    next_[static_cast<size_t>(i)].number = part_at(i, shares_, count_).end;
}

// Lives as long as a team does; its threads are started by the first runs that have work for them.
class Team::Crew {
 public:
  static std::shared_ptr<Crew> of_process();
  Crew() = default;
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // By the caller and `threads` - 1 others.
  void run(int threads, int64_t count, int64_t chunk, Ranges ranges, const void* context);

  void begin_stretch() { stretches_.fetch_add(1, std::memory_order_relaxed); }
  void end_stretch() { stretches_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  struct Job {
    int threads;
    Ranges ranges;
    const void* context;
    int64_t count, chunk;
    Shares chunks;  // what a member wrote in one job is in its cache when it reads it in the next
    std::mutex mutex = {};  // of the exception
    std::exception_ptr exception = {};
  };
  void serve(int member);
  template <class Done>
  bool wait_awake(const Done& done) const {
    return spin_until(done) ||
           stay_awake_until(done, [&] { return stretches_.load(std::memory_order_relaxed) > 0; });
  }
  static void work(Job& job, int member);

  std::mutex turn_;  // held by the caller whose job it is
  std::vector<std::thread> workers_;

  std::atomic<Job*> job_{nullptr};
  std::atomic<uint32_t> epoch_{0};  // counts jobs
  std::atomic<int> active_{0};      // workers that may hold job_
  std::atomic<bool> stop_{false};
  std::atomic<int> stretches_{0};

  std::mutex mutex_;  // of the two below
  std::condition_variable begun_, ended_;
  std::atomic<int> sleeping_{0};
  std::atomic<bool> caller_sleeps_{false};
};

// Programs of several devices would otherwise each bring threads for every core.
std::shared_ptr<Team::Crew> Team::Crew::of_process() {
  static std::mutex mutex;
  static std::weak_ptr<Crew> known;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Crew> crew = known.lock();
  if (!crew) known = crew = std::make_shared<Crew>();
  return crew;
}

Team::Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    stop_.store(true);
    epoch_.fetch_add(1);
  }
  begun_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

Team::Team(int threads)
    : threads_(!kHasThreads  ? 1
               : threads > 0 ? threads
                             : core_count()),
      crew_(Crew::of_process()) {}

Team::Stretch::Stretch(const Team& team) : crew_(team.threads_ > 1 ? team.crew_.get() : nullptr) {
  if (crew_) crew_->begin_stretch();
}
Team::Stretch::~Stretch() {
  if (crew_) crew_->end_stretch();
}

bool Team::is_inside() { return inside; }

void Team::Crew::work(Job& job, int member) {
  inside = true;
  for (;;) {
    const int64_t number = job.chunks.take(member);
    if (number < 0) break;
    try {
      const int64_t begin = number * job.chunk;
      job.ranges(job.context, begin, std::min(begin + job.chunk, job.count));
    } catch (...) {
      job.chunks.stop();
      const std::lock_guard lock(job.mutex);
      if (!job.exception) job.exception = std::current_exception();
    }
  }
  inside = false;
}

void Team::run_ranges(int64_t count, int64_t grain, Ranges ranges, const void* context) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  if (threads_ == 1 || inside || count <= grain) {
    ranges(context, 0, count);
    return;
  }
  // Several chunks a thread, so that one that comes late or is held up leaves its share to others.
  constexpr int64_t kChunks = 4;
  const int64_t even = (count + threads_ * kChunks - 1) / (threads_ * kChunks);
  crew_->run(threads_, count, std::max(grain, even), ranges, context);
}

void Team::Crew::run(int threads, int64_t count, int64_t chunk, Ranges ranges,
                     const void* context) {
  const std::lock_guard turn(turn_);
  while (static_cast<int>(workers_.size()) + 1 < threads)
    workers_.emplace_back(
        [this, member = static_cast<int>(workers_.size()) + 1] { serve(member); });
  Job job{threads, ranges, context, count, chunk, Shares((count + chunk - 1) / chunk, threads)};
  job_.store(&job);
  epoch_.fetch_add(1);
  if (sleeping_.load() > 0) {
    { const std::lock_guard lock(mutex_); }  // whoever counted itself as asleep is waiting by now
    begun_.notify_all();
  }
  work(job, 0);
  // Nobody can begin with the job any more; wait for those who did.
  job_.store(nullptr);
  const auto done = [&] { return active_.load() == 0; };
  if (!wait_awake(done)) {
    std::unique_lock lock(mutex_);
    caller_sleeps_.store(true);
    ended_.wait(lock, done);
    caller_sleeps_.store(false);
  }
  if (job.exception) std::rethrow_exception(job.exception);
}

void Team::Crew::serve(int member) {
  // From 0, not from the counter: the job that started this thread may be on its way already.
  for (uint32_t seen = 0;;) {
    const auto begun = [&] { return epoch_.load() != seen; };
    if (!wait_awake(begun)) {
      std::unique_lock lock(mutex_);
      sleeping_.fetch_add(1);
      begun_.wait(lock, begun);
      sleeping_.fetch_sub(1);
    }
    if (stop_.load()) return;
    seen = epoch_.load();
    active_.fetch_add(1);
    if (Job* job = job_.load(); job && member < job->threads) work(*job, member);
    if (active_.fetch_sub(1) == 1 && caller_sleeps_.load()) {
      { const std::lock_guard lock(mutex_); }
      ended_.notify_all();
    }
  }
}

}  // namespace rlx::vector
