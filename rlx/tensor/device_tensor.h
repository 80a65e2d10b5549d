// A tensor that stays on a device: an output of one run, an input of another.
#pragma once

#include "rlx/base/result.h"
#include "rlx/base/shared.h"
#include "rlx/tensor/tensor.h"

namespace rlx {

class DeviceMemory;

class DeviceTensor {
 public:
  DeviceTensor() = default;
  DeviceTensor(DType dtype, Shape shape, Shared<DeviceMemory> memory)
      : dtype_(dtype), shape_(std::move(shape)), memory_(std::move(memory)) {}

  bool present() const { return bool(memory_); }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  Tensor read() const;  // waits
  void read_async(Receive<Tensor> done) const;
  const Shared<DeviceMemory>& memory() const { return memory_; }

 private:
  DType dtype_ = DType::f32;
  Shape shape_;
  Shared<DeviceMemory> memory_;
};

}  // namespace rlx
