// The plan's checker: it knows nothing of how plans are made. It walks the steps, loops twice, and
// follows which value each place holds.

#include <map>
#include <set>

#include "rlx/plan/memory_plan.h"

namespace rlx {
namespace {

class Checker {
 public:
  Checker(const Lowered& lowered, const MemoryPlan& plan) : lowered_(lowered), plan_(plan) {}

  void walk(const Steps& steps) {
    for (const Step& step : steps.list) {
      if (const auto* branch = std::get_if<If>(&step.what)) {
        const auto before = holds_;
        walk(branch->then);
        const auto after_then = holds_;
        holds_ = before;
        walk(branch->otherwise);
        for (auto& [place, value] : holds_) {  // what either branch may have left behind
          const auto other = after_then.find(place);
          if (other != after_then.end() && other->second != value) value = kUncertain;
        }
        for (const auto& [place, value] : after_then) holds_.emplace(place, value);
        settle(step);
      } else if (const auto* loop = std::get_if<Loop>(&step.what)) {
        walk(loop->body);
        walk(loop->body);
      } else {
        visit(step);
      }
    }
  }

  void finish() {
    for (const Lowered::Output& output : lowered_.outputs)
      expect(output.value, "output '" + output.name + "'");
    for (const Lowered::Output& output : lowered_.outputs)
      if (updated_.count(output.value))
        faults_.insert(text("output '", output.name, "' is state '", name(output.value),
                            "' after its update"));
    for (const Lowered::Update& update : lowered_.updates) {
      const auto held = holds_.find(place(update.state));
      if (held != holds_.end() && held->second != update.state && held->second != update.next)
        faults_.insert(text("state '", name(update.state), "' does not hold its next value"));
    }
  }

  std::set<std::string> faults_;

 private:
  static constexpr ValueId kUncertain = -2;
  using Place = std::pair<bool, int>;  // a slot, or a value's own storage

  const std::string& name(ValueId value) const { return lowered_.values[size_t(value)].name; }
  Place place(ValueId value) const {
    const int slot = plan_.slot_of[size_t(value)];
    return slot >= 0 ? Place{true, slot} : Place{false, plan_.root[size_t(value)]};
  }

  void expect(ValueId value, const std::string& reader) {
    if (plan_.bytes_of[size_t(value)] == 0) return;  // nothing is there to write
    const auto held = holds_.find(place(value));
    const ValueKind kind = lowered_.values[size_t(value)].kind;
    if (held == holds_.end()) {
      if (kind == ValueKind::result || kind == ValueKind::temporary)
        faults_.insert(text(reader, " reads '", name(value), "' before it is written"));
    } else if (held->second != value) {
      faults_.insert(text(reader, " reads '", name(value), "', which '",
                          held->second < 0 ? "another value" : name(held->second),
                          "' has overwritten"));
    }
  }

  // Both branches write the results of an `if`; after it those are what their places hold.
  void settle(const Step& step) {
    const auto& branch = std::get<If>(step.what);
    for (const Steps* steps : {&branch.then, &branch.otherwise})
      for (const Step& inner : steps->list)
        for (const ValueId value : use_of(inner, lowered_.flag).writes)
          if (lowered_.values[size_t(value)].node == step.node) holds_[place(value)] = value;
  }

  void visit(const Step& step) {
    const StepUse use = use_of(step, lowered_.flag);
    const std::string reader = text("step of node ", step.node);
    const auto* copy = std::get_if<Copy>(&step.what);
    const bool no_copy = copy && place(copy->source) == place(copy->target);
    for (const ValueId value : use.reads) expect(value, reader);
    if (copy && updated_.count(copy->source) && !no_copy)
      faults_.insert(text("'", name(copy->target), "' is copied from state '", name(copy->source),
                          "' after its update"));
    if (copy && copy->source != copy->target &&
        lowered_.values[size_t(copy->target)].kind == ValueKind::state)
      updated_.insert(copy->target);
    std::set<Place> updated;
    for (const ValueId value : use.updates) updated.insert(place(value));
    for (const ValueId written : use.writes)
      for (const ValueId read : use.reads)
        if (!no_copy && place(read) == place(written) &&
            !(updated.count(place(read)) && read == written))
          faults_.insert(text(reader, " reads '", name(read), "' and writes '", name(written),
                              "' in one buffer"));
    for (size_t i = 0; i < use.writes.size(); ++i)
      for (size_t j = i + 1; j < use.writes.size(); ++j)
        if (place(use.writes[i]) == place(use.writes[j]))
          faults_.insert(text(reader, " writes '", name(use.writes[i]), "' and '",
                              name(use.writes[j]), "' in one buffer"));
    for (const ValueId value : use.writes) holds_[place(value)] = value;
  }

  const Lowered& lowered_;
  const MemoryPlan& plan_;
  std::map<Place, ValueId> holds_;
  std::set<ValueId> updated_;  // the states that have their next value
};

}  // namespace

std::vector<std::string> check_plan(const Lowered& lowered, const MemoryPlan& plan,
                                    const DeviceTraits& traits) {
  Checker checker(lowered, plan);
  checker.walk(lowered.steps);
  checker.finish();
  for (size_t v = 0; v < lowered.values.size(); ++v) {
    const int slot = plan.slot_of[v];
    if (slot >= 0 && plan.bytes_of[v] > plan.slot_bytes[size_t(slot)])
      checker.faults_.insert(text("'", lowered.values[v].name, "' has ", plan.bytes_of[v],
                                  " bytes, its slot ", plan.slot_bytes[size_t(slot)]));
    if (plan.bytes_of[v] > traits.max_buffer_bytes)
      checker.faults_.insert(text("'", lowered.values[v].name, "' has ", plan.bytes_of[v],
                                  " bytes, a buffer of this device at most ",
                                  traits.max_buffer_bytes));
  }
  return {checker.faults_.begin(), checker.faults_.end()};
}

}  // namespace rlx
