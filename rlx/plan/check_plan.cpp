// The plan's checker: it knows nothing of how plans are made. It follows every way through the
// steps and which value each place holds.

#include <algorithm>
#include <compare>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "rlx/image/uses.h"
#include "rlx/plan/memory_plan.h"

namespace rlx::detail {
namespace {

using image::Image;
using image::Kind;
using image::ValueId;

class Checker {
 public:
  Checker(const Image& image, const MemoryPlan& plan) : image_(image), plan_(plan) {}

  std::set<std::string> faults() {
    follow(image_.once);
    if (const auto at_end = follow(image_.run)) finish(*at_end);
    return faults_;
  }

 private:
  static constexpr ValueId kUncertain = -2;
  // Of a slot, or a value's own memory.
  struct Place {
    bool in_slot = false;
    int which = 0;
    int64_t offset = 0;
    auto operator<=>(const Place&) const = default;
    bool same_buffer(const Place& other) const {
      return in_slot == other.in_slot && which == other.which;
    }
  };
  struct Held {
    ValueId value;
    int64_t bytes;
    bool operator==(const Held&) const = default;
  };
  struct Holds {
    std::map<Place, Held> values;
    std::set<ValueId> updated;  // the states that have their next value
    bool operator==(const Holds&) const = default;
  };

  // What is held behind the last step.
  std::optional<Holds> follow(const image::Steps& steps) {
    const size_t end = steps.size();
    std::vector<std::optional<Holds>> before(end + 1);
    before[0] = Holds{};
    std::deque<size_t> waiting{0};
    while (!waiting.empty()) {
      const size_t at = waiting.front();
      waiting.pop_front();
      Holds holds = *before[at];
      if (at == end) continue;
      visit(steps[at], holds);
      const auto* jump = std::get_if<image::Jump>(&steps[at].what);
      std::vector<size_t> next;
      if (!jump || jump->unless != image::kNone) next.push_back(at + 1);
      if (jump) next.push_back(size_t(jump->target));
      for (const size_t to : next)
        if (merge(before[to], holds)) waiting.push_back(to);
    }
    return before[end];
  }

  const std::string& name(ValueId value) const { return image_.values[size_t(value)].name; }
  Place place(ValueId value) const {
    const int slot = plan_.slot_of[size_t(value)];
    return slot >= 0 ? Place{true, slot, plan_.offset_of[size_t(value)]}
                     : Place{false, image_.values[size_t(value)].place};
  }
  int64_t bytes(ValueId value) const { return plan_.bytes_of[size_t(value)]; }
  static bool overlap(const Place& a, int64_t a_bytes, const Place& b, int64_t b_bytes) {
    // Memory of its own may be of any size.
    return a.same_buffer(b) &&
           (!a.in_slot || (a.offset < b.offset + b_bytes && b.offset < a.offset + a_bytes));
  }
  // May a step that reads the one write the other? A device binds whole buffers for one or the
  // other.
  bool may_meet(ValueId a, ValueId b) const {
    return image_.traits.on_host() ? !overlap(place(a), bytes(a), place(b), bytes(b))
                                   : !place(a).same_buffer(place(b));
  }

  // What holds where two paths of steps meet; a place in which they differ is uncertain. True where
  // `known` has changed.
  static bool merge(std::optional<Holds>& known, const Holds& more) {
    if (!known) return known = more, true;
    const Holds was = *known;
    for (const auto& [place, held] : more.values) {
      const auto [at, added] = known->values.emplace(place, held);
      if (added || at->second == held) continue;
      if (at->second.value != held.value) at->second.value = kUncertain;
      at->second.bytes = std::max(at->second.bytes, held.bytes);
    }
    known->updated.insert(more.updated.begin(), more.updated.end());
    return !(*known == was);
  }

  void expect(ValueId value, const std::string& reader, const Holds& holds) {
    if (plan_.bytes_of[size_t(value)] == 0) return;  // nothing is there to write
    const auto held = holds.values.find(place(value));
    const Kind kind = image_.values[size_t(value)].kind;
    if (held == holds.values.end()) {
      if (kind == Kind::result || kind == Kind::temporary)
        faults_.insert(text(reader, " reads '", name(value), "' before it is written"));
    } else if (held->second.value != value) {
      const ValueId other = held->second.value;
      faults_.insert(text(reader, " reads '", name(value), "', which '",
                          other < 0 ? "another value" : name(other), "' has overwritten"));
    }
  }

  void visit(const image::Step& step, Holds& holds) {
    const image::Use use = image::use_of(step, image_.flag);
    const std::string reader =
        step.node < 0 ? "a step"
                      : text("step of node '", image_.nodes[size_t(step.node)].name, "'");
    const auto* copy = std::get_if<image::Copy>(&step.what);
    const bool no_copy = copy && place(copy->source.value) == place(copy->target.value);
    for (const ValueId value : use.reads) expect(value, reader, holds);
    if (copy && holds.updated.count(copy->source.value) && !no_copy)
      faults_.insert(text("'", name(copy->target.value), "' is copied from state '",
                          name(copy->source.value), "' after its update"));
    if (copy && copy->source.value != copy->target.value &&
        image_.values[size_t(copy->target.value)].kind == Kind::state)
      holds.updated.insert(copy->target.value);
    std::set<Place> updated;
    for (const ValueId value : use.updates) updated.insert(place(value));
    for (const ValueId written : use.writes)
      for (const ValueId read : use.reads)
        if (!no_copy && !may_meet(read, written) && !updated.count(place(read)))
          faults_.insert(text(reader, " reads '", name(read), "' and writes '", name(written),
                              "' in one buffer"));
    for (size_t i = 0; i < use.writes.size(); ++i)
      for (size_t j = i + 1; j < use.writes.size(); ++j)
        if (!may_meet(use.writes[i], use.writes[j]))
          faults_.insert(text(reader, " writes '", name(use.writes[i]), "' and '",
                              name(use.writes[j]), "' in one buffer"));
    for (const ValueId value : use.writes) write(value, holds);
  }

  void write(ValueId value, Holds& holds) {
    const Place to = place(value);
    for (auto& [at, held] : holds.values)
      if (overlap(at, held.bytes, to, bytes(value))) held.value = value;
    holds.values[to] = {value, bytes(value)};
  }

  void finish(const Holds& holds) {
    for (const image::Output& output : image_.outputs) {
      expect(output.value, "output '" + output.name + "'", holds);
      if (holds.updated.count(output.value))
        faults_.insert(text("output '", output.name, "' is state '", name(output.value),
                            "' after its update"));
    }
    for (const image::State& state : image_.states) {
      if (state.value < 0) continue;
      const auto held = holds.values.find(place(state.value));
      if (held != holds.values.end() && held->second.value != state.value &&
          held->second.value != state.next)
        faults_.insert(text("state '", state.name, "' does not hold its next value"));
    }
  }

  const Image& image_;
  const MemoryPlan& plan_;
  std::set<std::string> faults_;
};

}  // namespace

std::vector<std::string> check_plan(const Image& image, const MemoryPlan& plan) {
  std::set<std::string> faults = Checker(image, plan).faults();
  for (size_t v = 0; v < image.values.size(); ++v) {
    const int slot = plan.slot_of[v];
    if (slot >= 0 && plan.offset_of[v] + plan.bytes_of[v] > plan.slot_bytes[size_t(slot)])
      faults.insert(text("'", image.values[v].name, "' has ", plan.bytes_of[v], " bytes",
                         plan.offset_of[v] > 0 ? text(" from byte ", plan.offset_of[v]) : "",
                         ", its slot ", plan.slot_bytes[size_t(slot)]));
    if (slot >= 0 && !image.traits.on_host() && plan.offset_of[v] % image.traits.storage_alignment)
      faults.insert(text("'", image.values[v].name, "' begins at byte ", plan.offset_of[v],
                         ", which this device does not bind"));
    if (plan.bytes_of[v] > image.traits.max_buffer_bytes)
      faults.insert(text("'", image.values[v].name, "' has ", plan.bytes_of[v],
                         " bytes, a buffer of this device at most ",
                         image.traits.max_buffer_bytes));
  }
  return {faults.begin(), faults.end()};
}

}  // namespace rlx::detail
