#include "rlx/compile/share_places.h"

#include <algorithm>

#include "rlx/image/uses.h"

namespace rlx::detail {
namespace {

using image::Kind;
using image::Life;
using image::ValueId;

class Places {
 public:
  Places(FlatSteps& steps, image::Image& image) : steps_(steps), image_(image) {
    image::Steps plain;
    for (const FlatStep& flat : steps) {
      plain.push_back(flat.step);
      uses_.push_back(image::use_of(flat.step, image.flag));
    }
    lives_ = image::lives_of(image, plain);
    note_loops();
    sharers_.resize(image.values.size());
    for (size_t v = 0; v < image.values.size(); ++v)
      sharers_[size_t(image.values[v].place)].push_back(static_cast<ValueId>(v));
    next_of_.assign(image.values.size(), -1);
    for (const image::State& state : image.states)
      if (state.value >= 0) next_of_[size_t(state.value)] = state.next;
  }

  void take_places_of_operands() {
    for (size_t at = 0; at < steps_.size(); ++at)
      for (const InPlace& pair : steps_[at].in_place)
        if (try_place(static_cast<int32_t>(at), pair)) break;
  }

  // A value that is copied to another one, as at the end of a branch, is written in the place of
  // the other at once. Not in loops: there the next iteration may still read the other.
  void take_places_of_copies() {
    for (size_t at = 0; at < steps_.size(); ++at) {
      const auto* copy = std::get_if<image::Copy>(&steps_[at].step.what);
      if (!copy || copy->source.is_view() || copy->target.is_view()) continue;
      if (ends_[at] != static_cast<int32_t>(at)) continue;
      const ValueId target = copy->target.value, root = place(copy->source.value);
      if (may_go_to(target, root, static_cast<int32_t>(at)))
        for (const ValueId value : std::vector<ValueId>(sharers_[size_t(root)]))
          move(value, target);
    }
  }

  // The next value of a state is written in the place of the state, where the state is not read
  // after that.
  void take_places_of_states() {
    for (const image::State& state : image_.states) {
      if (state.value < 0 || state.next < 0 || state.next == state.value) continue;
      const ValueId root = place(state.next);
      const image::Value& next = image_.values[size_t(root)];
      if (!is_activation(next) || next.bytes != image_.values[size_t(state.value)].bytes) continue;
      ValueId first = root;  // of those that share the place
      for (const ValueId value : sharers_[size_t(root)])
        if (lives_[size_t(value)].first >= 0 &&
            (lives_[size_t(first)].first < 0 ||
             lives_[size_t(value)].first < lives_[size_t(first)].first))
          first = value;
      if (sharers_[size_t(state.value)].size() > 1 || !may_replace(state.value, first)) continue;
      for (const ValueId value : std::vector<ValueId>(sharers_[size_t(root)]))
        move(value, state.value);
    }
  }

  // A state that is not written in its place is updated as soon as nobody reads what it was: from
  // then on the memory of its next value serves others.
  void move_updates_up() {
    for (const image::State& state : image_.states) {
      if (state.value < 0 || state.next < 0 || place(state.next) == state.value) continue;
      if (sharers_[size_t(state.value)].size() > 1) continue;
      for (size_t at = steps_.size(); at-- > 0;)
        if (updates(steps_[at], state)) {
          move_up(at, size_t(std::max(last_read(state.value), last_write(state.next))) + 1);
          break;
        }
    }
  }

 private:
  static bool is_activation(const image::Value& value) {
    return value.kind == Kind::result || value.kind == Kind::temporary;
  }
  ValueId place(ValueId value) const { return image_.values[size_t(value)].place; }
  void move(ValueId value, ValueId to) {
    ValueId& place = image_.values[size_t(value)].place;
    std::vector<ValueId>& left = sharers_[size_t(place)];
    left.erase(std::find(left.begin(), left.end(), value));
    place = to;
    sharers_[size_t(to)].push_back(value);
  }

  // Do all that share the place `root` end with the copy to `target` at step `at`, while nothing
  // touches `target`?
  bool may_go_to(ValueId target, ValueId root, int32_t at) const {
    const image::Value &from = image_.values[size_t(root)], &to = image_.values[size_t(target)];
    const bool same = from.bytes == to.bytes && from.on_host == to.on_host;
    if (!same || !is_activation(from) || !is_activation(to) || to.place != target) return false;
    int32_t first = at;
    for (const ValueId value : sharers_[size_t(root)]) {
      const Life& life = lives_[size_t(value)];
      if (life.last > at || value == target) return false;
      if (life.first >= 0) first = std::min(first, life.first);
    }
    if (steps_[size_t(first)].body != steps_[size_t(at)].body) return false;
    for (int32_t step = first; step < at; ++step)
      for (const auto* list : {&uses_[size_t(step)].reads, &uses_[size_t(step)].writes})
        for (const ValueId value : *list)
          if (place(value) == target) return false;
    return true;
  }

  // Is a state read for the last time before `value` is written, or by the step that writes it, in
  // a way that allows both in one place?
  bool may_replace(ValueId state, ValueId value) {
    const int32_t written = lives_[size_t(value)].first, read = last_read(state);
    if (written < 0 || read > written) return false;
    if (read < written) return true;
    FlatStep& flat = steps_[size_t(written)];
    if (const auto* copy = std::get_if<image::Copy>(&flat.step.what))  // then nothing is copied
      return copy->source.value == state && !copy->source.is_view() && !copy->target.is_view();
    for (const InPlace& pair : flat.in_place)
      if (pair.from == state && pair.to == value && !flat.shares && allows(flat, pair))
        return note_sharing(flat, pair), true;
    return false;
  }

  static bool updates(const FlatStep& flat, const image::State& state) {
    const auto* copy = std::get_if<image::Copy>(&flat.step.what);
    return copy && copy->target.value == state.value && copy->source.value == state.next;
  }
  int32_t last_write(ValueId value) const {
    int32_t last = -1;
    for (size_t at = 0; at < steps_.size(); ++at)
      for (const ValueId written : uses_[at].writes)
        if (place(written) == place(value)) last = std::max(last, ends_[at]);
    return last;
  }
  // Puts the step `from` before the first one from `to` on that every run comes by once.
  void move_up(size_t from, size_t to) {
    while (to < from && is_within_jump(to)) ++to;
    if (to >= from) return;
    const auto rotate = [&](auto& list) {
      const auto begin = list.begin();
      std::rotate(begin + int64_t(to), begin + int64_t(from), begin + int64_t(from) + 1);
    };
    rotate(steps_);
    rotate(uses_);
    for (FlatStep& flat : steps_)  // who jumped to `to` comes by the moved step
      if (auto* jump = std::get_if<image::Jump>(&flat.step.what))
        if (size_t(jump->target) > to && size_t(jump->target) <= from) ++jump->target;
    note_loops();
  }
  // Would a step in front of `at` be jumped over, or be part of a loop?
  bool is_within_jump(size_t at) const {
    for (size_t from = 0; from < steps_.size(); ++from)
      if (const auto* jump = std::get_if<image::Jump>(&steps_[from].step.what)) {
        const auto target = size_t(jump->target);
        if (target > from ? from < at && at < target : target <= at && at <= from) return true;
      }
    return false;
  }

  // For each step the end of the outermost loop around it.
  void note_loops() {
    ends_.resize(steps_.size());
    for (size_t at = 0; at < steps_.size(); ++at) ends_[at] = static_cast<int32_t>(at);
    for (size_t at = 0; at < steps_.size(); ++at) {
      const auto* jump = std::get_if<image::Jump>(&steps_[at].step.what);
      if (!jump || jump->target > static_cast<int32_t>(at)) continue;
      for (auto inner = size_t(jump->target); inner <= at; ++inner)
        ends_[inner] = std::max(ends_[inner], static_cast<int32_t>(at));
    }
  }

  // The last step at which a state is read as it was, but for the copy that updates it.
  int32_t last_read(ValueId state) const {
    int32_t last = -1;
    for (size_t at = 0; at < steps_.size(); ++at)
      if (std::count(uses_[at].reads.begin(), uses_[at].reads.end(), state) != 0)
        last = std::max(last, ends_[at]);
    return last;
  }

  bool try_place(int32_t at, const InPlace& pair) {
    const image::Value &from = image_.values[size_t(pair.from)],
                       &to = image_.values[size_t(pair.to)];
    const ValueId root = from.place;
    if (to.place != pair.to || !is_activation(to) || from.bytes != to.bytes) return false;
    if (to.on_host != from.on_host) return false;
    const std::vector<ValueId>& there = sharers_[size_t(root)];
    const image::Value& holder = image_.values[size_t(root)];
    if (holder.kind == Kind::state) {
      const bool reads_later = last_read_after(pair.from, at) || last_read_after(root, at);
      if (next_of_[size_t(root)] != pair.to || reads_later || there.size() > 1) return false;
    } else if (!is_activation(from) || !is_activation(holder) ||
               std::any_of(there.begin(), there.end(),
                           [&](ValueId each) { return lives_[size_t(each)].last > at; })) {
      return false;
    }
    if (!allows(steps_[size_t(at)], pair)) return false;
    move(pair.to, root);
    note_sharing(steps_[size_t(at)], pair);
    return true;
  }

  bool last_read_after(ValueId value, int32_t at) const {
    for (size_t later = 0; later < steps_.size(); ++later)
      if (static_cast<int32_t>(later) != at && ends_[later] > at &&
          std::count(uses_[later].reads.begin(), uses_[later].reads.end(), value) != 0)
        return true;
    return ends_[size_t(at)] > at;
  }

  // An operand that is read at the elements the thread writes; views of it are read elsewhere.
  static bool allows(const FlatStep& flat, const InPlace& pair) {
    if (!flat.dispatch) {
      const auto* call = std::get_if<image::Call>(&flat.step.what);
      int reads = 0;
      for (const image::Operand& operand : call->inputs) reads += operand.value == pair.from;
      return reads <= 1;
    }
    const Operand* result = nullptr;
    for (const Operand& operand : flat.dispatch->operands)
      if (operand.value == pair.to) result = &operand;
    for (const Operand& operand : flat.dispatch->operands)
      if (operand.value == pair.from &&
          (operand.access != Access::read || operand.window || operand.atomic || !result ||
           !operand.contiguous() || !(operand.shape == result->shape)))
        return false;
    return true;
  }

  static void note_sharing(FlatStep& flat, const InPlace& pair) {
    if (auto* call = std::get_if<image::Call>(&flat.step.what)) {
      for (size_t i = 0; i < call->inputs.size(); ++i)
        if (call->inputs[i].value == pair.from)
          call->in_place.emplace_back(static_cast<int32_t>(i), 0);
      return;
    }
    // The operand that is overwritten has no binding of its own: it is read through the result's.
    auto& dispatch = std::get<image::Dispatch>(flat.step.what);
    bool shares = false;
    std::vector<image::Bound> bound;
    for (const image::Bound& operand : dispatch.operands) {
      if (operand.value == pair.from)
        shares = true;
      else
        bound.push_back(operand);
    }
    if (!shares) return;
    for (image::Bound& operand : bound)
      if (operand.value == pair.to) operand.access = Access::read_write;
    dispatch.operands = std::move(bound);
    flat.in_place = {pair};  // for the renderer
    flat.shares = true;
  }

  FlatSteps& steps_;
  image::Image& image_;
  std::vector<image::Use> uses_;
  std::vector<Life> lives_;
  std::vector<int32_t> ends_;
  std::vector<std::vector<ValueId>> sharers_;  // by value: those that have its memory
  std::vector<ValueId> next_of_;               // by value, of states
};

}  // namespace

void share_places(FlatSteps& steps, image::Image& image) {
  Places places(steps, image);
  places.take_places_of_operands();
  places.take_places_of_copies();
  places.take_places_of_states();
  places.move_updates_up();
}

}  // namespace rlx::detail
