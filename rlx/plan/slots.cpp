#include "rlx/plan/slots.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace rlx::detail {
namespace {

Slots empty_slots(size_t stays) {
  return {std::vector<int>(stays), std::vector<int64_t>(stays), {}};
}

std::vector<size_t> by_size(const Stays& stays) {
  std::vector<size_t> order(stays.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return stays[a].bytes > stays[b].bytes; });
  return order;
}

// The free slot that grows least by taking `bytes`, or a new one.
int take_slot(std::vector<int>& free, std::vector<int64_t>& slot_bytes, int64_t bytes) {
  const auto growth = [&](int slot) {
    return std::max<int64_t>(bytes - slot_bytes[size_t(slot)], 0);
  };
  const auto waste = [&](int slot) {
    return std::max<int64_t>(slot_bytes[size_t(slot)] - bytes, 0);
  };
  const auto best = std::min_element(free.begin(), free.end(), [&](int a, int b) {
    return std::pair(growth(a), waste(a)) < std::pair(growth(b), waste(b));
  });
  if (best == free.end() || growth(*best) >= bytes) {
    slot_bytes.push_back(bytes);
    return static_cast<int>(slot_bytes.size()) - 1;
  }
  const int slot = *best;
  free.erase(best);
  slot_bytes[size_t(slot)] += growth(slot);
  return slot;
}

bool alive_together(const Stay& a, const Stay& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

Slots in_order(const Stays& stays, size_t end) {
  std::vector<std::vector<size_t>> born(end + 1), dying(end + 1);
  for (size_t i = 0; i < stays.size(); ++i) {
    born[stays[i].first].push_back(i);
    dying[stays[i].last].push_back(i);
  }
  Slots slots = empty_slots(stays.size());
  std::vector<int> free;
  for (size_t at = 0; at <= end; ++at) {
    for (const size_t i : born[at]) slots.of[i] = take_slot(free, slots.bytes, stays[i].bytes);
    for (const size_t i : dying[at]) free.push_back(slots.of[i]);
  }
  return slots;
}

Slots largest_first(const Stays& stays) {
  Slots slots = empty_slots(stays.size());
  std::vector<std::map<size_t, size_t>> taken;  // by slot: first step to last
  const auto is_free = [&](size_t slot, const Stay& stay) {
    const auto behind = taken[slot].upper_bound(stay.last);
    return behind == taken[slot].begin() || std::prev(behind)->second < stay.first;
  };
  for (const size_t i : by_size(stays)) {
    size_t slot = taken.size();  // the smallest that is free is the last
    while (slot > 0 && !is_free(slot - 1, stays[i])) --slot;
    if (slot == 0) {
      taken.emplace_back();
      slots.bytes.push_back(stays[i].bytes);
      slot = taken.size();
    }
    taken[slot - 1].emplace(stays[i].first, stays[i].last);
    slots.of[i] = static_cast<int>(slot) - 1;
  }
  return slots;
}

namespace {

// One after the other in this order. `grew_last`: the last that made the slots larger, which an
// earlier turn may help.
struct Placed {
  Slots slots;
  size_t grew_last = 0;
};
Placed placed_in(const std::vector<size_t>& order, const Stays& stays, const SideBySide& options) {
  Placed placed{empty_slots(stays.size())};
  Slots& slots = placed.slots;
  std::fill(slots.of.begin(), slots.of.end(), -1);
  std::vector<std::vector<size_t>> members;  // by slot, in the order of their offsets
  // The lowest offset from which nobody is in the way while the stay lasts.
  const auto offset_in = [&](size_t slot, const Stay& stay) {
    int64_t at = 0;
    for (const size_t other : members[slot]) {
      if (!alive_together(stays[other], stay)) continue;
      if (slots.offsets[other] - at >= stay.bytes) break;
      const int64_t behind = slots.offsets[other] + stays[other].bytes;
      const int64_t rounded = checked_add(behind, options.alignment - 1);
      at = std::max(at, rounded / options.alignment * options.alignment);
    }
    return at;
  };
  for (const size_t i : order) {
    const Stay& stay = stays[i];
    int best = -1;
    int64_t least = stay.bytes, best_at = 0;  // a slot that grows by less is better than a new one
    for (size_t slot = 0; slot < members.size() && least > 0; ++slot) {
      const auto is_here = [&](size_t other) { return slots.of[other] == int(slot); };
      const bool refused =
          i < options.kept_apart.size() &&
          std::any_of(options.kept_apart[i].begin(), options.kept_apart[i].end(), is_here);
      if (refused) continue;
      const int64_t at = offset_in(slot, stay), end = checked_add(at, stay.bytes);
      const int64_t growth = std::max<int64_t>(end - slots.bytes[slot], 0);
      if (growth >= least || end > options.most_bytes) continue;
      least = growth, best = int(slot), best_at = at;
    }
    if (best < 0) {
      best = static_cast<int>(members.size());
      members.emplace_back();
      slots.bytes.push_back(stay.bytes);
    }
    if (least > 0) placed.grew_last = i;
    slots.of[i] = best;
    slots.offsets[i] = best_at;
    slots.bytes[size_t(best)] = std::max(slots.bytes[size_t(best)], best_at + stay.bytes);
    std::vector<size_t>& here = members[size_t(best)];
    const auto behind = [&](int64_t offset, size_t other) { return offset < slots.offsets[other]; };
    here.insert(std::upper_bound(here.begin(), here.end(), best_at, behind), i);
  }
  return placed;
}

}  // namespace

Slots side_by_side(const Stays& stays, const SideBySide& options) {
  std::vector<size_t> order = by_size(stays);
  Placed placed = placed_in(order, stays, options);
  Slots best = placed.slots;
  // A few more orders, as long as there may be something to gain.
  constexpr size_t kMostTries = 32, kMostPairs = 2'000'000;
  const size_t pairs = std::max<size_t>(stays.size() * stays.size(), 1);
  for (size_t left = std::min(kMostTries, kMostPairs / pairs); left > 0; --left) {
    if (best.total() <= options.least_bytes) break;
    const auto late = std::find(order.begin(), order.end(), placed.grew_last);
    std::rotate(order.begin(), late, late + 1);
    placed = placed_in(order, stays, options);
    if (placed.slots.total() < best.total()) best = placed.slots;
  }
  return best;
}

namespace {

// Places are counted from the middle, and are below 0 in front of it.
struct Middle {
  int64_t low = 0, high = 0;
  std::vector<size_t> members = {};
  int64_t growth(int64_t at, int64_t bytes) const {
    return std::max(low - at, int64_t{0}) + std::max(checked_add(at, bytes) - high, int64_t{0});
  }
};

int64_t round_up(int64_t bytes, int64_t alignment) {
  return checked_add(bytes, alignment - 1) / alignment * alignment;
}

class AroundMiddles {
 public:
  AroundMiddles(const Stays& stays, std::vector<size_t> order, int64_t alignment,
                int64_t most_bytes)
      : stays_(stays),
        order_(std::move(order)),
        alignment_(alignment),
        most_bytes_(most_bytes),
        at_(stays.size()) {}

  Slots slots() {
    Slots slots = empty_slots(stays_.size());
    for (const size_t i : order_) slots.of[i] = static_cast<int>(place(i));
    for (const Middle& middle : middles_) slots.bytes.push_back(middle.high - middle.low);
    for (size_t i = 0; i < stays_.size(); ++i)
      slots.offsets[i] = at_[i] - middles_[size_t(slots.of[i])].low;
    return slots;
  }

 private:
  struct Place {
    size_t slot = 0;
    int64_t at = 0, growth = 0;
  };

  size_t place(size_t i) {
    const int64_t bytes = round_up(stays_[i].bytes, alignment_);
    const int64_t middle = -round_up(bytes / 2, alignment_);
    Place best{middles_.size(), middle, bytes};  // a slot of its own
    const auto offer = [&](size_t slot, int64_t at) {
      const int64_t growth = middles_[slot].growth(at, bytes);
      if (growth < best.growth && is_free(slot, i, at, bytes)) best = {slot, at, growth};
    };
    for (size_t slot = 0; slot < middles_.size(); ++slot) offer(slot, middle);
    if (checked_add(total_, best.growth) > most_bytes_)
      for (size_t slot = 0; slot < middles_.size(); ++slot)
        for (const size_t other : middles_[slot].members) {
          if (!alive_together(stays_[other], stays_[i])) continue;
          offer(slot, at_[other] + round_up(stays_[other].bytes, alignment_));
          offer(slot, at_[other] - bytes);
        }
    if (best.slot == middles_.size()) middles_.push_back({best.at, best.at, {}});
    Middle& taken = middles_[best.slot];
    taken.low = std::min(taken.low, best.at);
    taken.high = std::max(taken.high, best.at + bytes);
    taken.members.push_back(i);
    at_[i] = best.at;
    total_ = checked_add(total_, best.growth);
    return best.slot;
  }
  bool is_free(size_t slot, size_t i, int64_t at, int64_t bytes) const {
    const std::vector<size_t>& members = middles_[slot].members;
    return std::none_of(members.begin(), members.end(), [&](size_t other) {
      return alive_together(stays_[other], stays_[i]) && at_[other] < at + bytes &&
             at < at_[other] + stays_[other].bytes;
    });
  }

  const Stays& stays_;
  const std::vector<size_t> order_;
  const int64_t alignment_, most_bytes_;
  std::vector<Middle> middles_;
  std::vector<int64_t> at_;  // by stay
  int64_t total_ = 0;
};

}  // namespace

Slots around_middles(const Stays& stays, int64_t alignment, int64_t most_bytes) {
  // Of values as large as each other the first or the last is placed first: neither is always
  // better.
  std::vector<size_t> order = by_size(stays), other = order;
  std::stable_sort(other.begin(), other.end(), [&](size_t a, size_t b) {
    return std::pair(stays[b].bytes, stays[b].first) < std::pair(stays[a].bytes, stays[a].first);
  });
  Slots slots = AroundMiddles(stays, std::move(order), alignment, most_bytes).slots();
  if (slots.total() <= most_bytes) return slots;
  return AroundMiddles(stays, std::move(other), alignment, most_bytes).slots();
}

}  // namespace rlx::detail
