#include "rlx/backend/webgpu/tickets.h"

#include <algorithm>
#include <chrono>

namespace rlx::detail::webgpu {

namespace {
// Another thread is in the middle of a callback: it will open or close an entry, and tells so.
constexpr auto kRecheckInterval = std::chrono::microseconds(200);
}  // namespace

Tickets::Id Tickets::open(const void* owner) {
  const std::lock_guard lock(mutex_);
  Entry entry;
  entry.id = ++last_;
  entry.owner = owner;
  entries_.push_back(std::move(entry));
  return last_;
}

void Tickets::set(Id id, const std::shared_ptr<Waitable>& by, Ticket ticket) {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.id != id) continue;  // its callback may have come already
    entry.by = by;
    entry.ticket = ticket;
    entry.set = true;
  }
  changed_.notify_all();
}

void Tickets::close(Id id) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [id](const Entry& entry) { return entry.id == id; });
  if (found != entries_.end()) entries_.erase(found);
  changed_.notify_all();
}

void Tickets::abandon(const void* owner) {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.owner != owner) continue;
    entry.owner = nullptr;
    entry.abandoned = true;
  }
}

void Tickets::wait_for(const Entry& entry) {
  try {
    if (const std::shared_ptr<Waitable> by = entry.by.lock()) by->wait(entry.ticket);
    close(entry.id);
  } catch (...) {  // of a callback that is none of ours; the entry is still to be waited for
    keep(std::current_exception());
  }
}

bool Tickets::wait_for_one(const void* owner) {
  Entry entry;
  {
    const std::lock_guard lock(mutex_);
    const Entry* best = nullptr;
    int best_rank = 0;
    for (const Entry& each : entries_) {
      const int rank = !each.set ? 0 : each.owner == owner ? 3 : each.owner == nullptr ? 2 : 1;
      if (rank <= best_rank) continue;
      best = &each;
      best_rank = rank;
    }
    if (!best) return false;
    entry = *best;
  }
  wait_for(entry);
  return true;
}

void Tickets::wait_for_abandoned() {
  for (;;) {
    Entry entry;
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::find_if(entries_.begin(), entries_.end(),
                                      [](const Entry& each) { return each.abandoned && each.set; });
      if (found == entries_.end()) return;
      entry = *found;
    }
    wait_for(entry);
  }
}

void Tickets::wait(const void* owner, const std::function<bool()>& done) {
  while (!done()) {
    if (wait_for_one(owner)) continue;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kRecheckInterval);
  }
  wait_for_abandoned();
}

void Tickets::wait_for_all() {
  while (wait_for_one(nullptr)) {
  }
}

Tickets::Busy::Busy(std::shared_ptr<Tickets> tickets) : tickets_(std::move(tickets)) {
  const std::lock_guard lock(tickets_->mutex_);
  ++tickets_->busy_;
}

Tickets::Busy::~Busy() {
  const std::lock_guard lock(tickets_->mutex_);
  --tickets_->busy_;
  tickets_->changed_.notify_all();
}

bool Tickets::is_idle() const {
  const std::lock_guard lock(mutex_);
  return busy_ == 0 && entries_.empty();
}

void Tickets::keep(std::exception_ptr thrown) {
  const std::lock_guard lock(mutex_);
  if (!thrown_) thrown_ = std::move(thrown);
}

void Tickets::rethrow() {
  std::exception_ptr thrown;
  {
    const std::lock_guard lock(mutex_);
    thrown = std::exchange(thrown_, nullptr);
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace rlx::detail::webgpu
