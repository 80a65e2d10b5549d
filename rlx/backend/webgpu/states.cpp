#include "rlx/backend/webgpu/states.h"

#include "rlx/backend/named_values.h"

namespace rlx::detail::webgpu {

States::States(const image::Image& image) : image_(image), states_(image.states.size()) {
  for (size_t i = 0; i < states_.size(); ++i) {
    const image::ValueId value = image.states[i].value;
    if (value >= 0 && image.values[size_t(value)].source >= 0)
      write(i, initial_state(image, image.states[i]), 0);
  }
}

void States::write(size_t at, Tensor copy, uint64_t run) {
  State& state = states_[at];
  state.holds = Holds::host;
  state.copy = std::move(copy);
  state.stale = true;
  state.written_by_host = run;
  state.snapshot.reset();
}

void States::restore_snapshot(uint64_t run) {
  std::vector<std::string> missing;
  for (size_t i = 0; i < states_.size(); ++i)
    if (!states_[i].snapshot) missing.push_back("'" + image_.states[i].name + "'");
  if (!missing.empty())
    fail(ErrorKind::invalid_input, "restore_snapshot: there is no snapshot of ", joined(missing));
  for (size_t i = 0; i < states_.size(); ++i) {
    const Tensor kept = *states_[i].snapshot;
    write(i, kept, run);
    states_[i].snapshot = kept;
  }
}

std::vector<std::string> States::take_restored() {
  std::vector<std::string> names;
  for (size_t i = 0; i < states_.size(); ++i)
    if (std::exchange(states_[i].restored, false)) names.push_back(image_.states[i].name);
  return names;
}

void States::begin_run() {
  for (State& state : states_) state.touched = state.written = false;
}

void States::submitted() {
  for (State& state : states_) state.written |= state.touched;
}

void States::end_run(const std::optional<Error>& failure) {
  for (State& state : states_) {
    if (!state.written) continue;
    if (failure) {
      const std::string why = text("a run that failed may have written it: ", failure->what());
      if (failure->kind() == ErrorKind::device_lost)
        lose(state, why);
      else
        invalidate(state, ErrorKind::invalid_input, why);
      continue;
    }
    if (state.holds == Holds::nothing) continue;
    state.holds = Holds::device;
    state.copy = Tensor();
  }
}

void States::fail_run(uint64_t run, const Error& error) {
  for (size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    const bool wrote = image_.states[i].next >= 0 && state.holds == Holds::device;
    if (wrote && state.written_by_host < run)
      invalidate(state, ErrorKind::invalid_input,
                 text("a run that failed has written it: ", error.what()));
  }
}

void States::lose_device(const std::string& reason) {
  for (State& state : states_) {
    if (state.holds == Holds::device) lose(state, text("its device was lost: ", reason));
    state.stale = state.holds == Holds::host;
  }
}

void States::lose(State& state, const std::string& why) {
  if (!state.snapshot) return invalidate(state, ErrorKind::device_lost, why);
  state.holds = Holds::host;
  state.copy = *state.snapshot;
  state.stale = true;
  state.restored = true;
}

void States::invalidate(State& state, ErrorKind kind, const std::string& why) {
  state.holds = Holds::nothing;
  state.stale = false;
  state.copy = Tensor();
  state.kind = kind;
  state.why = why;
}

void States::require_valid() const {
  std::vector<size_t> invalid;
  for (size_t i = 0; i < states_.size(); ++i)
    if (states_[i].holds == Holds::nothing) invalid.push_back(i);
  if (!invalid.empty()) refuse(invalid);
}

void States::require_valid(size_t state) const {
  if (states_[state].holds == Holds::nothing) refuse({state});
}

void States::refuse(const std::vector<size_t>& states) const {
  std::vector<std::string> names;
  ErrorKind kind = ErrorKind::invalid_input;
  for (const size_t i : states) {
    names.push_back("'" + image_.states[i].name + "'");
    if (states_[i].kind == ErrorKind::device_lost) kind = ErrorKind::device_lost;
  }
  fail(kind, states.size() == 1 ? "state " : "states ", joined(names),
       " must be written or reset before use: ", states_[states.front()].why);
}

}  // namespace rlx::detail::webgpu
