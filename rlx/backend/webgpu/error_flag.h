// The error flag: where kernels note what they had to clamp. It comes back with what a run reads;
// where nothing is read it comes back by itself, later.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "rlx/backend/webgpu/gpu.h"
#include "rlx/backend/webgpu/tickets.h"
#include "rlx/image/flag.h"
#include "rlx/image/image.h"

namespace rlx::detail::webgpu {

constexpr uint64_t kFlagBytes = sizeof(image::Flag);

// What a flag that was read says; none where it is clear.
std::optional<Error> error_in(std::span<const std::byte> flag, const image::Image& image);

// The errors of a program's runs that came to light after the runs had ended. Any thread may add
// one; the program tells its user at the next occasion.
class LateErrors {
 public:
  struct Failure {
    uint64_t run = 0;  // which one, counted
    Error error;
  };
  void add(uint64_t run, const Error& error);
  void forget(uint64_t run);      // its error has been told
  std::optional<Error> take();    // the first that nobody was told
  std::vector<Failure> failed();  // since the last call, told or not: what they wrote is invalid

  std::atomic<int> pending = 0;  // outcomes that are still to come

 private:
  std::mutex mutex_;
  std::vector<Failure> untold_, failed_;
};

// How a run ended that nobody waited for.
class Outcome : public std::enable_shared_from_this<Outcome> {
 public:
  Outcome(std::shared_ptr<const image::Image> image, std::shared_ptr<LateErrors> late)
      : image_(std::move(image)), late_(std::move(late)) {}

  // Where the run's last command copies the flag to.
  Buffer& staging(Gpu& gpu);
  // Reads it back; the owner's waiting lets it arrive.
  void start(const std::shared_ptr<Gpu>& gpu, const std::shared_ptr<Tickets>& tickets,
             const void* owner, uint64_t run);
  bool known() const;
  // Calls back when the outcome is known; false, and no call, where it is already.
  bool when_known(std::function<void()> call);
  // Once it is known: the error, which counts as told from now on.
  std::optional<Error> tell();

 private:
  void take(Result<std::span<const std::byte>> flag);
  void arrive(Tickets::Id id);

  const std::shared_ptr<const image::Image> image_;
  const std::shared_ptr<LateErrors> late_;
  mutable std::mutex mutex_;
  BufferPtr staging_;
  std::shared_ptr<Tickets> tickets_;
  std::shared_ptr<Outcome> alive_;  // while the callback is to come
  uint64_t run_ = 0;
  bool known_ = true;
  std::optional<Error> error_;
  std::vector<std::function<void()>> calls_;
};

using OutcomeList = std::vector<std::shared_ptr<Outcome>>;
// Calls `then` when all are known, at once where they are.
void when_known(const OutcomeList& outcomes, const std::function<void()>& then);
// Once they are: the first error, which counts as told.
std::optional<Error> tell(const OutcomeList& outcomes);

// The outcomes of a program's runs; what nobody holds any more serves again.
class Outcomes {
 public:
  explicit Outcomes(std::shared_ptr<const image::Image> image) : image_(std::move(image)) {}

  // One that is free; `made` counts those that are new.
  std::shared_ptr<Outcome> get(uint64_t& made);
  // Calls back when one that is still to come is known; false, and no call, where there is none.
  bool when_next_known(const std::function<void()>& call);
  int pending() const { return late_->pending; }
  LateErrors& errors() { return *late_; }
  std::vector<std::shared_ptr<Outcome>> release() { return std::move(all_); }

 private:
  const std::shared_ptr<const image::Image> image_;
  const std::shared_ptr<LateErrors> late_ = std::make_shared<LateErrors>();
  std::vector<std::shared_ptr<Outcome>> all_;
};

}  // namespace rlx::detail::webgpu
