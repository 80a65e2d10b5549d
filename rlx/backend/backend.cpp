#include "rlx/backend/backend.h"

#include <optional>

namespace rlx {

Counters difference(const Counters& after, const Counters& before) {
  return {after.runs - before.runs,
          after.plans - before.plans,
          after.pipelines - before.pipelines,
          after.buffers - before.buffers,
          after.bind_groups - before.bind_groups,
          after.submits - before.submits,
          after.uploads - before.uploads,
          after.upload_bytes - before.upload_bytes,
          after.readbacks - before.readbacks,
          after.readback_bytes - before.readback_bytes,
          after.dispatches - before.dispatches,
          after.host_steps - before.host_steps};
}

Tensor DeviceTensor::read() const {
  require(present(), "read: this device tensor holds nothing");
  return memory_->read(dtype_, shape_);
}

void DeviceTensor::read_async(Receive<Tensor> done) const {
  require(present(), "read: this device tensor holds nothing");
  memory_->read_async(dtype_, shape_, std::move(done));
}

ExecutablePtr prepare(Backend& backend, PrepareOptions options) {
  return wait_for<ExecutablePtr>(backend, [&](Receive<ExecutablePtr> done) {
    backend.prepare_async(std::move(options), std::move(done));
  });
}

}  // namespace rlx
