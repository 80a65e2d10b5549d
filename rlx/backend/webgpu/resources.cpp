#include "rlx/backend/webgpu/resources.h"

#include <algorithm>

#include "rlx/backend/webgpu/upload.h"
#include "rlx/image/words.h"

namespace rlx::detail::webgpu {

using image::Kind;
using image::ValueId;

namespace {

uint64_t at_least_a_word(int64_t bytes) { return std::max<uint64_t>(whole_words(bytes), 4); }

}  // namespace

Resources::Resources(std::shared_ptr<LogicalDevice> device, const image::Image& image,
                     const ImageNeeds& needs, Counters& counters)
    : device_(std::move(device)),
      image_(image),
      counters_(counters),
      own_(image.values.size()),
      borrowed_(image.values.size()),
      weights_(image.values.size()),
      marks_(image.values.size()),
      params_(needs.params_bytes, traits().uniform_alignment),
      groups_(counters) {
  if (needs.params_bytes > 0)
    params_.set_buffer(make(needs.params_bytes, BufferUse::params, "params"));
}

BufferPtr Resources::make(uint64_t bytes, BufferUse use, const std::string& label) {
  BufferPtr buffer = gpu().create_buffer(bytes, use, label);
  ++counters_.buffers;
  ++generation_;
  return buffer;
}

// Freed before a larger one is made, and with it the bind groups that hold it.
void Resources::release(BufferPtr& buffer) {
  if (!buffer) return;
  groups_.clear();
  ++generation_;
  buffer = nullptr;
}

// Bind groups know buffers and how much of them is bound: those of a plan where values lie
// elsewhere or are smaller are not those of this one.
void Resources::use(const MemoryPlan& plan) {
  plan_ = &plan;
  if (slot_of_ == plan.slot_of && offset_of_ == plan.offset_of && bytes_of_ == plan.bytes_of)
    return;
  slot_of_ = plan.slot_of;
  offset_of_ = plan.offset_of;
  bytes_of_ = plan.bytes_of;
  ++generation_;
}

void Resources::fit(const MemoryPlan& plan) {
  use(plan);
  slots_.resize(std::max(slots_.size(), plan.slot_bytes.size()));
  for (size_t s = 0; s < plan.slot_bytes.size(); ++s) {
    const uint64_t bytes = at_least_a_word(plan.slot_bytes[s]);
    if (slots_[s] && slots_[s]->bytes() >= bytes) continue;
    release(slots_[s]);
    slots_[s] = make(bytes, BufferUse::storage, text("slot ", s));
  }
  for (size_t v = 0; v < image_.values.size(); ++v) {
    const image::Value& value = image_.values[v];
    if (value.kind == Kind::state || value.kind == Kind::flag)
      fit_own(static_cast<ValueId>(v), plan.bytes_of[v]);
  }
}

void Resources::fit_own(ValueId place, int64_t bytes) {
  BufferPtr& own = own_[size_t(place)];
  if (own && own->bytes() >= at_least_a_word(bytes)) return;
  release(own);
  marks_[size_t(place)] = {};
  own = make(at_least_a_word(bytes), BufferUse::storage, image_.values[size_t(place)].name);
}

bool Resources::fits(ValueId value, int64_t bytes) const {
  const BufferPtr& own = own_[place_of(value)];
  return own && own->bytes() >= at_least_a_word(bytes);
}

void Resources::free(ValueId place) {
  release(own_[size_t(place)]);
  weights_[size_t(place)] = nullptr;
  marks_[size_t(place)] = {};
}

void Resources::adopt(ValueId value, BufferPtr buffer) {
  const auto place = static_cast<ValueId>(place_of(value));
  free(place);
  own_[size_t(place)] = std::move(buffer);
  ++generation_;
}

const BufferPtr& Resources::buffer(ValueId value) const {
  if (borrowed_[size_t(value)]) return borrowed_[size_t(value)];
  const int slot = plan_->slot_of[size_t(value)];
  return slot >= 0 ? slots_[size_t(slot)] : own_[place_of(value)];
}

uint64_t Resources::offset(ValueId value) const {
  const bool in_slot = !borrowed_[size_t(value)] && plan_->slot_of[size_t(value)] >= 0;
  return in_slot ? static_cast<uint64_t>(plan_->offset_of[size_t(value)]) : 0;
}

int64_t Resources::capacity(ValueId value, const image::Cells& cells) const {
  const int64_t planned = plan_->bytes_of[size_t(value)];
  const int64_t bytes = planned < 0 ? cells.at(image_.values[size_t(value)].bytes) : planned;
  return std::max<int64_t>(bytes, 4);
}

void Resources::borrow(ValueId value, BufferPtr buffer) {
  if (borrowed_[size_t(value)] == buffer) return;
  borrowed_[size_t(value)] = std::move(buffer);
  ++generation_;
}

void Resources::hold_weight(ValueId value, const Tensor& tensor) {
  const auto v = size_t(value);
  if (weights_[v] && marks_[v] == tensor.mark()) return;
  free(value);
  weights_[v] = device_->weights.get(gpu(), tensor, image_.values[v], counters_);
  own_[v] = weights_[v]->buffer;
  marks_[v] = tensor.mark();
  ++generation_;
}

std::shared_ptr<GpuMemory> Resources::keep(ValueId value, uint64_t bytes,
                                           const std::string& label) {
  auto& kept = kept_[value];
  for (size_t i = 0; i < kept.size();) {
    const bool free = kept[i].use_count() == 1 && !kept[i]->is_being_read();
    if (free && kept[i]->buffer()->bytes() >= bytes) return kept[i];
    if (free)
      kept.erase(kept.begin() + static_cast<int64_t>(i));  // too small from now on
    else
      ++i;
  }
  ++counters_.buffers;  // not one that a bind group has: the generation stays
  kept.push_back(std::make_shared<GpuMemory>(
      gpu_ptr(), device_->tickets, gpu().create_buffer(bytes, BufferUse::storage, label)));
  return kept.back();
}

void Resources::upload(ValueId value, const Tensor& tensor) {
  const image::Value& target = image_.values[size_t(value)];
  const bool in_words = target.dtype == DType::u32 && tensor.dtype() == DType::i64;
  const auto upload_as = [&](const Tensor& as) {
    webgpu::upload(gpu(), *buffer(value), offset(value), as, target.name, scratch_, counters_);
  };
  if (in_words)
    upload_as(image::words_of(tensor));
  else
    upload_as(tensor);
}

void Resources::upload_changed(ValueId value, const Tensor& tensor, int64_t capacity) {
  fit_own(value, capacity);
  Tensor::Mark& mark = marks_[size_t(value)];
  if (mark == tensor.mark() && !tensor.may_change()) return;
  mark = {};  // where it fails, the buffer holds neither
  upload(value, tensor);
  mark = tensor.mark();
}

const BufferPtr& Resources::staging(uint64_t bytes) {
  if (!staging_ || staging_->bytes() < bytes) {
    staging_ = nullptr;
    staging_ = gpu().create_buffer(bytes, BufferUse::staging, "staging");
    ++counters_.buffers;
  }
  return staging_;
}

void check_buffer_size(const image::Image& image, ValueId id, const MemoryPlan& plan,
                       const image::Cells& cells, const DeviceTraits& traits) {
  const int64_t bytes = plan.bytes_of[size_t(id)];
  const image::Value& value = image.values[size_t(id)];
  if (bytes <= traits.max_buffer_bytes || value.on_host) return;
  std::string type = text(value.dtype);
  if (cells.known(value.shape)) {
    const std::vector<int64_t> extents = cells.at(value.shape);
    type = text(TensorType{value.dtype, Shape(extents.begin(), extents.end())});
  }
  fail(ErrorKind::limit, "'", value.name, "' is ", type, " of ", bytes,
       " bytes; a buffer of this device holds ", traits.max_buffer_bytes);
}

}  // namespace rlx::detail::webgpu
