// The plan's checker: it knows nothing of how plans are made. It follows every way through the
// steps and which value each place holds.

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
    const size_t end = image_.run.size();
    std::vector<std::optional<Holds>> before(end + 1);
    before[0] = Holds{};
    std::deque<size_t> waiting{0};
    while (!waiting.empty()) {
      const size_t at = waiting.front();
      waiting.pop_front();
      Holds holds = *before[at];
      if (at == end) continue;
      visit(image_.run[at], holds);
      const auto* jump = std::get_if<image::Jump>(&image_.run[at].what);
      std::vector<size_t> next;
      if (!jump || jump->unless != image::kNone) next.push_back(at + 1);
      if (jump) next.push_back(size_t(jump->target));
      for (const size_t to : next)
        if (merge(before[to], holds)) waiting.push_back(to);
    }
    if (before[end]) finish(*before[end]);
    return faults_;
  }

 private:
  static constexpr ValueId kUncertain = -2;
  using Place = std::pair<bool, int>;  // a slot, or a value's own memory
  struct Holds {
    std::map<Place, ValueId> values;
    std::set<ValueId> updated;  // the states that have their next value
    bool operator==(const Holds&) const = default;
  };

  const std::string& name(ValueId value) const { return image_.values[size_t(value)].name; }
  Place place(ValueId value) const {
    const int slot = plan_.slot_of[size_t(value)];
    return slot >= 0 ? Place{true, slot} : Place{false, image_.values[size_t(value)].place};
  }

  // Joins two ways that meet; true where that changed what is known.
  static bool merge(std::optional<Holds>& known, const Holds& more) {
    if (!known) return known = more, true;
    const Holds was = *known;
    for (const auto& [place, value] : more.values) {
      const auto [at, added] = known->values.emplace(place, value);
      if (!added && at->second != value) at->second = kUncertain;
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
    } else if (held->second != value) {
      faults_.insert(text(reader, " reads '", name(value), "', which '",
                          held->second < 0 ? "another value" : name(held->second),
                          "' has overwritten"));
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
        if (!no_copy && place(read) == place(written) && !updated.count(place(read)))
          faults_.insert(text(reader, " reads '", name(read), "' and writes '", name(written),
                              "' in one buffer"));
    for (size_t i = 0; i < use.writes.size(); ++i)
      for (size_t j = i + 1; j < use.writes.size(); ++j)
        if (place(use.writes[i]) == place(use.writes[j]))
          faults_.insert(text(reader, " writes '", name(use.writes[i]), "' and '",
                              name(use.writes[j]), "' in one buffer"));
    for (const ValueId value : use.writes) holds.values[place(value)] = value;
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
      if (held != holds.values.end() && held->second != state.value && held->second != state.next)
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
    if (slot >= 0 && plan.bytes_of[v] > plan.slot_bytes[size_t(slot)])
      faults.insert(text("'", image.values[v].name, "' has ", plan.bytes_of[v], " bytes, its slot ",
                         plan.slot_bytes[size_t(slot)]));
    if (plan.bytes_of[v] > image.traits.max_buffer_bytes)
      faults.insert(text("'", image.values[v].name, "' has ", plan.bytes_of[v],
                         " bytes, a buffer of this device at most ",
                         image.traits.max_buffer_bytes));
  }
  return {faults.begin(), faults.end()};
}

}  // namespace rlx::detail
