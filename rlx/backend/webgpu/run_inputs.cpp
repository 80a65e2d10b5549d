#include "rlx/backend/webgpu/run_inputs.h"

namespace rlx::detail::webgpu {

using image::ValueId;

void RunInputs::take(const RunRequest& request, const Brought& brought, const image::Cells& cells) {
  Resources& resources = connection_.resources();
  on_host_.assign(image_.values.size(), nullptr);
  outcomes_.clear();
  for (size_t i = 0; i < image_.inputs.size(); ++i) {
    const ValueId value = image_.inputs[i].value;
    if (value < 0) continue;
    const Tensor* tensor = nullptr;
    for (const auto& [at, read] : brought)
      if (at == i) tensor = &read;
    const bool on_device = i < request.device_inputs.size() && request.device_inputs[i].present();
    if (!on_device) tensor = &request.inputs[i];
    if (!tensor) {
      borrow(i, request.device_inputs[i]);
      continue;
    }
    on_host_[size_t(value)] = tensor;
    resources.borrow(value, nullptr);
    if (needs_.on_device[size_t(value)])
      resources.upload_changed(value, *tensor, resources.capacity(value, cells));
  }
}

void RunInputs::borrow(size_t index, const DeviceTensor& tensor) {
  const image::Input& input = image_.inputs[index];
  const auto* memory = dynamic_cast<const GpuMemory*>(tensor.memory().get());
  if (!memory || memory->gpu() != connection_.gpu())
    fail(ErrorKind::device_lost, "run: input '", input.name, "' was on a device that is lost");
  // What its run may have clamped is told now, or when this one has ended.
  for (const std::shared_ptr<Outcome>& outcome : memory->outcomes()) {
    if (!outcome->known())
      outcomes_.push_back(outcome);
    else if (const auto error = outcome->tell())
      throw *error;
  }
  connection_.resources().borrow(input.value, memory->buffer());
}

}  // namespace rlx::detail::webgpu
