#include "rlx/base/large_pages.h"

#include <cstdint>

#include "rlx/base/clock.h"

#ifdef __linux__
#include <sys/mman.h>
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
#else
constexpr bool kCanAsk = false;
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
    const auto start = Clock::now();
    *const_cast<volatile std::byte*>(begin + at) = std::byte{0};  // all of the page is made
    if (!keep_on(1, microseconds_since(start))) return advise(begin + at + kLargePage, end, false);
  }
}

bool LargePages::keep_on(size_t pages, double microseconds) {
  // Half the time of usual pages; and now and then a thread has to wait for something else.
  constexpr double kForEach = 300, kOnce = 5'000;
  made_ += pages;
  spent_ += microseconds;
  slow_ |= spent_ > kOnce + kForEach * static_cast<double>(made_);
  return !slow_;
}

}  // namespace rlx
