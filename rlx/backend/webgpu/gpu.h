// What rlx needs of WebGPU, and no more. Native code implements it over the C API, the web over
// JavaScript. Nothing here blocks but wait(); commands are data, so encoders never leave submit().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rlx/base/device_traits.h"
#include "rlx/base/error.h"

namespace rlx::detail::webgpu {

template <class T>
using Done = std::function<void(Result<T>)>;

// Objects of the device. They release what they hold when the last handle goes.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual uint64_t bytes() const = 0;
  uint64_t id() const { return id_; }  // unlike an address, never used again

 private:
  static uint64_t next_id() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }
  const uint64_t id_ = next_id();
};
class Pipeline {
 public:
  virtual ~Pipeline() = default;
};
class BindGroup {
 public:
  virtual ~BindGroup() = default;
};
using BufferPtr = std::shared_ptr<Buffer>;
using PipelinePtr = std::shared_ptr<Pipeline>;
using BindGroupPtr = std::shared_ptr<BindGroup>;

enum class BufferUse {
  storage,  // bound in kernels, copied from and to
  params,   // the uniform block of a run, bound with a dynamic offset
  staging,  // copied to, then mapped for reading
};

enum class BindingAccess { read, read_write };

// Bindings 0..n-1 of group 0 are `storage`; binding n is the uniform block with a dynamic offset
// when `params_bytes` is not 0. The layout is explicit, so bind groups never wait for pipelines.
struct PipelineSource {
  std::string label;
  std::string wgsl;
  std::vector<BindingAccess> storage;
  uint64_t params_bytes = 0;
};

struct BufferRange {
  BufferPtr buffer;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// One thing for the queue to do, in order.
struct Command {
  enum class Kind { dispatch, copy, clear } kind = Kind::dispatch;
  // dispatch
  Pipeline* pipeline = nullptr;
  BindGroup* bindings = nullptr;
  uint32_t params_offset = 0;
  bool has_params = false;
  uint32_t workgroups[3] = {1, 1, 1};
  // copy: source -> target; clear: target
  Buffer* source = nullptr;
  uint64_t source_offset = 0;
  Buffer* target = nullptr;
  uint64_t target_offset = 0;
  uint64_t bytes = 0;
};

struct SubmitOptions {
  bool timestamps = false;  // time every dispatch on the device; each becomes a pass of its own
};

struct SubmitTimes {
  std::vector<double> dispatch_microseconds;  // by dispatch, in order
};

struct AdapterInfo {
  DeviceTraits traits;
  std::string description;  // the adapter's own name
  std::string driver;       // name and version
  std::string vendor;
  std::string api;      // vulkan, d3d12, metal, webgpu
  std::string library;  // where the WebGPU implementation came from
  std::string flavour;  // which build of it: "dawn-2025", "dawn-2026"
};

using Ticket = uint64_t;  // names something under way, for wait()

// Where callbacks come from.
class Waitable {
 public:
  virtual ~Waitable() = default;
  // Blocks until the ticket's callback has run. Natively only: a browser calls back by itself.
  virtual void wait(Ticket ticket) = 0;
};

// Something that was started, for those who can wait.
struct Started {
  std::shared_ptr<Waitable> by;
  Ticket ticket = 0;
};

// One logical device. Safe to use from several threads.
class Gpu : public Waitable {
 public:
  virtual const AdapterInfo& info() const = 0;

  // Contents start as zero. Failure (out of memory, beyond the limit) throws Error.
  virtual BufferPtr create_buffer(uint64_t bytes, BufferUse use, const std::string& label) = 0;
  virtual void write(Buffer& buffer, uint64_t offset, std::span<const std::byte> data) = 0;

  // A shader error names the label and carries the compiler's text with line and column.
  virtual Ticket create_pipeline(const PipelineSource& source, Done<PipelinePtr> done) = 0;
  virtual BindGroupPtr create_bind_group(const Pipeline& pipeline,
                                         std::span<const BufferRange> storage,
                                         const BufferRange& params) = 0;

  // Encodes and submits. Errors found later surface in the next done callback of this call,
  // of read() or of finish(). `times` is called only when timestamps were asked for and exist.
  virtual Ticket submit(std::span<const Command> commands, const SubmitOptions& options = {},
                        Done<SubmitTimes> times = nullptr) = 0;

  // Maps a staging buffer and hands its bytes to `take`; they are gone when it returns. Then the
  // buffer may be used again, and `done` is called.
  virtual Ticket read(Buffer& staging, uint64_t offset, uint64_t bytes,
                      Done<std::span<const std::byte>> take,
                      std::function<void()> done = nullptr) = 0;
  // Calls back when all that was submitted is finished.
  virtual Ticket finish(Done<bool> done) = 0;

  // Lets callbacks arrive that are due already, and waits for none.
  virtual void poll() {}

  // The reason, once the device is lost. A lost device answers every call with device_lost.
  virtual std::optional<std::string> lost() const = 0;
  virtual void force_loss(const std::string& reason) = 0;  // for tests
  // What was created since the start, exactly.
  struct Counters {
    uint64_t buffers = 0, pipelines = 0, bind_groups = 0, submits = 0;
    uint64_t bytes_written = 0, bytes_read = 0, bytes_allocated = 0;
  };
  virtual Counters counters() const = 0;
};

// Makes logical devices of one adapter; native and web each have their own. `done` is not called
// before this has returned, but perhaps in another thread.
using OpenGpu = std::function<Started(Done<std::shared_ptr<Gpu>> done)>;

}  // namespace rlx::detail::webgpu
