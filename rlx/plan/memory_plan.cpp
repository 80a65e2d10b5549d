#include "rlx/plan/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "rlx/image/uses.h"

namespace rlx::detail {
namespace {

using image::Image;
using image::Kind;
using image::Life;
using image::ValueId;

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

// A value that needs a place, and the steps from its first to its last.
struct Stay {
  ValueId value;
  int64_t bytes;
  size_t first, last;
};
using Stays = std::vector<Stay>;

struct Slots {
  std::vector<int> of;  // by stay
  std::vector<int64_t> bytes;

  int64_t total() const { return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}); }
};

// In the order of the steps: each value takes what is free then.
Slots in_order(const Stays& stays, size_t end) {
  std::vector<std::vector<size_t>> born(end + 1), dying(end + 1);
  for (size_t i = 0; i < stays.size(); ++i) {
    born[stays[i].first].push_back(i);
    dying[stays[i].last].push_back(i);
  }
  Slots slots{std::vector<int>(stays.size()), {}};
  std::vector<int> free;
  for (size_t at = 0; at <= end; ++at) {
    for (const size_t i : born[at]) slots.of[i] = take_slot(free, slots.bytes, stays[i].bytes);
    for (const size_t i : dying[at]) free.push_back(slots.of[i]);
  }
  return slots;
}

// The largest first: a slot never grows, and smaller values go where larger ones leave time.
Slots largest_first(const Stays& stays) {
  std::vector<size_t> order(stays.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return stays[a].bytes > stays[b].bytes; });
  Slots slots{std::vector<int>(stays.size()), {}};
  std::vector<std::map<size_t, size_t>> taken;  // by slot: first step to last
  const auto is_free = [&](size_t slot, const Stay& stay) {
    const auto behind = taken[slot].upper_bound(stay.last);
    return behind == taken[slot].begin() || std::prev(behind)->second < stay.first;
  };
  for (const size_t i : order) {
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

int64_t most_alive(const Stays& stays, size_t end) {
  std::vector<int64_t> change(end + 2);
  for (const Stay& stay : stays) {
    change[stay.first] += stay.bytes;
    change[stay.last + 1] -= stay.bytes;
  }
  int64_t alive = 0, most = 0;
  for (const int64_t by : change) most = std::max(most, alive += by);
  return most;
}

bool is_activation(const image::Value& value) {
  return value.kind == Kind::result || value.kind == Kind::temporary;
}

// A value lives as long as all that share its place.
std::vector<Life> lives_of_places(const Image& image) {
  std::vector<Life> lives = image::lives_of(image, image.run);
  for (size_t v = 0; v < lives.size(); ++v) {
    const auto place = size_t(image.values[v].place);
    if (place == v || lives[v].first < 0) continue;
    Life& life = lives[place];
    life.first = life.first < 0 ? lives[v].first : std::min(life.first, lives[v].first);
    life.last = std::max(life.last, lives[v].last);
  }
  return lives;
}

}  // namespace

MemoryPlan plan_memory(const Image& image, const image::Cells& cells) {
  const size_t size = image.values.size();
  const std::vector<Interval> ranges = image::ranges_of(image.numbers, cells);
  MemoryPlan plan;
  plan.slot_of.assign(size, -1);
  for (const image::Value& value : image.values) {
    const int64_t high = ranges[size_t(value.bytes)].high;
    plan.bytes_of.push_back(high == kUnbounded ? -1 : std::max<int64_t>(high, 0));
  }
  const std::vector<Life> lives = lives_of_places(image);
  const size_t end = image.run.size();
  Stays stays;
  for (size_t v = 0; v < size; ++v) {
    const image::Value& value = image.values[v];
    if (!is_activation(value) || value.on_host || lives[v].first < 0 || size_t(value.place) != v ||
        plan.bytes_of[v] < 0)
      continue;
    stays.push_back({static_cast<ValueId>(v), std::max<int64_t>(plan.bytes_of[v], 4),
                     size_t(lives[v].first), size_t(lives[v].last)});
  }
  plan.live_bytes = most_alive(stays, end);
  Slots slots = in_order(stays, end);
  if (slots.total() > plan.live_bytes)
    if (Slots others = largest_first(stays); others.total() < slots.total())
      slots = std::move(others);
  for (size_t i = 0; i < stays.size(); ++i) plan.slot_of[size_t(stays[i].value)] = slots.of[i];
  plan.slot_bytes = std::move(slots.bytes);
  for (size_t v = 0; v < size; ++v) plan.slot_of[v] = plan.slot_of[size_t(image.values[v].place)];
  for (const int64_t bytes : plan.slot_bytes) plan.peak_bytes += bytes;
  return plan;
}

}  // namespace rlx::detail
