#include "rlx/backend/webgpu/connection.h"

#include <utility>
#include <vector>

#include "rlx/image/words.h"

namespace rlx::detail::webgpu {

Connection::Connection(const std::shared_ptr<WebGpuDevice>& device, const image::Image& image,
                       const ImageNeeds& needs, Counters& counters, Callbacks& callbacks,
                       OnLoss on_loss)
    : device_(device),
      image_(image),
      needs_(needs),
      traits_(device->traits()),
      counters_(counters),
      callbacks_(callbacks),
      on_loss_(std::move(on_loss)) {}

bool Connection::open(const Ready& ready) {
  const std::shared_ptr<WebGpuDevice> device = device_.lock();
  if (!device) fail(ErrorKind::device_lost, "run: the device was closed");
  LogicalDevicePtr logical = device->logical().current();
  if (!logical)
    logical = callbacks_.expect([&] {
      return device->logical().get([this, ready](Result<LogicalDevicePtr> made) {
        callbacks_.arrive([&] {
          if (join(made.take(), ready)) ready();
        });
      });
    });
  return logical && join(std::move(logical), ready);
}

bool Connection::join(LogicalDevicePtr logical, const Ready& ready) {
  if (!parts_ || logical != parts_->logical) {
    notice_loss();
    callbacks_.drop_later(close());
    parts_ = std::make_shared<Parts>(std::move(logical), needs_.once_parts.size());
    ++number_;
  }
  if (!parts_->compiled && !compile(ready)) return false;
  make_resources();
  return true;
}

bool Connection::compile(const Ready& ready) {
  std::vector<const image::Kernel*> kernels;
  for (const image::Kernel& kernel : image_.kernels) kernels.push_back(&kernel);
  std::optional<PipelineList> made = callbacks_.expect([&] {
    return parts_->logical->pipelines->get(gpu(), kernels, counters_.pipelines,
                                           [this, ready](Result<PipelineList> compiled) {
                                             callbacks_.arrive([&] {
                                               take_pipelines(compiled.take());
                                               make_resources();
                                               ready();
                                             });
                                           });
  });
  if (made) take_pipelines(std::move(*made));
  return parts_->compiled;
}

void Connection::take_pipelines(PipelineList pipelines) {
  parts_->pipelines = std::move(pipelines);
  parts_->compiled = true;
}

void Connection::make_resources() {
  if (!parts_->resources)
    parts_->resources = std::make_unique<Resources>(parts_->logical, image_, needs_, counters_);
}

void Connection::notice_loss() const {
  if (!parts_) return;
  if (const auto reason = gpu()->lost()) on_loss_(*reason);
}

bool Connection::is_here(const DeviceTensor& tensor) const {
  const auto* memory = dynamic_cast<const GpuMemory*>(tensor.memory().get());
  if (!memory || memory->in_words()) return false;
  if (tensor.dtype() == DType::i64)
    for (const image::Input& input : image_.inputs)
      if (image::is_in_words(image_, input)) return false;
  const std::shared_ptr<WebGpuDevice> device = device_.lock();
  const LogicalDevicePtr open = device ? device->logical().current() : nullptr;
  return (open && memory->gpu() == open->gpu) || memory->gpu()->lost();
}

}  // namespace rlx::detail::webgpu
