// A program's calls of its user: which threads are in one, and what one threw, which is for those
// who wait for this program and for nobody else.
#pragma once

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace rlx::detail::webgpu {

class UserCalls {
 public:
  template <class Call>
  void call(const Call& user) {
    const std::thread::id here = std::this_thread::get_id();
    {
      const std::lock_guard lock(mutex_);
      calling_.push_back(here);
    }
    std::exception_ptr thrown;
    try {
      user();
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    calling_.erase(std::find(calling_.begin(), calling_.end(), here));
    if (thrown && !thrown_) thrown_ = thrown;
  }

  bool is_here() const {  // is this thread in one?
    const std::lock_guard lock(mutex_);
    return std::find(calling_.begin(), calling_.end(), std::this_thread::get_id()) !=
           calling_.end();
  }
  bool is_anywhere() const {
    const std::lock_guard lock(mutex_);
    return !calling_.empty();
  }
  void rethrow() {
    std::exception_ptr thrown;
    {
      const std::lock_guard lock(mutex_);
      thrown = std::exchange(thrown_, nullptr);
    }
    if (thrown) std::rethrow_exception(thrown);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::thread::id> calling_;
  std::exception_ptr thrown_;
};

}  // namespace rlx::detail::webgpu
