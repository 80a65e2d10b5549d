#include "rlx/backend/webgpu/error_flag.h"

#include <algorithm>
#include <cstring>

namespace rlx::detail::webgpu {

namespace {

std::string message_of(const image::Flag& flag) {
  if (flag.code >= image::kFlagCodeCount) return text("the kernel raised code ", flag.code);
  std::string message = image::kFlagCodes[flag.code].message;
  const size_t place = message.find('#');
  return place == std::string::npos ? message : message.replace(place, 1, text(flag.number));
}

}  // namespace

std::optional<Error> error_in(std::span<const std::byte> flag, const image::Image& image) {
  image::Flag raised;
  std::memcpy(&raised, flag.data(), std::min(flag.size(), sizeof raised));
  if (raised.code == 0) return std::nullopt;
  const size_t at = size_t(raised.node) - 1;
  const image::Node node = at < image.nodes.size() ? image.nodes[at] : image::Node{};
  return Error(ErrorKind::invalid_input,
               text(node.op, ": ", message_of(raised), "\n  at node '", node.name, "'"));
}

void LateErrors::add(uint64_t run, const Error& error) {
  const std::lock_guard lock(mutex_);
  untold_.push_back({run, error});
  failed_.push_back({run, error});
}

void LateErrors::forget(uint64_t run) {
  const std::lock_guard lock(mutex_);
  untold_.erase(std::remove_if(untold_.begin(), untold_.end(),
                               [run](const Failure& failure) { return failure.run == run; }),
                untold_.end());
}

std::optional<Error> LateErrors::take() {
  const std::lock_guard lock(mutex_);
  if (untold_.empty()) return std::nullopt;
  const Error first = untold_.front().error;
  untold_.clear();  // the others follow from it, or were raised for the same reason
  return first;
}

std::vector<LateErrors::Failure> LateErrors::failed() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failed_, {});
}

Buffer& Outcome::staging(Gpu& gpu) {
  if (!staging_) staging_ = gpu.create_buffer(kFlagBytes, BufferUse::staging, "error flag");
  return *staging_;
}

void Outcome::start(const std::shared_ptr<Gpu>& gpu, const std::shared_ptr<Tickets>& tickets,
                    const void* owner, uint64_t run) {
  {
    const std::lock_guard lock(mutex_);
    alive_ = shared_from_this();
    tickets_ = tickets;
    run_ = run;
    known_ = false;
    error_.reset();
  }
  ++late_->pending;
  try {
    tickets->start(owner, gpu, [&](Tickets::Id id) {
      return gpu->read(
          *staging_, 0, kFlagBytes,
          [this](Result<std::span<const std::byte>> flag) { take(std::move(flag)); },
          [this, id] { arrive(id); });
    });
  } catch (...) {  // the run fails at once, and whoever calls this holds it
    const std::lock_guard lock(mutex_);
    known_ = true;
    alive_ = nullptr;
    --late_->pending;
    throw;
  }
}

void Outcome::take(Result<std::span<const std::byte>> flag) {
  const std::lock_guard lock(mutex_);
  error_ = flag.ok() ? error_in(flag.take(), *image_) : std::optional(flag.error());
}

void Outcome::arrive(Tickets::Id id) {
  tickets_->close(id);
  std::vector<std::function<void()>> calls;
  std::shared_ptr<Outcome> alive;
  {
    const std::lock_guard lock(mutex_);
    // The loss of a device is no late error of this run: every call that needs the device says it.
    if (error_ && error_->kind() != ErrorKind::device_lost) late_->add(run_, *error_);
    known_ = true;
    alive = std::move(alive_);
    calls.swap(calls_);
  }
  --late_->pending;
  for (const auto& call : calls) call();
}

bool Outcome::known() const {
  const std::lock_guard lock(mutex_);
  return known_;
}

bool Outcome::when_known(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  if (known_) return false;
  calls_.push_back(std::move(call));
  return true;
}

std::optional<Error> Outcome::tell() {
  const std::lock_guard lock(mutex_);
  if (error_) late_->forget(run_);
  return error_;
}

void when_known(const OutcomeList& outcomes, const std::function<void()>& then) {
  for (const std::shared_ptr<Outcome>& outcome : outcomes)
    if (outcome->when_known([outcomes, then] { when_known(outcomes, then); })) return;
  then();
}

std::optional<Error> tell(const OutcomeList& outcomes) {
  std::optional<Error> first;
  for (const std::shared_ptr<Outcome>& outcome : outcomes) {
    std::optional<Error> error = outcome->tell();
    if (!first) first = std::move(error);
  }
  return first;
}

std::shared_ptr<Outcome> Outcomes::get(uint64_t& made) {
  for (const std::shared_ptr<Outcome>& outcome : all_)
    if (outcome.use_count() == 1 && outcome->known()) return outcome;
  all_.push_back(std::make_shared<Outcome>(image_, late_));
  ++made;
  return all_.back();
}

bool Outcomes::when_next_known(const std::function<void()>& call) {
  return std::any_of(all_.begin(), all_.end(), [&](const std::shared_ptr<Outcome>& outcome) {
    return outcome->when_known(call);
  });
}

}  // namespace rlx::detail::webgpu
