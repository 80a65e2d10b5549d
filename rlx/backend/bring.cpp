#include "rlx/backend/bring.h"

namespace rlx::detail {
namespace {

template <class Action>
void for_each_elsewhere(const RunRequest& request, const IsHere& is_here, Action action) {
  for (size_t i = 0; i < request.device_inputs.size(); ++i) {
    const DeviceTensor& tensor = request.device_inputs[i];
    if (tensor.present() && !is_here(tensor)) action(i, tensor);
  }
}

}  // namespace

std::shared_ptr<Bringing> Bringing::of(const RunRequest& request, const IsHere& is_here) {
  std::shared_ptr<Bringing> made;
  for_each_elsewhere(request, is_here, [&](size_t i, const DeviceTensor& tensor) {
    if (!made) made = std::make_shared<Bringing>();
    made->inputs_.emplace_back(i, tensor);
    made->brought_.emplace_back(i, Tensor());
  });
  return made;
}

void Bringing::start(Receive<Brought> done) {
  const auto self = shared_from_this();
  done_ = std::move(done);
  missing_ = inputs_.size() + 1;  // the last is this call itself: reads may call back at once
  for (size_t at = 0; at < inputs_.size(); ++at)
    inputs_[at].second.read_async(
        [self, at](Result<Tensor> read) { self->arrive(at, std::move(read)); });
  end_one();
}

void Bringing::arrive(size_t at, Result<Tensor> read) {
  {
    const std::lock_guard lock(mutex_);
    if (read.ok())
      brought_[at].second = read.take();
    else if (!error_)
      error_ = read.error();
  }
  end_one();
}

void Bringing::end_one() {
  {
    const std::lock_guard lock(mutex_);
    if (--missing_ > 0) return;
  }
  const Receive<Brought> done = std::exchange(done_, nullptr);
  if (error_)
    done(*error_);
  else
    done(std::move(brought_));
}

void Bringing::wait() {
  for (const auto& [input, tensor] : inputs_) tensor.memory()->wait_for_reads();
}

Brought bring(const RunRequest& request, const IsHere& is_here) {
  Brought brought;
  for_each_elsewhere(request, is_here, [&](size_t i, const DeviceTensor& tensor) {
    brought.emplace_back(i, tensor.read());
  });
  return brought;
}

}  // namespace rlx::detail
