// One run at a time.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

namespace rlx::detail::webgpu {

// Whose turn it is with an executor: one thread's, until it says so, or that of an asynchronous
// call, which ends only while somebody waits for the device.
class Turns {
 public:
  // For an asynchronous call; false when it is somebody's turn already.
  bool try_begin() {
    {
      const std::lock_guard lock(mutex_);
      if (taken_) return false;
      taken_ = asynchronous_ = true;
    }
    changed_.notify_all();
    return true;
  }
  // `wait` waits until an asynchronous call is over.
  void begin(const std::function<void()>& wait) {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !taken_ || asynchronous_; });
        if (!taken_) {
          taken_ = true;
          return;
        }
      }
      wait();
    }
  }
  void end() {
    {
      const std::lock_guard lock(mutex_);
      taken_ = asynchronous_ = false;
    }
    changed_.notify_one();
  }
  bool taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  bool is_asynchronous() const {
    const std::lock_guard lock(mutex_);
    return asynchronous_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool taken_ = false, asynchronous_ = false;
};

}  // namespace rlx::detail::webgpu
