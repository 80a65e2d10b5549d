#include "rlx/base/large_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <new>

namespace rlx {
namespace {

TEST(LargePages, AreMadeUntilTheyHaveTakenTooLong) {
  LargePages quick;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(quick.keep_on(1, 100));
  EXPECT_TRUE(quick.keep_on(1, 9'000));  // one was slow

  LargePages slow;  // as a host that fetches each of their parts
  int made = 0;
  while (made < 100 && slow.keep_on(1, 4'500)) ++made;
  EXPECT_LE(made, 5);
  EXPECT_FALSE(slow.keep_on(1, 0)) << "once slow, slow for good";
}

// Two pages and a half behind each other, with bytes that somebody has written.
struct Memory {
  static constexpr size_t kBytes = 5 * kLargePage / 2;
  Memory() : data(static_cast<std::byte*>(::operator new (kBytes, std::align_val_t{kLargePage}))) {
    std::fill_n(data, kBytes, std::byte{1});
  }
  ~Memory() { ::operator delete (data, std::align_val_t{kLargePage}); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::byte* data;
};

TEST(LargePages, APartMakesThoseThatBeginInItAndTouchesNothingElse) {
  const Memory memory;
  LargePages pages;
  pages.ask(memory.data, Memory::kBytes);
  pages.make(memory.data + 1, kLargePage - 1, memory.data + Memory::kBytes);
  EXPECT_EQ(std::count(memory.data, memory.data + Memory::kBytes, std::byte{0}), 0);
  pages.make(memory.data + 1, Memory::kBytes - 1, memory.data + Memory::kBytes);
#ifdef __linux__
  EXPECT_EQ(std::count(memory.data, memory.data + Memory::kBytes, std::byte{0}), 2);
  EXPECT_EQ(memory.data[kLargePage], std::byte{0});
  EXPECT_EQ(memory.data[2 * kLargePage], std::byte{0});
#endif
}

TEST(LargePages, NoneAreMadeWhereTheyAreSlow) {
  const Memory memory;
  LargePages pages;
  EXPECT_FALSE(pages.keep_on(1, 1e6));
  pages.ask(memory.data, Memory::kBytes);
  pages.make(memory.data, Memory::kBytes, memory.data + Memory::kBytes);
  EXPECT_EQ(std::count(memory.data, memory.data + Memory::kBytes, std::byte{0}), 0);
}

}  // namespace
}  // namespace rlx
