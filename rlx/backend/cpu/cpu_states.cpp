#include "rlx/backend/cpu/cpu_states.h"

#include "rlx/backend/named_values.h"

namespace rlx::detail {

using image::ValueId;

namespace {
[[noreturn]] void fail_of(std::vector<std::string> names) {
  for (std::string& name : names) name = "'" + name + "'";
  fail(ErrorKind::invalid_input, "state ", joined(names),
       " was half written by a run that failed: write or reset it");
}
}  // namespace

Tensor CpuStates::read(const std::string& name) {
  const image::State& state = state_of(image_, name);
  if (half_written_.count(state.value)) fail_of({state.name});
  if (state.value < 0) return {state.type.dtype, concrete(state.type.shape)};
  return memory_.value(state.value).copy();
}

void CpuStates::write(const std::string& name, const Tensor& tensor) {
  const image::State& state = state_of(image_, name);
  check_type("state", name, state.type, tensor);
  if (state.value < 0) return;
  set(state.value, tensor.copy());
  snapshot_.erase(state.value);
}

void CpuStates::take_snapshot() {
  std::map<ValueId, Tensor> copies;  // all of them or none
  for (const image::State& state : image_.states) {
    if (half_written_.count(state.value)) fail_of({state.name});
    if (state.value >= 0) copies[state.value] = memory_.value(state.value).copy();
  }
  snapshot_ = std::move(copies);
}

void CpuStates::restore_snapshot() {
  std::vector<std::string> missing;
  for (const image::State& state : image_.states)
    if (state.value >= 0 && !snapshot_.count(state.value))
      missing.push_back("'" + state.name + "'");
  if (!missing.empty())
    fail(ErrorKind::invalid_input, "restore_snapshot: there is no snapshot of ", joined(missing));
  for (const auto& [value, copy] : snapshot_) set(value, copy.copy());
}

void CpuStates::mark_half_written(const std::vector<ValueId>& states) {
  half_written_.insert(states.begin(), states.end());
}

void CpuStates::require_whole() const {
  std::vector<std::string> names;
  for (const ValueId value : half_written_) names.push_back(image_.values[size_t(value)].name);
  if (!names.empty()) fail_of(names);
}

void CpuStates::set(ValueId value, Tensor tensor) {
  memory_.set(value, std::move(tensor));
  half_written_.erase(value);
}

}  // namespace rlx::detail
