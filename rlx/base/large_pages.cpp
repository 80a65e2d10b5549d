#include "rlx/base/large_pages.h"

#include <cstdint>

#ifdef __linux__
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#endif

namespace rlx {
namespace {

#if defined(__linux__) && defined(MADV_HUGEPAGE) && defined(MADV_NOHUGEPAGE)
constexpr bool kCanAsk = true;
void advise(const void* data, const void* end, bool large) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (at + page - 1) / page * page,
                  last = reinterpret_cast<uintptr_t>(end) / page * page;
  if (first >= last) return;
  (void)::madvise(reinterpret_cast<void*>(first), last - first,
                  large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}
// Of this thread alone: what it waits for others says nothing of pages.
double processor_microseconds() {
  timespec now = {};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}
#else
constexpr bool kCanAsk = false;
double processor_microseconds() { return 0; }
void advise(const void*, const void*, bool) {}
#endif

}  // namespace

void LargePages::ask(void* data, size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (kCanAsk && !slow_ && bytes >= 2 * kLargePage)
    advise(data, static_cast<std::byte*>(data) + bytes, true);
}

void LargePages::make(void* part, size_t bytes, const void* end) {
  const std::lock_guard lock(mutex_);
  if (!kCanAsk || slow_) return;
  auto* const begin = static_cast<std::byte*>(part);
  const size_t before = (kLargePage - reinterpret_cast<uintptr_t>(part) % kLargePage) % kLargePage;
  for (size_t at = before; at < bytes; at += kLargePage) {
    const double start = processor_microseconds();
    *const_cast<volatile std::byte*>(begin + at) = std::byte{0};  // all of the page is made
    if (!keep_on(1, processor_microseconds() - start))
      return advise(begin + at + kLargePage, end, false);
  }
}

bool LargePages::keep_on(size_t pages, double microseconds) {
  // Less than half the time of usual pages, and one that is slow.
  constexpr double kForEach = 300, kOnce = 5'000;
  made_ += pages;
  spent_ += microseconds;
  slow_ |= spent_ > kOnce + kForEach * static_cast<double>(made_);
  return !slow_;
}

}  // namespace rlx
