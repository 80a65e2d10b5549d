#include "rlx/plan/memory_plan.h"

#include <algorithm>

#include "rlx/lower/storage.h"

namespace rlx {
namespace {

struct Life {
  int first = -1, last = -1;  // instructions; -1: never
};

bool is_activation(const LoweredValue& value) {
  return value.kind == ValueKind::result || value.kind == ValueKind::temporary;
}

// A value that a loop's body touches but did not make lives until the loop ends.
std::vector<Life> lives_of(const Lowered& lowered, const std::vector<Instruction>& list) {
  std::vector<Life> lives(lowered.values.size());
  const auto touch = [&](ValueId value, int at) {
    Life& life = lives[size_t(value)];
    if (life.first < 0) life.first = at;
    life.last = std::max(life.last, at);
  };
  for (int at = 0; at < static_cast<int>(list.size()); ++at) {
    if (list[size_t(at)].kind != Instruction::Kind::step) continue;
    const StepUse use = use_of(*list[size_t(at)].step, lowered.flag);
    for (const ValueId value : use.reads) touch(value, at);
    for (const ValueId value : use.writes) touch(value, at);
  }
  for (int at = 0; at < static_cast<int>(list.size()); ++at) {
    const Instruction& back = list[size_t(at)];
    if (back.kind != Instruction::Kind::jump || static_cast<int>(back.target) > at) continue;
    const int begin = static_cast<int>(back.target);
    for (Life& life : lives)
      if (life.first >= 0 && life.first < begin && life.last >= begin)
        life.last = std::max(life.last, at);
  }
  const int end = static_cast<int>(list.size());
  for (const Lowered::Output& output : lowered.outputs) touch(output.value, end);
  return lives;
}

// A result may take its operand's place when nothing reads the operand afterwards; a state's place
// when it is the state's next value.
void place_in_place(const Lowered& lowered, const std::vector<Instruction>& list,
                    std::vector<Life>& lives, std::vector<ValueId>& root) {
  for (int at = 0; at < static_cast<int>(list.size()); ++at) {
    if (list[size_t(at)].kind != Instruction::Kind::step) continue;
    const auto* dispatch = std::get_if<Dispatch>(&list[size_t(at)].step->what);
    if (!dispatch || !dispatch->in_place) continue;
    const ValueId from = dispatch->in_place->first, to = dispatch->in_place->second;
    const LoweredValue& source = lowered.values[size_t(from)];
    const ValueId place = root[size_t(from)];
    const bool shared = std::any_of(root.begin(), root.end(), [&](const ValueId& other) {
      return other == place && &other != &root[size_t(place)] && &other != &root[size_t(from)];
    });
    if (shared || root[size_t(to)] != to) continue;
    bool dies = lives[size_t(from)].last <= at && is_activation(source);
    if (lowered.values[size_t(place)].kind == ValueKind::state) {
      const bool next = std::any_of(lowered.updates.begin(), lowered.updates.end(),
                                    [&](const Lowered::Update& update) {
                                      return update.state == place && update.next == to;
                                    });
      // The update's own copy is the last touch of a state.
      const int copy = lives[size_t(place)].last;
      bool read_later = false;
      for (int later = at + 1; later < copy; ++later)
        if (list[size_t(later)].kind == Instruction::Kind::step)
          for (const ValueId value : use_of(*list[size_t(later)].step, lowered.flag).reads)
            read_later |= value == from;
      dies = next && !read_later;
    }
    if (!dies) continue;
    root[size_t(to)] = place;
    lives[size_t(place)].last = std::max(lives[size_t(place)].last, lives[size_t(to)].last);
  }
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

}  // namespace

MemoryPlan plan_memory(const Lowered& lowered, const DeviceTraits& traits,
                       const SymbolRanges& ranges) {
  const size_t size = lowered.values.size();
  const std::vector<Instruction> list = flatten(lowered.steps);
  std::vector<Life> lives = lives_of(lowered, list);
  MemoryPlan plan;
  plan.slot_of.assign(size, -1);
  for (size_t v = 0; v < size; ++v) {
    const LoweredValue& value = lowered.values[v];
    plan.root.push_back(static_cast<ValueId>(v));
    const Interval bytes =
        bytes_of(value.type.dtype, count(value.type.shape), traits).range(ranges);
    plan.bytes_of.push_back(bytes.high == kUnbounded ? -1 : std::max<int64_t>(bytes.high, 0));
  }
  place_in_place(lowered, list, lives, plan.root);

  std::vector<std::vector<ValueId>> born(list.size() + 1), dying(list.size() + 1);
  for (size_t v = 0; v < size; ++v) {
    if (!is_activation(lowered.values[v]) || lives[v].first < 0 ||
        plan.root[v] != static_cast<ValueId>(v))
      continue;
    if (plan.bytes_of[v] < 0) continue;
    born[size_t(lives[v].first)].push_back(static_cast<ValueId>(v));
    dying[size_t(lives[v].last)].push_back(static_cast<ValueId>(v));
  }
  std::vector<int> free;
  for (size_t at = 0; at <= list.size(); ++at) {
    for (const ValueId value : born[at])
      plan.slot_of[size_t(value)] =
          take_slot(free, plan.slot_bytes, std::max<int64_t>(plan.bytes_of[size_t(value)], 4));
    for (const ValueId value : dying[at]) free.push_back(plan.slot_of[size_t(value)]);
  }
  for (size_t v = 0; v < size; ++v) plan.slot_of[v] = plan.slot_of[size_t(plan.root[v])];
  for (const int64_t bytes : plan.slot_bytes) plan.peak_bytes += bytes;
  return plan;
}

}  // namespace rlx
