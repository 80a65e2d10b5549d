#include "rlx/backend/webgpu/image_needs.h"

#include <algorithm>

#include "rlx/image/uses.h"

namespace rlx::detail::webgpu {
namespace {

using image::Image;
using image::Kind;
using image::kNone;
using image::ValueId;

bool is_source(const image::Value& value) {
  return value.kind == Kind::weight || value.kind == Kind::constant;
}

std::vector<bool> used_on_device(const Image& image, const image::Steps& steps) {
  std::vector<bool> used(image.values.size(), false);
  const auto mark = [&](const std::vector<ValueId>& values) {
    for (const ValueId value : values)
      if (value >= 0 && !image.values[size_t(value)].on_host) used[size_t(value)] = true;
  };
  for (const image::Step& step : steps) {
    const image::Use use = image::use_of(step, image.flag);
    // Calls and fetches take what the host has from there, and read back the rest.
    const bool reads_on_host = std::holds_alternative<image::Call>(step.what) ||
                               std::holds_alternative<image::Fetch>(step.what);
    if (!reads_on_host) mark(use.reads);
    mark(use.writes);
  }
  return used;
}

// A loop takes as many params as are recorded between two submits; the block is used again then.
uint64_t params_bytes_of(const Image& image, const image::Steps& steps, int64_t alignment) {
  uint64_t all = 0, most = 0;
  bool repeats = false;
  for (size_t at = 0; at < steps.size(); ++at) {
    if (const auto* jump = std::get_if<image::Jump>(&steps[at].what))
      repeats |= static_cast<size_t>(jump->target) <= at;
    const auto* dispatch = std::get_if<image::Dispatch>(&steps[at].what);
    if (!dispatch) continue;
    repeats |= dispatch->repeat != kNone;
    uint64_t bytes = 0;
    for (const image::Choice& choice : dispatch->choices)
      bytes =
          std::max(bytes, static_cast<uint64_t>(image.kernels[size_t(choice.kernel)].params_bytes));
    most = std::max(most, aligned(bytes, alignment));
    all += aligned(bytes, alignment);
  }
  return repeats ? std::max(all, kMostCommands * most) : all;
}

}  // namespace

ImageNeeds needs_of(const Image& image, const image::Implementations& implementations,
                    const DeviceTraits& traits) {
  ImageNeeds needs;
  needs.on_device = used_on_device(image, image.run);
  for (const image::Output& output : image.outputs)
    if (output.value >= 0 && !image.values[size_t(output.value)].on_host)
      needs.on_device[size_t(output.value)] = true;

  const std::vector<bool> once = used_on_device(image, image.once);
  std::vector<bool> once_reads(image.values.size(), false), once_writes = once_reads;
  for (const image::Step& step : image.once) {
    const image::Use use = image::use_of(step, image.flag);
    for (const ValueId value : use.reads) once_reads[size_t(value)] = true;
    for (const ValueId value : use.writes) once_writes[size_t(value)] = true;
  }
  std::vector<bool> place_is_kept(image.values.size(), false);
  for (size_t v = 0; v < image.values.size(); ++v)
    if (image.values[v].kind == Kind::once) place_is_kept[size_t(image.values[v].place)] = true;
  std::vector<bool> listed(image.values.size(), false);
  for (size_t v = 0; v < image.values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    if (is_source(image.values[v])) {
      if (needs.on_device[v]) needs.run_weights.push_back(id);
      if (once[v]) needs.once_weights.push_back(id);
      if (once_reads[v]) needs.once_sources.push_back(id);
      continue;
    }
    const ValueId place = image.values[v].place;
    if (!once[v] || !once_writes[v] || id == image.flag || listed[size_t(place)]) continue;
    listed[size_t(place)] = true;
    needs.once_places.push_back(place);
    if (!place_is_kept[size_t(place)]) needs.once_temporaries.push_back(place);
  }

  needs.once_parts = parts_of_once(image, implementations);

  for (const image::Step& step : image.run) {
    std::vector<size_t>& written = needs.states_written.emplace_back();
    for (const ValueId value : image::use_of(step, image.flag).writes)
      for (size_t s = 0; s < image.states.size(); ++s)
        if (image.states[s].value >= 0 &&
            image.values[size_t(value)].place == image.values[size_t(image.states[s].value)].place)
          written.push_back(s);
  }
  needs.params_bytes = std::max(params_bytes_of(image, image.once, traits.uniform_alignment),
                                params_bytes_of(image, image.run, traits.uniform_alignment));
  return needs;
}

}  // namespace rlx::detail::webgpu
