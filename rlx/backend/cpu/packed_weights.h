// Weights in the order in which kernels read them. They belong to the device: programs that read
// the same weight in the same order share them, and they go with the last of these.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "rlx/base/large_pages.h"
#include "rlx/image/call.h"

namespace rlx::detail {

using PackedPtr = std::shared_ptr<float>;  // begins at a line of the cache

// Of convolutions there are several, behind the last.
enum PackedKind : int64_t {
  kPackedProduct,
  kPackedTransposed,
  kPackedBytes,
  kPackedByteProduct,
  kPackedByteWinograd,
  kPackedRecurrent,
  kPackedConvolution
};

class PackedWeights {
 public:
  // What decides the order, besides the weight itself: a kind of packing and its numbers.
  using Order = image::Holdings::Order;

  // `held` is what the caller has, made of another weight or of none; it becomes the packed one.
  // make(to) writes all `floats`.
  template <class Make>
  void get(const Tensor& weight, const Order& order, int64_t floats, PackedPtr& held,
           const Make& make) {
    const std::lock_guard lock(mutex_);
    const Key key{weight.mark(), order};
    if (find(key, held)) return;
    make(place(floats, held));
    entries_[key] = {held, floats};
    ++made_;
  }

  struct Size {
    int64_t count = 0, bytes = 0;
    int64_t made = 0;  // so far, those that nobody holds any more among them
  };
  Size size() const;  // of those that programs hold
  LargePages& large_pages() { return pages_; }

 private:
  struct Key {
    Tensor::Mark mark;
    Order order;
    bool operator<(const Key& other) const;
  };
  struct Entry {
    std::weak_ptr<float> data;
    int64_t floats = 0;
  };
  // Small weights lie side by side in pieces of memory.
  struct Piece;

  bool find(const Key& key, PackedPtr& held) const;
  // Where to write; what the caller alone holds is written over.
  float* place(int64_t floats, PackedPtr& held);
  PackedPtr allocate(int64_t floats);
  void drop_expired();

  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
  size_t most_ = 64;           // entries before those that nobody holds are dropped
  std::weak_ptr<Piece> open_;  // the last piece
  size_t placed_ = 0;          // floats so far
  LargePages pages_;
  int64_t made_ = 0;
};

}  // namespace rlx::detail
