#include "rlx/backend/webgpu/pipelines.h"

namespace rlx::detail::webgpu {

std::optional<PipelineList> Pipelines::get(const std::shared_ptr<Gpu>& gpu,
                                           const std::vector<const image::Kernel*>& kernels,
                                           uint64_t& compiled, Done<PipelineList> done) {
  const auto batch = std::make_shared<Batch>();
  batch->kernels = kernels;
  batch->made.resize(kernels.size());
  batch->done = std::move(done);
  std::vector<const image::Kernel*> fresh;
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < kernels.size(); ++i) {
      auto found = by_text_.find(kernels[i]->wgsl);
      if (found == by_text_.end()) {
        entries_.push_front({kernels[i]->wgsl, nullptr, {}});
        found = by_text_.emplace(entries_.front().wgsl, entries_.begin()).first;
        fresh.push_back(kernels[i]);
      }
      Entry& entry = *found->second;
      entries_.splice(entries_.begin(), entries_, found->second);
      batch->made[i] = entry.pipeline;
      if (entry.pipeline) continue;
      entry.waiting.push_back({batch, i});
      ++batch->missing;
    }
    drop_oldest();
    if (batch->missing == 0) return std::move(batch->made);
  }
  compiled += fresh.size();
  bool refused = false;
  for (const image::Kernel* kernel : fresh) {
    try {
      create(gpu, *kernel);
    } catch (...) {
      {
        const std::lock_guard lock(mutex_);
        batch->done = nullptr;  // this call throws instead
      }
      refused = true;
      arrive(kernel->wgsl, current_error());
    }
  }
  if (refused) throw Error(*batch->error);
  return std::nullopt;
}

void Pipelines::create(const std::shared_ptr<Gpu>& gpu, const image::Kernel& kernel) {
  PipelineSource source{kernel.name, kernel.wgsl, {}, static_cast<uint64_t>(kernel.params_bytes)};
  for (const image::Access access : kernel.bindings)
    source.storage.push_back(access == image::Access::read ? BindingAccess::read
                                                           : BindingAccess::read_write);
  tickets_->start(nullptr, gpu, [&](Tickets::Id id) {
    return gpu->create_pipeline(
        source, [self = shared_from_this(), id, wgsl = kernel.wgsl](Result<PipelinePtr> result) {
          self->tickets_->close(id);
          self->arrive(wgsl, std::move(result));
        });
  });
}

void Pipelines::arrive(const std::string& wgsl, Result<PipelinePtr> result) {
  std::vector<std::shared_ptr<Batch>> complete;
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_text_.find(wgsl);
    if (found == by_text_.end()) return;
    Entry& entry = *found->second;
    const std::vector<Waiting> waiting = std::move(entry.waiting);
    entry.waiting.clear();
    if (result.ok()) entry.pipeline = result.take();
    for (const Waiting& each : waiting) {
      Batch& batch = *each.batch;
      const image::Kernel& kernel = *batch.kernels[each.index];
      batch.made[each.index] = entry.pipeline;
      if (!result.ok() && !batch.error)
        batch.error = Error(result.error().kind(), text("kernel ", kernel.name, ": ",
                                                        map_error(kernel, result.error().what())));
      if (--batch.missing == 0) complete.push_back(each.batch);
    }
    if (!entry.pipeline) {  // the next one to ask tries again
      const auto at = found->second;
      by_text_.erase(found);
      entries_.erase(at);
    }
  }
  for (const std::shared_ptr<Batch>& batch : complete) {
    if (!batch->done) continue;
    if (batch->error)
      batch->done(*batch->error);
    else
      batch->done(std::move(batch->made));
  }
}

void Pipelines::drop_oldest() {
  for (auto at = entries_.end(); entries_.size() > most_ && at != entries_.begin();) {
    --at;
    if (!at->pipeline) continue;  // somebody waits for it
    by_text_.erase(at->wgsl);
    at = entries_.erase(at);
    ++dropped_;
  }
}

size_t Pipelines::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

CacheReport Pipelines::report() const {
  const std::lock_guard lock(mutex_);
  return {"pipelines", static_cast<int64_t>(entries_.size()), static_cast<int64_t>(most_),
          dropped_};
}

std::string map_error(const image::Kernel& kernel, const std::string& message) {
  if (kernel.sections.empty()) return message;
  // The first ":<line>:<column>" is the compiler's place in the module.
  for (size_t at = message.find(':'); at != std::string::npos; at = message.find(':', at + 1)) {
    const size_t line_end = message.find_first_not_of("0123456789", at + 1);
    if (line_end == at + 1 || line_end == std::string::npos || message[line_end] != ':') continue;
    const size_t column_end = message.find_first_not_of("0123456789", line_end + 1);
    if (column_end == line_end + 1 || line_end - at > 8) continue;
    const int line = std::stoi(message.substr(at + 1, line_end - at - 1));
    const image::Kernel::Section* section = &kernel.sections.front();
    for (const image::Kernel::Section& candidate : kernel.sections)
      if (candidate.first_line <= line) section = &candidate;
    const std::string file = section->file.empty() ? "(generated)" : section->file;
    return text(file, ':', line - section->first_line + 1,
                message.substr(line_end, column_end - line_end), ": ", message);
  }
  return message;
}

}  // namespace rlx::detail::webgpu
