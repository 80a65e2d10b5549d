#include "rlx/tensor/device_tensor.h"

#include "rlx/base/error.h"
#include "rlx/tensor/device_memory.h"

namespace rlx {

Tensor DeviceTensor::read() const {
  require(present(), "read: this device tensor holds nothing");
  return memory_->read(dtype_, shape_);
}

void DeviceTensor::read_async(Receive<Tensor> done) const {
  require(present(), "read: this device tensor holds nothing");
  memory_->read_async(dtype_, shape_, std::move(done));
}

}  // namespace rlx
