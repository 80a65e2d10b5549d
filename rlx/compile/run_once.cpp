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
  // What is told in a body is forgotten before the body runs again.
  if (std::holds_alternative<image::Fetch>(step.what)) return flat.body == 0;
  if (const auto* call = std::get_if<image::Call>(&step.what))
    return call->told.empty() || flat.body == 0;
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

enum class Growth { none, widens, enlarges };
// Does a step keep more bytes than it reads? It widens where they are of no more elements.
Growth growth_of(const image::Step& step, const image::Use& use, const image::Image& image,
                 const std::vector<int64_t>& bytes, int64_t* written_bytes) {
  constexpr int64_t kSmall = 4096;  // is kept whatever it was made from
  Size read, written;
  for (const ValueId value : use.reads) read.add(image.values[size_t(value)], bytes[size_t(value)]);
  for (const ValueId value : use.writes)
    written.add(image.values[size_t(value)], bytes[size_t(value)]);
  *written_bytes = written.bytes;
  // Only the call can tell how large its results are: a selection of what it reads, as a rule.
  const auto* call = std::get_if<image::Call>(&step.what);
  if (call && !call->told.empty()) return Growth::none;
  if (written.bytes <= std::max(read.bytes, kSmall)) return Growth::none;
  return written.elements <= read.elements ? Growth::widens : Growth::enlarges;
}

// By step: does it read nothing but constants, and what steps made of these? No weight is expanded
// by such a step.
std::vector<bool> steps_of_constants(const std::vector<image::Use>& uses,
                                     const image::Image& image) {
  std::vector<bool> is_constant;  // by value; until a step of others is found to write it
  for (const image::Value& value : image.values)
    is_constant.push_back(value.kind != Kind::weight && value.kind != Kind::input &&
                          value.kind != Kind::state);
  std::vector<bool> result(uses.size());
  for (bool changed = true; changed;) {  // a body's steps may read what later ones write
    changed = false;
    for (size_t i = 0; i < uses.size(); ++i) {
      const auto constant = [&](ValueId value) { return bool(is_constant[size_t(value)]); };
      result[i] = std::all_of(uses[i].reads.begin(), uses[i].reads.end(), constant) &&
                  std::all_of(uses[i].updates.begin(), uses[i].updates.end(), constant);
      if (result[i]) continue;
      for (const auto* written : {&uses[i].writes, &uses[i].updates})
        for (const ValueId value : *written) {
          changed |= is_constant[size_t(value)];
          is_constant[size_t(value)] = false;
        }
    }
  }
  return result;
}

}  // namespace

std::vector<bool> steps_that_run_once(const FlatSteps& steps, const image::Image& image,
                                      const std::vector<int64_t>& bytes) {
  std::vector<image::Use> uses;
  std::vector<bool> once(steps.size());
  std::vector<int64_t> grown(steps.size(), 0);  // bytes
  std::vector<std::vector<size_t>> writers(image.values.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    uses.push_back(image::use_of(steps[i].step, -1));  // the flag is read when all have run
    for (const ValueId value : uses[i].writes) writers[size_t(value)].push_back(i);
  }
  const std::vector<bool> of_constants = steps_of_constants(uses, image);
  for (size_t i = 0; i < steps.size(); ++i) {
    int64_t written = 0;
    const Growth growth = growth_of(steps[i].step, uses[i], image, bytes, &written);
    const bool may_grow = of_constants[i] || (growth == Growth::widens && image.traits.on_host());
    if (growth != Growth::none) grown[i] = written;
    once[i] = may_run_once(steps[i]) && (growth == Growth::none || may_grow);
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
  const auto leave_out_what_needs_a_run = [&] {
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
  };
  leave_out_what_needs_a_run();
  // A kernel of a device widens what it loads. Those of the host read what is made before, if not
  // once, in every run; masks and tables of positions are made of a few constants by many steps.
  // They are kept as long as all of it together is little.
  constexpr int64_t kMostGrown = int64_t{64} << 20;
  int64_t kept = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!once[i] || grown[i] == 0) continue;
    if (kept + grown[i] > kMostGrown)
      once[i] = false;
    else
      kept += grown[i];
  }
  leave_out_what_needs_a_run();
  return once;
}

}  // namespace rlx::detail
