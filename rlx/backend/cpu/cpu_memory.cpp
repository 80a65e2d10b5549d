#include "rlx/backend/cpu/cpu_memory.h"

#include <algorithm>
#include <cstring>

#include "rlx/backend/named_values.h"

namespace rlx::detail {

using image::Kind;
using image::ValueId;

CpuMemory::CpuMemory(const image::Image& image, const std::vector<bool>& anywhere,
                     vector::Team& team, LargePages& pages)
    : image_(image), pages_(pages), values_(image.values.size()) {
  for (size_t v = 0; v < values_.size(); ++v)
    if (const int32_t source = image.values[v].source; source >= 0)
      values_[v] = image.sources[size_t(source)];
  align(anywhere, team);
  for (const image::State& state : image.states)
    if (state.value >= 0) values_[size_t(state.value)] = initial_state(image, state);
}

void CpuMemory::align(const std::vector<bool>& anywhere, vector::Team& team) {
  struct Part {
    const std::byte* from;
    std::byte* to;
    size_t bytes;
  };
  constexpr size_t kLine = 64, kPart = size_t{1} << 19;
  std::vector<std::pair<ValueId, size_t>> places;
  size_t total = 0;
  for (size_t v = 0; v < values_.size(); ++v) {
    const image::Value& value = image_.values[v];
    if (value.source < 0 || anywhere[v]) continue;
    const auto alignment = static_cast<uintptr_t>(std::min<int64_t>(bytes_of(value.dtype), 8));
    if (reinterpret_cast<uintptr_t>(values_[v].bytes().data()) % alignment == 0) continue;
    places.emplace_back(static_cast<ValueId>(v), total);
    total += (values_[v].bytes().size() + kLine - 1) / kLine * kLine;
  }
  if (places.empty()) return;
  const auto storage = std::make_shared<Storage>(total);
  std::byte* const to = storage->change();
  std::vector<Part> parts;
  std::vector<Tensor> sources;  // until they are copied
  for (const auto& [v, offset] : places) {
    Tensor& tensor = sources.emplace_back(values_[size_t(v)]);
    const auto bytes = tensor.bytes();
    for (size_t at = 0; at < bytes.size(); at += kPart)
      parts.push_back({bytes.data() + at, to + offset + at, std::min(kPart, bytes.size() - at)});
    values_[size_t(v)] = Tensor(tensor.dtype(), tensor.shape(), storage, offset);
  }
  team.run(static_cast<int64_t>(parts.size()), 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(parts[size_t(i)].to, parts[size_t(i)].from, parts[size_t(i)].bytes);
  });
}

bool CpuMemory::fit(std::shared_ptr<const MemoryPlan> plan) {
  if (plan == plan_) return false;
  plan_ = std::move(plan);
  constexpr int64_t kAlignment = 64;
  offsets_.clear();
  int64_t total = 0;
  for (const int64_t bytes : plan_->slot_bytes) {
    offsets_.push_back(total);
    total += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (arena_ && static_cast<int64_t>(arena_->bytes().size()) >= total) return false;
  arena_ = nullptr;  // freed before the larger one is made
  try {
    arena_ = std::make_shared<Storage>(static_cast<size_t>(total));
  } catch (Error& error) {
    error.add_note(largest());
    plan_ = nullptr;  // the next run tries again
    throw;
  }
  return true;
}

// What takes the most memory, for whom there was none.
std::string CpuMemory::largest() const {
  size_t most = 0;
  int64_t bytes = -1;
  for (size_t v = 0; v < image_.values.size(); ++v) {
    if (plan_->slot_of[v] < 0 || plan_->bytes_of[v] <= bytes) continue;
    bytes = plan_->bytes_of[v];
    most = v;
  }
  if (bytes < 0) return "a run has no values";
  return text("the largest value of the run is '", image_.values[most].name, "', ",
              image_.values[most].dtype, " in ", bytes, " bytes");
}

namespace {
int64_t bytes_in(DType dtype, const Shape& shape) {
  int64_t bytes = bytes_of(dtype);
  for (const int64_t extent : shape) bytes = checked_mul(bytes, extent);
  return bytes;
}
}  // namespace

Tensor CpuMemory::target(ValueId v, const image::Cells& cells) {
  const image::Value& value = image_.values[size_t(v)];
  if (!cells.known(value.shape)) return {value.dtype, Shape{0}};
  Shape shape(value.shape.size(), 0);
  for (size_t d = 0; d < shape.size(); ++d) shape[d] = cells.at(value.shape[d]);
  if (image_.values[size_t(value.place)].kind == Kind::state)
    return values_[size_t(value.place)].reshaped(std::move(shape));
  if (in_once_) {
    const auto bytes = static_cast<size_t>(bytes_in(value.dtype, shape));
    return {value.dtype, std::move(shape), std::make_shared<Storage>(bytes, pages_)};
  }
  const int slot = plan_->slot_of[size_t(v)];
  if (slot < 0) {
    if (is_late(v)) late_.spend(v, bytes_in(value.dtype, shape), image_);
    return {value.dtype, std::move(shape)};
  }
  const int64_t offset = plan_->offset_of[size_t(v)];
  Tensor tensor(value.dtype, std::move(shape), arena_,
                static_cast<size_t>(offsets_[size_t(slot)] + offset));
  const int64_t room = plan_->slot_bytes[size_t(slot)] - offset;
  if (static_cast<int64_t>(tensor.bytes().size()) > room)
    fail(ErrorKind::invalid_model, "image: '", value.name, "' is ", tensor.type(), " in ", room,
         " bytes");
  return tensor;
}

void CpuMemory::keep(ValueId v, const Tensor& result, const image::Cells& cells) {
  const Tensor& now = values_[size_t(v)];
  if (now.bytes().data() == result.bytes().data() && now.dtype() == result.dtype() &&
      now.shape() == result.shape() && now.identity() == result.identity())
    return;
  const image::Value& value = image_.values[size_t(v)];
  const bool planned = !in_once_ && plan_->slot_of[size_t(v)] >= 0;
  if (!planned && image_.values[size_t(value.place)].kind != Kind::state) {
    if (is_late(v)) late_.spend(v, static_cast<int64_t>(result.bytes().size()), image_);
    values_[size_t(v)] = result;
    return;
  }
  Tensor place = target(v, cells);
  if (place.count() > 0 && place.bytes().data() != result.bytes().data())
    std::memmove(place.mutable_bytes().data(), result.bytes().data(), result.bytes().size());
  values_[size_t(v)] = std::move(place);
}

void CpuMemory::end_once() {
  in_once_ = false;
  for (size_t v = 0; v < values_.size(); ++v)
    if (image_.values[v].kind == Kind::temporary) values_[v] = Tensor();
}

}  // namespace rlx::detail
