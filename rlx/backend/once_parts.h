// What runs once, in parts that do not depend on each other. The results of a part belong to the
// device: every program that would compute the same of the same weights has them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "rlx/image/call.h"

namespace rlx::detail {

struct OncePart {
  std::vector<size_t> steps;            // of Image::once
  std::vector<image::ValueId> sources;  // weights and constants, in the order they are read
  std::vector<image::ValueId> kept;     // what runs read of it, in the order it is written
  std::vector<const void*> code;        // identities of what may run its calls
  bool can_be_shared = true;
};
std::vector<OncePart> parts_of_once(const image::Image& image,
                                    const image::Implementations& implementations);

// A hash of the steps of a part, of its sources and of the code it calls; none where it cannot be
// shared. Parts with the same key compute the same, whatever else is in their images.
using PartKey = std::pair<uint64_t, uint64_t>;
using SourceOf = std::function<const Tensor&(image::ValueId)>;
std::optional<PartKey> key_of(const OncePart& part, const image::Image& image,
                              const image::Cells& cells, const SourceOf& source);

// The results that programs hold; what nobody holds any more is gone.
template <class Results>
class OnceStore {
 public:
  using Ptr = std::shared_ptr<const Results>;

  Ptr find(const PartKey& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(key);
    return found == held_.end() ? nullptr : found->second.lock();
  }
  // The given results, or those that another program has stored meanwhile.
  Ptr add(const PartKey& key, Ptr results) {
    const std::lock_guard lock(mutex_);
    for (auto at = held_.begin(); at != held_.end();)
      at = at->second.expired() ? held_.erase(at) : std::next(at);
    std::weak_ptr<const Results>& place = held_[key];
    if (Ptr there = place.lock()) return there;
    place = results;
    return results;
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    size_t count = 0;
    for (const auto& [key, results] : held_) count += results.expired() ? 0 : 1;
    return count;
  }

 private:
  mutable std::mutex mutex_;
  std::map<PartKey, std::weak_ptr<const Results>> held_;
};

// Which parts a program has to compute, and what it has of the others.
template <class Results>
class OnceResults {
 public:
  explicit OnceResults(size_t parts) : held_(parts), keys_(parts) {}

  using Adopt = std::function<void(const OncePart&, const Results&)>;
  // Finds what is there already; `adopt` is called for what another program has made. Returns which
  // steps are left out now.
  std::vector<bool> find(const std::vector<OncePart>& parts, const image::Image& image,
                         const image::Cells& cells, const SourceOf& source,
                         const OnceStore<Results>& store, const Adopt& adopt) {
    std::vector<bool> skipped(image.once.size(), false);
    for (size_t p = 0; p < parts.size(); ++p) {
      const std::optional<PartKey> key = key_of(parts[p], image, cells, source);
      const bool same = held_[p] && key && keys_[p] == key;
      if (!same) {
        held_[p] = key ? store.find(*key) : nullptr;
        keys_[p] = key;
        if (held_[p]) adopt(parts[p], *held_[p]);
      }
      if (!held_[p]) continue;
      for (const size_t step : parts[p].steps) skipped[step] = true;
    }
    return skipped;
  }
  // What was left to compute has been: `made` gives the results of a part.
  template <class Made>
  void store(const std::vector<OncePart>& parts, OnceStore<Results>& store, const Made& made,
             const Adopt& adopt) {
    for (size_t p = 0; p < parts.size(); ++p) {
      if (held_[p] || !keys_[p]) continue;
      const std::shared_ptr<const Results> own = made(parts[p]);
      held_[p] = store.add(*keys_[p], own);
      if (held_[p] != own) adopt(parts[p], *held_[p]);
    }
  }

 private:
  std::vector<std::shared_ptr<const Results>> held_;  // by part; null: to be computed
  std::vector<std::optional<PartKey>> keys_;
};

}  // namespace rlx::detail
