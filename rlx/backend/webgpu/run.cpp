#include "rlx/backend/webgpu/run.h"

#include <algorithm>

#include "rlx/base/clock.h"
#include "rlx/image/storage.h"

namespace rlx::detail::webgpu {

using image::Kind;
using image::kNone;
using image::ValueId;

namespace {

// How many pieces of a long loop the queue may have before the walk waits for it.
constexpr size_t kMostPieces = 4;

std::vector<PreparedCall> prepared(const image::Steps& steps, const image::Image& image,
                                   const image::Implementations& implementations) {
  std::vector<PreparedCall> calls(steps.size());
  for (size_t at = 0; at < steps.size(); ++at)
    if (const auto* call = std::get_if<image::Call>(&steps[at].what))
      calls[at] = PreparedCall(*call, steps[at].node, image, implementations);
  return calls;
}

}  // namespace

Run::Run(const image::Image& image, const image::Implementations& implementations,
         const ImageNeeds& needs, Recorder& recorder, States& states, HostValues& host,
         Counters& counters)
    : image_(image),
      needs_(needs),
      recorder_(recorder),
      states_(states),
      host_(host),
      counters_(counters),
      calls_{prepared(image.once, image, implementations),
             prepared(image.run, image, implementations)} {}

void Run::begin(const Context& context) {
  context_ = context;
  pc_ = pieces_ = 0;
  iterations_.begin(context.iteration_budget);
  resuming_ = false;
}

const Tensor* Run::on_host(ValueId id) const {
  const image::Value& value = image_.values[size_t(id)];
  if (value.kind == Kind::weight || value.kind == Kind::constant) {
    const std::optional<Tensor>& source = host_.sources[size_t(id)];
    return source ? &*source : nullptr;
  }
  if (value.kind == Kind::input) return context_.inputs ? (*context_.inputs)[size_t(id)] : nullptr;
  return value.on_host ? &host_.made[size_t(value.place)] : nullptr;
}

Shape Run::shape_of(ValueId id) const {
  Shape shape;
  for (const image::Number number : image_.values[size_t(id)].shape)
    shape.push_back(context_.cells->at(number));
  return shape;
}

// A dispatch is described in a dozen places, which the cache has lost since the last run: they are
// asked for some steps before they are read, those behind pointers last. It halves the time of
// recording.
void Run::look_ahead(const image::Steps& list) const {
  constexpr size_t kFar = 6, kMiddle = 4, kNear = 2;
  const auto dispatch_at = [&](size_t ahead) {
    const size_t at = pc_ + ahead;
    return at < list.size() ? std::get_if<image::Dispatch>(&list[at].what) : nullptr;
  };
  const auto prefetch = [](const void* address) { __builtin_prefetch(address); };
  if (pc_ + kFar < list.size()) {
    prefetch(list.data() + pc_ + kFar);
    prefetch(list.data() + pc_ + kFar + 1);  // its end
  }
  if (const image::Dispatch* dispatch = dispatch_at(kMiddle)) {
    prefetch(dispatch->operands.data());
    prefetch(dispatch->choices.data());
  }
  if (const image::Dispatch* dispatch = dispatch_at(kNear)) {
    for (const image::Bound& operand : dispatch->operands)
      prefetch(&image_.values[size_t(operand.value)].bytes);
    const image::Choice& choice = dispatch->choices.front();
    prefetch(choice.params.data());
    prefetch(choice.words.data());
  }
}

Run::Progress Run::advance() {
  const image::Steps& list = steps();
  while (pc_ < list.size()) {
    const image::Step& at = list[pc_];
    look_ahead(list);
    if (context_.skipped && (*context_.skipped)[pc_]) {
      ++pc_;
      continue;
    }
    if (const auto* jump = std::get_if<image::Jump>(&at.what)) {
      const bool taken = jump->unless == kNone || context_.cells->at(jump->unless) == 0;
      if (taken && static_cast<size_t>(jump->target) <= pc_) iterations_.spend(at, image_);
      pc_ = taken ? static_cast<size_t>(jump->target) : pc_ + 1;
    } else {
      if (!step(at)) return Progress::reading;
      ++pc_;
    }
    if (recorder_.pieces() < pieces_ + kMostPieces) continue;
    pieces_ = recorder_.pieces();
    return Progress::draining;
  }
  return Progress::done;
}

bool Run::step(const image::Step& step) {
  const bool resumed = std::exchange(resuming_, false);
  if (const auto* call = std::get_if<image::Call>(&step.what)) {
    if (!resumed && !start_call(*call)) return false;
    return finish_call(*call, step.node), true;  // its errors name the node already
  }
  touch_states();
  try {
    if (const auto* dispatch = std::get_if<image::Dispatch>(&step.what)) {
      recorder_.dispatch(*dispatch, pc_, step.node);
    } else if (const auto* each = std::get_if<image::Copy>(&step.what)) {
      copy(*each);
    } else if (const auto* cleared = std::get_if<image::Clear>(&step.what)) {
      clear(cleared->target);
    } else if (const auto* written = std::get_if<image::Write>(&step.what)) {
      write(*written);
    } else if (const auto* bind = std::get_if<image::Bind>(&step.what)) {
      bind_step(*bind, image_, *context_.cells);
    } else if (const auto* fetch = std::get_if<image::Fetch>(&step.what)) {
      if (resumed)
        finish_fetch(*fetch, read_[0]);
      else
        return start_fetch(*fetch);
    }
    return true;
  } catch (Error& error) {
    if (step.node >= 0)
      error.add_note(text("at node '", image_.nodes[size_t(step.node)].name, "'"));
    throw;
  }
}

void Run::touch_states() {
  if (context_.once) return;
  for (const size_t state : needs_.states_written[pc_]) states_.touch(state);
}

// ---- What comes back ---------------------------------------------------------------------------

void Run::await(const std::vector<ValueId>& values) {
  readback_ = &recorder_.read_back(values);
  recorder_.flush();
}

void Run::take(std::span<const std::byte> bytes) {
  if (readback_->has_flag)
    if (const auto error = error_in(bytes.subspan(readback_->offsets.back()), image_)) throw *error;
  // What a fetch has read serves again; a call may keep what it was given.
  const bool again = std::holds_alternative<image::Fetch>(steps()[pc_].what);
  read_.resize(awaited_.size());
  for (size_t i = 0; i < awaited_.size(); ++i) {
    const DType dtype = image_.values[size_t(awaited_[i])].dtype;
    const Shape shape = shape_of(awaited_[i]);
    if (!again || read_[i].dtype() != dtype || read_[i].shape() != shape)
      read_[i] = Tensor(dtype, shape);
    from_device(bytes.subspan(readback_->offsets[i]), read_[i]);
  }
  resuming_ = true;
}

bool Run::start_fetch(const image::Fetch& fetch) {
  ++counters_.host_steps;
  if (context_.report) {
    HostStepReport& entry = context_.report->host_steps.emplace_back();
    entry.op = "fetch";
    entry.node = image_.values[size_t(fetch.value)].name;
    entry.reason = fetch.reason;
  }
  if (const Tensor* tensor = on_host(fetch.value)) return finish_fetch(fetch, *tensor), true;
  awaited_.assign(1, fetch.value);
  await(awaited_);
  return false;
}

void Run::finish_fetch(const image::Fetch& fetch, const Tensor& tensor) {
  take_fetched(fetch, tensor, image_, *context_.cells);
}

bool Run::start_call(const image::Call& call) {
  awaited_.clear();
  for (const image::Operand& operand : call.inputs)
    if (operand.value >= 0 && !on_host(operand.value) &&
        std::find(awaited_.begin(), awaited_.end(), operand.value) == awaited_.end())
      awaited_.push_back(operand.value);
  read_.clear();
  if (!awaited_.empty()) return await(awaited_), false;
  recorder_.flush();  // what it writes may still be read by what is recorded
  return true;
}

void Run::finish_call(const image::Call& call, int32_t node) {
  const auto begun = Clock::now();
  ++counters_.host_steps;
  PreparedCall& prepared = (context_.once ? calls_.once : calls_.run)[pc_];
  const auto value = [this](ValueId id) -> Tensor {
    if (const Tensor* tensor = on_host(id)) return tensor->aligned();
    const auto at = std::find(awaited_.begin(), awaited_.end(), id) - awaited_.begin();
    return read_[size_t(at)];
  };
  const auto target = [this](ValueId id) -> Tensor {
    const image::Value& made = image_.values[size_t(id)];
    return {made.dtype, context_.cells->known(made.shape) ? shape_of(id) : Shape{0}};
  };
  prepared.place(*context_.cells, value, target);
  prepared.run();
  prepared.tell(*context_.cells);
  touch_states();
  for (size_t r = 0; r < call.results.size(); ++r) {
    const ValueId id = call.results[r];
    const image::Value& made = image_.values[size_t(id)];
    Tensor& result = prepared.site().results[r];
    if (made.on_host) {
      host_.made[size_t(made.place)] = std::move(result);
      continue;
    }
    recorder_.make_room(id);
    context_.resources->upload(id, result);
    states_.submitted();  // a write is in the queue at once
  }
  if (!context_.report) return;
  HostStepReport& entry = context_.report->host_steps.emplace_back();
  entry.op = call.op;
  if (node >= 0) entry.node = image_.nodes[size_t(node)].name;
  entry.reason = call.reason;
  entry.implementation = prepared.implementation();
  entry.microseconds = microseconds_since(begun);
}

// ---- Copies, zeros, numbers --------------------------------------------------------------------

void Run::copy(const image::Copy& each) {
  const bool from_host = image_.values[size_t(each.source.value)].on_host;
  const bool to_host = image_.values[size_t(each.target.value)].on_host;
  if (!from_host && !to_host) return recorder_.copy(each.source.value, each.target.value);
  if (to_host && !on_host(each.source.value))
    fail(ErrorKind::unsupported, "a copy from the device to '",
         image_.values[size_t(each.target.value)].name, "' of the host");
  if (to_host) return copy_on_host(each);
  recorder_.flush();
  recorder_.make_room(each.target.value);
  context_.resources->upload(each.target.value, *on_host(each.source.value));
  states_.submitted();
}

void Run::copy_on_host(const image::Copy& each) {
  const image::Cells& cells = *context_.cells;
  const auto strides_in = [&](const image::Operand& operand) {
    const std::vector<int64_t> given = cells.at(operand.strides), shape = cells.at(operand.shape);
    return given.empty() ? strides_of(Shape(shape.begin(), shape.end()))
                         : Shape(given.begin(), given.end());
  };
  const auto offset_in = [&](const image::Operand& operand) {
    return operand.offset == kNone ? 0 : cells.at(operand.offset);
  };
  const image::Value& target = image_.values[size_t(each.target.value)];
  const Tensor source = on_host(each.source.value)->aligned();
  Tensor& made = host_.made[size_t(target.place)];
  // Its own memory: an earlier value of this place may still be shared.
  made = each.target.is_view() ? made.copy() : Tensor(target.dtype, shape_of(each.target.value));
  if (made.count() == 0) return;
  const std::vector<int64_t> extents = cells.at(each.source.shape);
  const Shape from = strides_in(each.source), to = strides_in(each.target);
  image::StridedCopy(Shape(extents.begin(), extents.end()), {offset_in(each.source), from},
                     {offset_in(each.target), to}, bytes_of(target.dtype))
      .run(source.bytes().data(), made.mutable_bytes().data());
}

void Run::clear(ValueId id) {
  const image::Value& value = image_.values[size_t(id)];
  if (!value.on_host) return recorder_.clear(id);
  host_.made[size_t(value.place)] = Tensor(value.dtype, shape_of(id));
}

void Run::write(const image::Write& each) {
  const image::Value& value = image_.values[size_t(each.target)];
  Tensor tensor(value.dtype, shape_of(each.target));
  for (size_t i = 0; i < each.elements.size(); ++i)
    if (each.elements[i] != kNone)
      tensor.set_integer(static_cast<int64_t>(i), context_.cells->at(each.elements[i]));
  if (value.on_host) {
    host_.made[size_t(value.place)] = std::move(tensor);
    return;
  }
  recorder_.flush();
  recorder_.make_room(each.target);
  context_.resources->upload(each.target, tensor);
  states_.submitted();
}

}  // namespace rlx::detail::webgpu
