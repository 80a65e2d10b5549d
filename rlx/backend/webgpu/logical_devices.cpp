#include "rlx/backend/webgpu/logical_devices.h"

namespace rlx::detail::webgpu {

LogicalDevicePtr LogicalDevices::current() const {
  const std::lock_guard lock(mutex_);
  return logical_ && !logical_->gpu->lost() ? logical_ : nullptr;
}

LogicalDevicePtr LogicalDevices::get(Done<LogicalDevicePtr> done) {
  LogicalDevicePtr lost;  // goes when the lock is gone: it may call back
  {
    const std::lock_guard lock(mutex_);
    if (logical_ && !logical_->gpu->lost()) return logical_;
    lost = std::move(logical_);
    logical_ = nullptr;
    waiting_.push_back(std::move(done));
    if (std::exchange(opening_, true)) return nullptr;
  }
  const Tickets::Id id = tickets_->open(nullptr);
  try {
    const Started started =
        open_([self = shared_from_this(), id](Result<std::shared_ptr<Gpu>> opened) {
          self->tickets_->close(id);
          self->arrive(std::move(opened));
        });
    tickets_->set(id, started.by, started.ticket);
  } catch (...) {
    tickets_->close(id);
    {
      const std::lock_guard lock(mutex_);
      waiting_.erase(waiting_.begin());  // its own: it was the first
    }
    arrive(current_error());
    throw;
  }
  return nullptr;
}

void LogicalDevices::arrive(Result<std::shared_ptr<Gpu>> opened) {
  std::vector<Done<LogicalDevicePtr>> waiting;
  LogicalDevicePtr made;
  if (opened.ok()) made = std::make_shared<LogicalDevice>(opened.take(), tickets_);
  {
    const std::lock_guard lock(mutex_);
    logical_ = made;
    opening_ = false;
    waiting = std::move(waiting_);
    waiting_.clear();
  }
  for (const Done<LogicalDevicePtr>& done : waiting) {
    if (made)
      done(made);
    else
      done(opened.error());
  }
}

}  // namespace rlx::detail::webgpu
