// Pages of the system that are larger than the usual ones, for memory that is read all over again:
// fewer of them have to be looked up, which in a virtual machine takes long, and to be made.
#pragma once

#include <cstddef>
#include <mutex>

namespace rlx {

constexpr size_t kLargePage = size_t{1} << 21;

// Makes them for as long as the system is quick at it. A large page takes a tenth of the time of
// the usual pages in its place; but where a host gives a virtual machine memory that is touched for
// the first time, it may take six times as long.
class LargePages {
 public:
  // Asks for them before memory is written to; where there are none, nothing changes. Memory that
  // is smaller than two of them stays as it is, and all does when they have been slow.
  void ask(void* data, size_t bytes);
  // Makes those that begin in a part of memory that was asked for, up to `end`, and which nobody
  // has written to. When they are slow what is left before `end` gets usual ones.
  void make(void* part, size_t bytes, const void* end);
  // What `make` decides by: so many pages took so long.
  bool keep_on(size_t pages, double microseconds);

 private:
  std::mutex mutex_;
  size_t made_ = 0;
  double spent_ = 0;  // microseconds
  bool slow_ = false;
};

}  // namespace rlx
