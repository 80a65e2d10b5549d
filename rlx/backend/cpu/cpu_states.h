// The states of a program on the CPU: read, written, copied to a snapshot and back, and never given
// half written.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rlx/backend/cpu/cpu_memory.h"

namespace rlx::detail {

class CpuStates {
 public:
  CpuStates(const image::Image& image, CpuMemory& memory) : image_(image), memory_(memory) {}

  Tensor read(const std::string& name);
  void write(const std::string& name, const Tensor& tensor);
  void take_snapshot();
  void restore_snapshot();

  // A run that failed had begun to write these.
  void mark_half_written(const std::vector<image::ValueId>& states);
  // An Error that names the states that are half written.
  void require_whole() const;

 private:
  void set(image::ValueId value, Tensor tensor);

  const image::Image& image_;
  CpuMemory& memory_;
  std::set<image::ValueId> half_written_;
  std::map<image::ValueId, Tensor> snapshot_;
};

}  // namespace rlx::detail
