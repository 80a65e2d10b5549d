#include "rlx/backend/webgpu/device_memory.h"

#include "rlx/backend/webgpu/upload.h"
#include "rlx/image/storage.h"
#include "rlx/image/words.h"

namespace rlx::detail::webgpu {
namespace {

// A read under way. It does not hold the device: a device that goes answers what is under way.
struct Reading {
  Tensor tensor;
  BufferPtr staging;
  std::shared_ptr<Tickets> tickets;
  std::optional<Error> error;
  Receive<Tensor> done;

  void finish() {
    const Receive<Tensor> call = std::move(done);
    try {
      if (error)
        call(*error);
      else
        call(std::move(tensor));
    } catch (...) {
      tickets->keep(std::current_exception());
    }
  }
};

void start(Reading& reading, const std::shared_ptr<Reading>& self, const std::shared_ptr<Gpu>& gpu,
           const void* owner, Buffer& buffer) {
  const uint64_t bytes =
      device_bytes(reading.tensor.dtype(), reading.tensor.count(), gpu->info().traits);
  reading.staging = gpu->create_buffer(bytes, BufferUse::staging, "read");
  Command copy;
  copy.kind = Command::Kind::copy;
  copy.source = &buffer;
  copy.target = reading.staging.get();
  copy.bytes = bytes;
  gpu->submit({&copy, 1});
  reading.tickets->start(owner, gpu, [&](Tickets::Id id) {
    return gpu->read(
        *reading.staging, 0, bytes,
        [self](Result<std::span<const std::byte>> result) {
          if (result.ok())
            from_device(result.take(), self->tensor);
          else
            self->error = result.error();
        },
        [self, id] {
          self->tickets->close(id);
          self->finish();
        });
  });
}

}  // namespace

void read_buffer(const std::shared_ptr<Gpu>& gpu, const std::shared_ptr<Tickets>& tickets,
                 const void* owner, const BufferPtr& buffer, DType dtype, const Shape& shape,
                 Receive<Tensor> done) {
  const auto reading = std::make_shared<Reading>();
  reading->tickets = tickets;
  reading->done = std::move(done);
  try {
    if (const auto reason = gpu->lost())
      fail(ErrorKind::device_lost, "the device of this tensor was lost: ", *reason);
    reading->tensor = Tensor(dtype, shape);
    start(*reading, reading, gpu, owner, *buffer);
  } catch (...) {
    reading->error = current_error();
    reading->finish();
  }
}

void GpuMemory::read_async(DType dtype, const Shape& extents, Receive<Tensor> receive) {
  Shape shape = extents;
  ++*reads_;
  const auto done = [reads = reads_, busy = std::make_shared<Tickets::Busy>(tickets_),
                     in_words = in_words_, receive = std::move(receive)](Result<Tensor> result) {
    const struct End {
      std::atomic<int>& reads;
      ~End() { --reads; }
    } end{*reads};
    if (in_words && result.ok())
      receive(image::integers_of(result.take()));
    else
      receive(std::move(result));
  };
  if (in_words_) {
    dtype = DType::u32;
    shape.push_back(2);
  }
  const auto read = [weak = std::weak_ptr<Gpu>(gpu_), tickets = tickets_, buffer = buffer_,
                     outcomes = outcomes_, dtype, shape, done] {
    const std::shared_ptr<Gpu> gpu = weak.lock();
    std::optional<Error> error = tell(outcomes);
    if (!error && !gpu) error = Error(ErrorKind::device_lost, "the device of this tensor is gone");
    if (!error) return read_buffer(gpu, tickets, buffer.get(), buffer, dtype, shape, done);
    try {
      done(*error);
    } catch (...) {
      tickets->keep(std::current_exception());
    }
  };
  if (gpu_->lost())
    read();
  else
    when_known(outcomes_, read);
}

void GpuMemory::wait_for_reads() {
  tickets_->wait(buffer_.get(), [this] { return *reads_ == 0; });
}

Tensor GpuMemory::read(DType dtype, const Shape& shape) {
  // Shared with the callback, which may come after a wait that threw.
  const auto result = std::make_shared<std::optional<Result<Tensor>>>();
  const auto mutex = std::make_shared<std::mutex>();  // the callback may be another thread's
  read_async(dtype, shape, [result, mutex](Result<Tensor> tensor) {
    const std::lock_guard lock(*mutex);
    result->emplace(std::move(tensor));
  });
  tickets_->wait(buffer_.get(), [&] {
    const std::lock_guard lock(*mutex);
    return result->has_value();
  });
  return (*result)->take();
}

}  // namespace rlx::detail::webgpu
