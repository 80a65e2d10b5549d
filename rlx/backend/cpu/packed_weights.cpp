#include "rlx/backend/cpu/packed_weights.h"

#include <algorithm>
#include <new>
#include <tuple>

#include "rlx/base/error.h"

namespace rlx::detail {

struct PackedWeights::Piece {
  Piece(size_t floats, LargePages& pages) : size(floats) {
    const size_t bytes = size * sizeof(float);
    data = static_cast<float*>(::operator new(bytes, alignment(), std::nothrow));
    if (!data)
      fail(ErrorKind::out_of_memory, "the host has no ", bytes, " bytes for packed weights");
    pages.ask(data, bytes);
  }
  ~Piece() { ::operator delete(data, alignment()); }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;

  std::align_val_t alignment() const {
    return std::align_val_t{size * sizeof(float) < 2 * kLargePage ? 64 : kLargePage};
  }

  const size_t size;
  float* data = nullptr;
  size_t used = 0;
};

bool PackedWeights::Key::operator<(const Key& other) const {
  const auto tied = [](const Key& key) {
    return std::tie(key.mark.version, key.mark.offset, key.mark.count, key.order);
  };
  return tied(*this) < tied(other);
}

bool PackedWeights::find(const Key& key, PackedPtr& held) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return false;
  PackedPtr there = found->second.data.lock();
  if (!there) return false;
  held = std::move(there);
  return true;
}

float* PackedWeights::place(int64_t floats, PackedPtr& held) {
  bool fits = false;
  if (held && held.use_count() == 1)
    for (auto at = entries_.begin(); at != entries_.end();) {
      const bool mine = at->second.data.lock() == held;
      fits |= mine && at->second.floats == floats;
      at = mine ? entries_.erase(at) : std::next(at);
    }
  if (!fits) {
    held = nullptr;  // freed before the next is made
    held = allocate(floats);
  }
  if (entries_.size() >= most_) drop_expired();
  return held.get();
}

void PackedWeights::drop_expired() {
  for (auto at = entries_.begin(); at != entries_.end();)
    at = at->second.data.expired() ? entries_.erase(at) : std::next(at);
  most_ = 2 * entries_.size() + 64;
}

PackedPtr PackedWeights::allocate(int64_t floats) {
  constexpr size_t kLine = 16, kLeast = size_t{1} << 18, kMost = size_t{1} << 23;
  const size_t size = (static_cast<size_t>(floats) + kLine - 1) / kLine * kLine;
  std::shared_ptr<Piece> piece = open_.lock();
  // As much again as there was, so that many weights have pages in common and few waste little.
  if (!piece || piece->size - piece->used < size)
    open_ = piece =
        std::make_shared<Piece>(std::max(size, std::clamp(placed_, kLeast, kMost)), pages_);
  placed_ += size;
  float* const data = piece->data + piece->used;
  piece->used += size;
  pages_.make(data, size * sizeof(float), piece->data + piece->size);
  return {data, [piece = std::move(piece)](float*) {}};  // counted apart from its neighbours
}

PackedWeights::Size PackedWeights::size() const {
  const std::lock_guard lock(mutex_);
  Size size{.made = made_};
  for (const auto& [key, entry] : entries_)
    if (!entry.data.expired()) {
      ++size.count;
      size.bytes += entry.floats * static_cast<int64_t>(sizeof(float));
    }
  return size;
}

}  // namespace rlx::detail
