// Memory of a device that holds one tensor.
#pragma once

#include "rlx/tensor/tensor.h"

namespace rlx {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // device_lost when its device is gone.
  virtual void read_async(DType dtype, const Shape& shape, Receive<Tensor> done) = 0;
  virtual Tensor read(DType dtype, const Shape& shape) = 0;  // waits
  // Natively: lets callbacks arrive until no read of this memory is under way.
  virtual void wait_for_reads() = 0;
};

}  // namespace rlx
