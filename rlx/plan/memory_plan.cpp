#include "rlx/plan/memory_plan.h"

#include <algorithm>

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
  std::vector<std::vector<ValueId>> born(end + 1), dying(end + 1);
  for (size_t v = 0; v < size; ++v) {
    const image::Value& value = image.values[v];
    if (!is_activation(value) || value.on_host || lives[v].first < 0 || size_t(value.place) != v ||
        plan.bytes_of[v] < 0)
      continue;
    born[size_t(lives[v].first)].push_back(static_cast<ValueId>(v));
    dying[size_t(lives[v].last)].push_back(static_cast<ValueId>(v));
  }
  std::vector<int> free;
  for (size_t at = 0; at <= end; ++at) {
    for (const ValueId value : born[at])
      plan.slot_of[size_t(value)] =
          take_slot(free, plan.slot_bytes, std::max<int64_t>(plan.bytes_of[size_t(value)], 4));
    for (const ValueId value : dying[at]) free.push_back(plan.slot_of[size_t(value)]);
  }
  for (size_t v = 0; v < size; ++v) plan.slot_of[v] = plan.slot_of[size_t(image.values[v].place)];
  for (const int64_t bytes : plan.slot_bytes) plan.peak_bytes += bytes;
  return plan;
}

}  // namespace rlx::detail
