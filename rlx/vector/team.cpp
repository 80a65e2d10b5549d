#include "rlx/vector/team.h"

#include <algorithm>
#include <chrono>

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

// Each member begins with a part of its own, the same whenever as much is to be done: what it wrote
// in one job is in its cache when it reads it in the next. Then it helps the others.
struct Team::Job {
  struct alignas(64) Part {
    std::atomic<int64_t> next{0};  // chunk
    int64_t end = 0;
  };
  static constexpr int kMostParts = 32;

  Job(Ranges of, const void* with, int64_t all, int64_t each, int members)
      : ranges(of), context(with), count(all), chunk(each), parts(std::min(members, kMostParts)) {
    const int64_t chunks = (count + chunk - 1) / chunk;
    for (int p = 0; p < parts; ++p) {
      part[p].next.store(chunks * p / parts, std::memory_order_relaxed);
      part[p].end = chunks * (p + 1) / parts;
    }
  }
  // A range that is left for a member; an empty one: none is.
  Range take(int member) {
    for (int i = 0; i < parts; ++i) {
      Part& from = part[(member + i) % parts];
      if (from.next.load(std::memory_order_relaxed) >= from.end) continue;
      const int64_t at = from.next.fetch_add(1, std::memory_order_relaxed);
      if (at < from.end) return {at * chunk, std::min((at + 1) * chunk, count)};
    }
    return {};
  }
  void stop() {  // what is not begun stays undone
    for (int p = 0; p < parts; ++p) part[p].next.store(part[p].end, std::memory_order_relaxed);
  }

  const Ranges ranges;
  const void* const context;
  const int64_t count, chunk;
  const int parts;
  Part part[kMostParts];
  std::mutex mutex = {};  // of the exception
  std::exception_ptr exception = {};
};

Team::Team(int threads) : threads_(!kHasThreads ? 1 : threads > 0 ? threads : core_count()) {}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    stop_.store(true);
    epoch_.fetch_add(1);
  }
  begun_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

bool Team::is_inside() { return inside; }

void Team::start_threads() {
  if (!workers_.empty()) return;
  for (int i = 1; i < threads_; ++i) workers_.emplace_back([this, i] { serve(i); });
}

void Team::work(Job& job, int member) {
  inside = true;
  for (;;) {
    const Range range = job.take(member);
    if (range.count() == 0) break;
    try {
      job.ranges(job.context, range.begin, range.end);
    } catch (...) {
      job.stop();
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
  const std::lock_guard turn(turn_);
  start_threads();
  Job job(ranges, context, count, std::max(grain, even), threads_);
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
  if (!spin_until(done)) {
    std::unique_lock lock(mutex_);
    caller_sleeps_.store(true);
    ended_.wait(lock, done);
    caller_sleeps_.store(false);
  }
  if (job.exception) std::rethrow_exception(job.exception);
}

void Team::serve(int member) {
  // From 0, not from the counter: the job that started this thread may be on its way already.
  for (uint32_t seen = 0;;) {
    const auto begun = [&] { return epoch_.load() != seen; };
    if (!spin_until(begun)) {
      std::unique_lock lock(mutex_);
      sleeping_.fetch_add(1);
      begun_.wait(lock, begun);
      sleeping_.fetch_sub(1);
    }
    if (stop_.load()) return;
    seen = epoch_.load();
    active_.fetch_add(1);
    if (Job* job = job_.load()) work(*job, member);
    if (active_.fetch_sub(1) == 1 && caller_sleeps_.load()) {
      { const std::lock_guard lock(mutex_); }
      ended_.notify_all();
    }
  }
}

}  // namespace rlx::vector
