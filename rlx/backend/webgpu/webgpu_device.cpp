#include "rlx/backend/webgpu/webgpu_device.h"

#include "rlx/backend/webgpu/executor.h"

namespace rlx::detail::webgpu {

WebGpuDevice::~WebGpuDevice() {
#ifndef __EMSCRIPTEN__
  // Nobody else will wait for what programs and preparations have left under way.
  try {
    tickets_->wait_for_all();
  } catch (...) {  // a callback's, and nobody is there to be told
  }
#endif
}

LogicalDevicePtr WebGpuDevice::connect() {
  return wait_for<LogicalDevicePtr>(*this, [this](const Receive<LogicalDevicePtr>& done) {
    if (LogicalDevicePtr open = logical_->get(done)) done(std::move(open));
  });
}

void WebGpuDevice::prepare_async(PrepareOptions options, Receive<ExecutablePtr> done) {
  // There is no program yet that could be told what the callback throws.
  const auto tell = [tickets = tickets_, busy = std::make_shared<Tickets::Busy>(tickets_),
                     done = std::move(done)](Result<ExecutablePtr> made) {
    try {
      done(std::move(made));
    } catch (...) {
      tickets->keep(std::current_exception());
    }
  };
  std::shared_ptr<Executor> executor;
  try {
    executor = std::make_shared<Executor>(shared_from_this(), std::move(options));
  } catch (...) {
    return tell(current_error());
  }
  // While it is under way, its callbacks hold the executor, and nobody the device.
  executor->prepare_async([device = weak_from_this(), prepared = std::weak_ptr<Executor>(executor),
                           tell](const Error* error) {
    const std::shared_ptr<WebGpuDevice> open = device.lock();
    const std::shared_ptr<Executor> held = prepared.lock();
    if (error)
      tell(*error);
    else if (!open || !held)
      tell(Error(ErrorKind::device_lost, "prepare: the device was closed"));
    else
      tell(make_executable(open, held));
  });
}

void WebGpuDevice::wait_until(const std::function<bool()>& done) {
  const auto self = shared_from_this();  // a callback may drop the last other handle
  tickets_->wait(nullptr, done);
  tickets_->rethrow();
}

void WebGpuDevice::wait() {
  wait_until([this] { return tickets_->is_idle(); });
}

}  // namespace rlx::detail::webgpu
