#include "rlx/plan/memory_plan.h"

#include <algorithm>

#include "rlx/image/uses.h"
#include "rlx/plan/slots.h"

namespace rlx::detail {
namespace {

using image::Image;
using image::Kind;
using image::Life;
using image::ValueId;

int64_t most_alive(const Stays& stays, size_t end) {
  std::vector<int64_t> change(end + 2);
  for (const Stay& stay : stays) {
    change[stay.first] = checked_add(change[stay.first], stay.bytes);
    change[stay.last + 1] = checked_add(change[stay.last + 1], -stay.bytes);
  }
  int64_t alive = 0, most = 0;
  for (const int64_t by : change) most = std::max(most, alive = checked_add(alive, by));
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

constexpr int64_t kCacheLine = 64;

// On the host any two values may lie in one slot. A device binds a buffer for reading or for
// writing: what a step reads is not in the slot of what it writes.
SideBySide rules_of(const Image& image, const std::vector<ValueId>& who) {
  if (image.traits.on_host()) return {.alignment = kCacheLine, .kept_apart = {}};
  SideBySide rules{image.traits.storage_alignment, image.traits.max_buffer_bytes,
                   std::vector<std::vector<size_t>>(who.size())};
  std::vector<int> stay_of(image.values.size(), -1);
  for (size_t i = 0; i < who.size(); ++i) stay_of[size_t(who[i])] = static_cast<int>(i);
  const auto stay = [&](ValueId value) {
    return stay_of[size_t(image.values[size_t(value)].place)];
  };
  for (const image::Step& step : image.run) {
    const image::Use use = image::use_of(step, image.flag);
    for (const ValueId written : use.writes)
      for (const auto* values : {&use.reads, &use.writes})
        for (const ValueId other : *values) {
          const int a = stay(written), b = stay(other);
          if (a < 0 || b < 0 || a == b) continue;
          rules.kept_apart[size_t(a)].push_back(size_t(b));
          rules.kept_apart[size_t(b)].push_back(size_t(a));
        }
  }
  return rules;
}

}  // namespace

MemoryPlan plan_memory(const Image& image, const image::Cells& cells) {
  const size_t size = image.values.size();
  const std::vector<Interval> ranges = image::ranges_of(image.numbers, cells);
  MemoryPlan plan;
  plan.slot_of.assign(size, -1);
  plan.offset_of.assign(size, 0);
  for (const image::Value& value : image.values) {
    const int64_t high = ranges[size_t(value.bytes)].high;
    plan.bytes_of.push_back(high == kUnbounded ? -1 : std::max<int64_t>(high, 0));
  }
  std::vector<int64_t> bytes_of_place = plan.bytes_of;
  for (size_t v = 0; v < size; ++v) {
    int64_t& bytes = bytes_of_place[size_t(image.values[v].place)];
    bytes = std::max(bytes, plan.bytes_of[v]);
  }
  const std::vector<Life> lives = lives_of_places(image);
  const size_t end = image.run.size();
  Stays stays;
  std::vector<ValueId> who;  // by stay
  for (size_t v = 0; v < size; ++v) {
    const image::Value& value = image.values[v];
    if (!is_activation(value) || value.on_host || lives[v].first < 0 || size_t(value.place) != v ||
        plan.bytes_of[v] < 0)
      continue;
    who.push_back(static_cast<ValueId>(v));
    stays.push_back(
        {std::max<int64_t>(bytes_of_place[v], 4), size_t(lives[v].first), size_t(lives[v].last)});
  }
  plan.live_bytes = most_alive(stays, end);
  Slots slots = in_order(stays, end);
  const auto keep_smaller = [&](Slots others) {
    if (others.total() < slots.total()) slots = std::move(others);
  };
  if (slots.total() > plan.live_bytes) keep_smaller(largest_first(stays));
  if (slots.total() > plan.live_bytes) {
    SideBySide rules = rules_of(image, who);
    rules.least_bytes = plan.live_bytes;
    keep_smaller(side_by_side(stays, rules));
  }
  if (image.traits.on_host()) {
    // What threads gain is worth a tenth more memory.
    const int64_t most =
        std::max(slots.total(), checked_add(plan.live_bytes, plan.live_bytes / 10));
    if (Slots middles = around_middles(stays, kCacheLine, most); middles.total() <= most)
      slots = std::move(middles);
  }
  for (size_t i = 0; i < stays.size(); ++i) {
    plan.slot_of[size_t(who[i])] = slots.of[i];
    plan.offset_of[size_t(who[i])] = slots.offsets[i];
  }
  plan.peak_bytes = slots.total();
  plan.slot_bytes = std::move(slots.bytes);
  for (size_t v = 0; v < size; ++v) {
    plan.slot_of[v] = plan.slot_of[size_t(image.values[v].place)];
    plan.offset_of[v] = plan.offset_of[size_t(image.values[v].place)];
  }
  return plan;
}

}  // namespace rlx::detail
