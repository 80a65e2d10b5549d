// The bytes of tensors: memory of ours, or of somebody else who is kept alive.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include "rlx/base/large_pages.h"
#include "rlx/base/shared.h"

namespace rlx {

// `keep_alive` holds open, for instance, the file that the bytes are mapped from.
class Storage {
 public:
  explicit Storage(size_t bytes);
  Storage(size_t bytes, LargePages& pages);  // for what is written at once
  Storage(std::span<const std::byte> bytes, Keep keep_alive);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  std::byte* change();         // only of our own memory; changes the version
  std::byte* mutable_bytes();  // the same, to be handed out: it may be written to at any time
  // Bytes of somebody else, or a span of them was handed out: the version does not tell all.
  bool is_open() const { return open_.load(std::memory_order_relaxed); }
  uint64_t version() const { return version_.load(std::memory_order_relaxed); }

 private:
  std::byte* own_ = nullptr;
  std::span<const std::byte> bytes_;
  Keep keep_alive_;
  std::atomic<uint64_t> version_;
  std::atomic<bool> open_ = false;
};

}  // namespace rlx
