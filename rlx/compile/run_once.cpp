#include "rlx/compile/run_once.h"

#include <algorithm>

#include "rlx/image/uses.h"

namespace rlx::detail {
namespace {

using image::Kind;
using image::ValueId;

bool may_run_once(const FlatStep& flat) {
  const image::Step& step = flat.step;
  if (!flat.constant) return false;
  if (flat.may_fail && flat.body != 0) return false;  // perhaps it never runs
  if (const auto* call = std::get_if<image::Call>(&step.what)) return call->told.empty();
  return std::holds_alternative<image::Dispatch>(step.what) ||
         std::holds_alternative<image::Copy>(step.what) ||
         std::holds_alternative<image::Clear>(step.what) ||
         std::holds_alternative<image::Write>(step.what);
}

struct Size {
  int64_t bytes = 0, elements = 0;
  void add(const image::Value& value, int64_t its_bytes) {
    bytes += its_bytes;
    elements += its_bytes / bytes_of(value.dtype);
  }
};

}  // namespace

std::vector<bool> steps_that_run_once(const FlatSteps& steps, const image::Image& image,
                                      const std::vector<int64_t>& bytes) {
  // Small enough to be kept whatever it was made from.
  constexpr int64_t kSmall = 4096;
  // The host decodes in no load: what its kernels read is made, if not once, in every run. More
  // bytes for as many elements are kept there up to a limit.
  constexpr int64_t kWidened = int64_t{64} << 20;
  std::vector<image::Use> uses;
  std::vector<bool> once(steps.size());
  std::vector<std::vector<size_t>> writers(image.values.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    uses.push_back(image::use_of(steps[i].step, -1));  // the flag is read when all have run
    for (const ValueId value : uses[i].writes) writers[size_t(value)].push_back(i);
    once[i] = may_run_once(steps[i]);
    Size read, written;
    for (const ValueId value : uses[i].reads)
      read.add(image.values[size_t(value)], bytes[size_t(value)]);
    for (const ValueId value : uses[i].writes)
      written.add(image.values[size_t(value)], bytes[size_t(value)]);
    const bool widens =
        image.traits.on_host() && written.elements <= read.elements && written.bytes <= kWidened;
    if (written.bytes > std::max(read.bytes, kSmall) && !widens) once[i] = false;
  }
  const auto is_once = [&](ValueId value) {
    const Kind kind = image.values[size_t(value)].kind;
    if (kind == Kind::weight || kind == Kind::constant) return true;
    const std::vector<size_t>& by = writers[size_t(value)];
    // What several bodies write depends on which of them run, and how often.
    return !by.empty() && std::all_of(by.begin(), by.end(), [&](size_t i) {
      return once[i] && steps[i].body == steps[by[0]].body;
    });
  };
  const auto is_made_here = [&](ValueId value) {
    const Kind kind = image.values[size_t(value)].kind;
    return (kind == Kind::result || kind == Kind::temporary) && is_once(value);
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (!once[i]) continue;
      const bool stays = std::all_of(uses[i].reads.begin(), uses[i].reads.end(), is_once) &&
                         std::all_of(uses[i].updates.begin(), uses[i].updates.end(), is_once) &&
                         std::all_of(uses[i].writes.begin(), uses[i].writes.end(), is_made_here);
      if (!stays) once[i] = false, changed = true;
    }
  }
  return once;
}

}  // namespace rlx::detail
