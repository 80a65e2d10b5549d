#include "rlx/backend/webgpu/once_values.h"

#include <algorithm>

#include "rlx/backend/plans.h"
#include "rlx/image/uses.h"

namespace rlx::detail::webgpu {

using image::ValueId;

OnceValues::OnceValues(const image::Image& image, const ImageNeeds& needs, int64_t budget,
                       HostValues& host, Connection& connection)
    : image_(image),
      needs_(needs),
      budget_(budget),
      host_(host),
      connection_(connection),
      cells_(image.numbers) {}

bool OnceValues::are_due() const {
  if (image_.once.empty()) return false;
  bool same = valid_on_ != 0 && valid_on_ == connection_.number();
  for (size_t i = 0; i < needs_.once_sources.size(); ++i) {
    const std::optional<Tensor>& source = host_.sources[size_t(needs_.once_sources[i])];
    if (!source) return false;  // a weight is given later: the first run computes it
    same = same && marks_[i] == source->mark();
  }
  return !same;
}

bool OnceValues::begin() {
  valid_on_ = 0;
  marks_.clear();
  for (const ValueId value : needs_.once_sources) marks_.push_back(host_.source(value).mark());
  cells_.reset();
  cells_.evaluate();
  plan_ = plan_memory(image_, cells_);
  check_budget(image_, plan_, budget_);
  // Each value in a buffer of its own: slots are for the values of runs.
  std::fill(plan_.slot_of.begin(), plan_.slot_of.end(), -1);
  connection_.resources().use(plan_);
  if (find()) {
    valid_on_ = connection_.number();
    return true;
  }
  place();
  return false;
}

// True where other programs have all of it.
bool OnceValues::find() {
  skipped_ = connection_.once().find(
      needs_.once_parts, image_, cells_,
      [this](ValueId value) -> const Tensor& { return host_.source(value); },
      connection_.logical()->once,
      [this](const OncePart& part, const StoredOnce& stored) { adopt(part, stored); });
  return std::all_of(skipped_.begin(), skipped_.end(), [](bool skip) { return skip; });
}

void OnceValues::adopt(const OncePart& part, const StoredOnce& stored) {
  for (size_t i = 0; i < part.kept.size(); ++i) {
    const image::Value& value = image_.values[size_t(part.kept[i])];
    if (value.on_host)
      host_.made[size_t(value.place)] = stored.tensors[i];
    else
      connection_.resources().adopt(part.kept[i], stored.buffers[i]);
  }
}

// Of the steps that are not skipped, with their places.
std::vector<bool> OnceValues::used_values() const {
  std::vector<bool> used(image_.values.size(), false);
  for (size_t at = 0; at < image_.once.size(); ++at) {
    if (skipped_[at]) continue;
    const image::Use use = image::use_of(image_.once[at], image_.flag);
    for (const auto* values : {&use.reads, &use.writes})
      for (const ValueId value : *values) {
        used[size_t(value)] = true;
        used[size_t(image_.values[size_t(value)].place)] = true;
      }
  }
  return used;
}

// Makes room for the results of the steps that are left to run, and uploads their weights. Results
// always get new buffers: other programs may hold the ones of last time.
void OnceValues::place() {
  Resources& resources = connection_.resources();
  const std::vector<bool> used = used_values();
  for (const ValueId value : needs_.once_weights) {
    if (!used[size_t(value)]) continue;
    check_size(value);
    resources.hold_weight(value, host_.source(value));
  }
  for (const ValueId place : needs_.once_places) {
    if (!used[size_t(place)]) continue;
    resources.free(place);
    if (resources.is_late(place)) continue;  // the call that tells its size makes room
    check_size(place);
    resources.fit_own(place, plan_.bytes_of[size_t(place)]);
  }
  if (image_.flag >= 0) resources.fit_own(image_.flag, kFlagBytes);
}

void OnceValues::finish() {
  for (const ValueId place : needs_.once_temporaries) connection_.resources().free(place);
  for (const ValueId value : needs_.once_weights)
    if (image_.values[size_t(value)].once_only) connection_.resources().free(value);
  connection_.once().store(
      needs_.once_parts, connection_.logical()->once,
      [this](const OncePart& part) { return made(part); },
      [this](const OncePart& part, const StoredOnce& stored) { adopt(part, stored); });
  valid_on_ = connection_.number();
}

std::shared_ptr<StoredOnce> OnceValues::made(const OncePart& part) {
  const auto stored = std::make_shared<StoredOnce>();
  for (const ValueId id : part.kept) {
    const image::Value& value = image_.values[size_t(id)];
    stored->buffers.push_back(value.on_host ? nullptr : connection_.resources().own(id));
    stored->tensors.push_back(value.on_host ? host_.made[size_t(value.place)] : Tensor());
  }
  return stored;
}

void OnceValues::check_size(ValueId value) const {
  check_buffer_size(image_, value, plan_, cells_, connection_.traits());
}

}  // namespace rlx::detail::webgpu
