// The pipelines of a logical device, by the text of their module and shared by its programs. Those
// used least recently go first; programs hold what they use.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rlx/backend/webgpu/gpu.h"
#include "rlx/backend/webgpu/tickets.h"
#include "rlx/base/report.h"
#include "rlx/image/image.h"

namespace rlx::detail::webgpu {

using PipelineList = std::vector<PipelinePtr>;

class Pipelines : public std::enable_shared_from_this<Pipelines> {
 public:
  explicit Pipelines(std::shared_ptr<Tickets> tickets, size_t most = 1024)
      : tickets_(std::move(tickets)), most_(most) {}

  // A pipeline for each kernel: at once where all are there, else through `done`, which is then
  // never called before this returns to a thread that waits for nothing, and not at all where this
  // throws. The kernels must live until then. `compiled` counts those that are new.
  std::optional<PipelineList> get(const std::shared_ptr<Gpu>& gpu,
                                  const std::vector<const image::Kernel*>& kernels,
                                  uint64_t& compiled, Done<PipelineList> done);
  size_t size() const;
  CacheReport report() const;

 private:
  // What one caller waits for.
  struct Batch {
    std::vector<const image::Kernel*> kernels;
    PipelineList made;
    size_t missing = 0;
    std::optional<Error> error;
    Done<PipelineList> done;
  };
  struct Waiting {
    std::shared_ptr<Batch> batch;
    size_t index = 0;
  };
  struct Entry {
    std::string wgsl;
    PipelinePtr pipeline;  // none: it is being compiled
    std::vector<Waiting> waiting;
  };
  using Entries = std::list<Entry>;

  void create(const std::shared_ptr<Gpu>& gpu, const image::Kernel& kernel);
  void arrive(const std::string& wgsl, Result<PipelinePtr> result);
  void drop_oldest();

  const std::shared_ptr<Tickets> tickets_;
  const size_t most_;
  mutable std::mutex mutex_;
  Entries entries_;  // most recently used first
  std::map<std::string_view, Entries::iterator> by_text_;
  int64_t dropped_ = 0;
};

// "softmax.wgsl:12:5: ..." for the compiler's "...:47:5 ..." about the whole module.
std::string map_error(const image::Kernel& kernel, const std::string& message);

}  // namespace rlx::detail::webgpu
