#include "rlx/compile/live_steps.h"

#include "rlx/image/uses.h"

namespace rlx::detail {
namespace {

using image::Kind;
using image::ValueId;

// Does a step do more than write values?
bool does_more(const FlatStep& flat) {
  const image::Step& step = flat.step;
  if (flat.may_fail) return true;
  if (const auto* call = std::get_if<image::Call>(&step.what)) return !call->told.empty();
  return !std::holds_alternative<image::Dispatch>(step.what) &&
         !std::holds_alternative<image::Copy>(step.what) &&
         !std::holds_alternative<image::Clear>(step.what) &&
         !std::holds_alternative<image::Write>(step.what);
}

}  // namespace

std::vector<bool> steps_without_readers(const FlatSteps& steps, const image::Image& image) {
  std::vector<bool> needed;  // by value
  for (const image::Value& value : image.values)
    needed.push_back(value.kind != Kind::result && value.kind != Kind::temporary);
  const auto need = [&](ValueId value) {
    if (value >= 0) needed[size_t(value)] = true;
  };
  need(image.flag);
  for (const image::Output& output : image.outputs) need(output.value);
  for (const image::State& state : image.states) need(state.next);

  std::vector<image::Use> uses;
  std::vector<std::vector<size_t>> writers(image.values.size());
  std::vector<bool> unread(steps.size(), true);
  std::vector<size_t> open;
  const auto keep = [&](size_t i) {
    if (unread[i]) open.push_back(i);
    unread[i] = false;
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    uses.push_back(image::use_of(steps[i].step, image.flag));
    if (does_more(steps[i]) || uses[i].writes.empty()) keep(i);
    for (const ValueId value : uses[i].writes) {
      writers[size_t(value)].push_back(i);
      if (needed[size_t(value)]) keep(i);
    }
  }
  while (!open.empty()) {
    const size_t at = open.back();
    open.pop_back();
    for (const auto* list : {&uses[at].reads, &uses[at].updates})
      for (const ValueId value : *list)
        for (const size_t writer : writers[size_t(value)]) keep(writer);
  }
  return unread;
}

}  // namespace rlx::detail
