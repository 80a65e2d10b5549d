#include "rlx/backend/cpu/cpu_steps.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "rlx/backend/cpu/fast_copies.h"
#include "rlx/backend/holdings.h"
#include "rlx/image/uses.h"

namespace rlx::detail {

using image::Kind;
using image::ValueId;

namespace {

// "matmul + add + gelu"
std::string described(const image::Call& call) {
  if (call.tile.empty()) return call.op;
  const std::string rest = image::description(call.tile);
  return call.op == image::kElements ? rest : text(call.op, " + ", rest);
}

// The cells that the steps tell, and all that depends on them.
std::set<image::Number> told_cells(const image::Steps& steps, const image::Image& image) {
  const std::vector<image::Number> by_steps = cells_told_by(steps);
  std::set<image::Number> told(by_steps.begin(), by_steps.end());
  for (const image::Instruction& code : image.numbers.code)
    if (told.count(code.a) || told.count(code.b)) told.insert(code.result);
  return told;
}

}  // namespace

CpuSteps::CpuSteps(const image::Steps& steps, const image::Image& image,
                   const image::Implementations& implementations, CpuMemory& memory,
                   CpuEnginePtr engine, Counters& counters)
    : steps_(steps),
      image_(image),
      memory_(memory),
      engine_(std::move(engine)),
      counters_(counters) {
  const std::set<image::Number> told = told_cells(steps, image);
  for (const image::Step& step : steps) ready_.push_back(make_ready(step, told, implementations));
}

CpuSteps::Ready CpuSteps::make_ready(const image::Step& step, const std::set<image::Number>& told,
                                     const image::Implementations& implementations) const {
  Ready ready;
  const image::Use use = image::use_of(step, image_.flag);
  for (const ValueId value : use.reads)
    ready.reads_inputs |= image_.values[size_t(value)].kind == Kind::input;
  for (const ValueId value : use.writes) {
    const ValueId place = image_.values[size_t(value)].place;
    if (image_.values[size_t(place)].kind == Kind::state) ready.states.push_back(place);
  }
  const auto is_told = [&](const std::vector<image::Number>& numbers) {
    return std::any_of(numbers.begin(), numbers.end(),
                       [&](image::Number number) { return told.count(number) != 0; });
  };
  for (const auto* values : {&use.reads, &use.writes})
    for (const ValueId value : *values)
      ready.is_told |= is_told(image_.values[size_t(value)].shape);
  const auto check = [&](const image::Operand& operand) {
    ready.is_told |= is_told(operand.shape) || is_told(operand.strides) ||
                     (operand.offset != image::kNone && told.count(operand.offset) != 0);
  };
  if (const auto* copy = std::get_if<image::Copy>(&step.what))
    check(copy->source), check(copy->target);
  const auto* call = std::get_if<image::Call>(&step.what);
  if (!call) return ready;
  ready.call = PreparedCall(*call, step.node, image_, implementations);
  std::for_each(call->inputs.begin(), call->inputs.end(), check);
  std::for_each(call->stored.begin(), call->stored.end(), check);
  for (const image::Call::Name& name : call->names) ready.is_told |= told.count(name.number) != 0;
  return ready;
}

void CpuSteps::hold(const image::Cells& cells, image::Holdings& holdings, bool packs) {
  const std::vector<bool> always = always_run(steps_);
  Blanks blanks(image_, cells);
  const auto blank = [&](ValueId v) { return blanks.of(v); };
  const auto value = [&](ValueId v) {
    const Kind kind = image_.values[size_t(v)].kind;
    const bool is_there = kind == Kind::weight || kind == Kind::constant || kind == Kind::once;
    return is_there ? memory_.value(v) : blanks.of(v);
  };
  for (size_t at = 0; at < steps_.size(); ++at) {
    if (!always[at] || !std::holds_alternative<image::Call>(steps_[at].what)) continue;
    ready_[at].call.hold(cells, value, blank, holdings, packs);
    ready_[at].placed = 0;
  }
}

void CpuSteps::run(image::Cells& cells, const Epochs& epochs, RunReport* report,
                   int64_t iteration_budget, const std::vector<bool>* skipped) {
  epochs_ = epochs;
  iterations_.begin(iteration_budget);
  report_ = report;
  written_.clear();
  for (size_t pc = 0; pc < steps_.size();) {
    if (skipped && (*skipped)[pc]) {
      ++pc;
      continue;
    }
    if (const auto* jump = std::get_if<image::Jump>(&steps_[pc].what)) {
      const bool taken = jump->unless == image::kNone || cells.at(jump->unless) == 0;
      if (taken && size_t(jump->target) <= pc) iterations_.spend(steps_[pc], image_);
      pc = taken ? size_t(jump->target) : pc + 1;
      continue;
    }
    run_step(steps_[pc], ready_[pc], cells);
    ++pc;
  }
}

void CpuSteps::run_step(const image::Step& step, Ready& ready, image::Cells& cells) {
  written_.insert(written_.end(), ready.states.begin(), ready.states.end());
  if (std::holds_alternative<image::Call>(step.what)) return run_call(step, ready, cells);
  if (const auto* copy = std::get_if<image::Copy>(&step.what)) {
    const auto start = report_ ? Clock::now() : Clock::time_point();
    if (run_copy(*copy, ready, cells) && report_) note_step(step, "copy", "", start, "vector");
    return;
  }
  if (const auto* clear = std::get_if<image::Clear>(&step.what)) {
    const auto bytes = placed(clear->target, ready, cells).mutable_bytes();
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
  } else if (const auto* write = std::get_if<image::Write>(&step.what)) {
    Tensor& target = placed(write->target, ready, cells);
    for (size_t i = 0; i < write->elements.size(); ++i)
      target.set_integer(static_cast<int64_t>(i), cells.at(write->elements[i]));
  } else if (const auto* fetch = std::get_if<image::Fetch>(&step.what)) {
    take_fetched(*fetch, readable(fetch->value), image_, cells);
  } else if (const auto* bind = std::get_if<image::Bind>(&step.what)) {
    bind_step(*bind, image_, cells);
  }
}

void CpuSteps::run_call(const image::Step& step, Ready& ready, image::Cells& cells) {
  const auto start = report_ ? Clock::now() : Clock::time_point();
  ++counters_.host_steps;
  PreparedCall& call = ready.call;
  if (must_place(ready)) {
    call.place(
        cells, [&](ValueId v) { return readable(v); },
        [&](ValueId v) { return memory_.target(v, cells); });
    if (ready.is_told && memory_.is_limited()) {
      image::Holdings holdings;
      call.hold(holdings);
      memory_.spend_of_call(call.call().results[0],
                            holdings.packed_bytes() + holdings.widened_bytes());
    }
    note_placed(ready);
  }
  call.run();
  call.tell(cells);
  const image::CallSite& site = call.site();
  for (size_t r = 0; r < site.results.size(); ++r) keep(call.call().results[r], site, r, cells);
  if (memory_.in_once()) {  // its operands may be freed
    call.forget();
    ready.placed = 0;
  }
  if (report_)
    note_step(step, described(call.call()), call.call().reason, start, call.implementation());
}

// What runs once reads weights where a file has them: they are copied for a step at a time.
Tensor CpuSteps::readable(ValueId v) {
  return memory_.in_once() ? memory_.value(v).aligned() : memory_.value(v);
}

void CpuSteps::note_step(const image::Step& step, std::string what, const std::string& reason,
                         Clock::time_point start, const std::string& implementation) {
  report_->host_steps.push_back({std::move(what),
                                 step.node < 0 ? "" : image_.nodes[size_t(step.node)].name, reason,
                                 microseconds_since(start), implementation});
}

void CpuSteps::keep(ValueId value, const image::CallSite& site, size_t r,
                    const image::Cells& cells) {
  // A result that is its operand's bytes needs its own: the operand's slot may be taken next.
  for (const image::Argument& operand : site.inputs)
    if (operand.present && operand.tensor.identity() == site.results[r].identity() &&
        memory_.plan() && memory_.plan()->slot_of[size_t(value)] < 0 &&
        image_.values[size_t(value)].place == value)
      return memory_.set(value, site.results[r].copy());
  memory_.keep(value, site.results[r], cells);
}

uint64_t CpuSteps::epochs_of(const Ready& ready) const {
  return (epochs_.places << 32) + (ready.reads_inputs ? epochs_.inputs : 0);
}
// Have the operands moved since they were found last?
bool CpuSteps::must_place(const Ready& ready) const {
  return ready.is_told || ready.placed != epochs_of(ready);
}
// Said when they are found and checked: what is refused is looked at again in the next run.
void CpuSteps::note_placed(Ready& ready) const { ready.placed = epochs_of(ready); }

Tensor& CpuSteps::placed(ValueId value, Ready& ready, const image::Cells& cells) {
  if (must_place(ready)) {
    memory_.set(value, memory_.target(value, cells));
    note_placed(ready);
  }
  return memory_.value(value);
}

// False where nothing was to be copied.
bool CpuSteps::run_copy(const image::Copy& copy, Ready& ready, const image::Cells& cells) {
  const ValueId to = copy.target.value;
  const bool partial = copy.target.is_view(), views = partial || copy.source.is_view();
  if (must_place(ready)) {
    const bool there = partial || image_.values[size_t(to)].kind == Kind::state;
    if (!there) memory_.set(to, memory_.target(to, cells));
    if (views) make_strided(copy, cells, ready);
    note_placed(ready);
  }
  std::optional<Tensor> aligned;  // a run copies no tensor, which would allocate
  if (memory_.in_once()) aligned = readable(copy.source.value);
  const Tensor& source = aligned ? *aligned : memory_.value(copy.source.value);
  Tensor& target = memory_.value(to);
  if (target.count() == 0 || (!views && target.bytes().data() == source.bytes().data()))
    return false;
  if (!views && source.bytes().size() < target.bytes().size())  // types are copies of shapes
    fail(ErrorKind::invalid_model, "image: a copy of ", source.type(), " to ", target.type());
  std::byte* bytes = target.mutable_bytes().data();
  if (views)
    detail::run_copy(*engine_, ready.copy, source.bytes().data() + ready.copy_from,
                     bytes + ready.copy_to);
  else
    std::memmove(bytes, source.bytes().data(), target.bytes().size());
  return true;
}

void CpuSteps::make_strided(const image::Copy& copy, const image::Cells& cells,
                            Ready& ready) const {
  const auto extents = [&](const std::vector<image::Number>& numbers) {
    const std::vector<int64_t> values = cells.at(numbers);
    return Shape(values.begin(), values.end());
  };
  const Shape shape = extents(copy.source.shape), rows = strides_of(shape);
  const auto strides = [&](const image::Operand& operand) {
    return operand.strides.empty() ? rows : extents(operand.strides);
  };
  const DType dtype = image_.values[size_t(copy.source.value)].dtype;
  const auto begin = [&](const image::Operand& operand) {
    return operand.offset == image::kNone ? 0 : cells.at(operand.offset) * bytes_of(dtype);
  };
  const auto check = [&](const image::Operand& operand) {
    image::check_view(shape, operand.offset == image::kNone ? 0 : cells.at(operand.offset),
                      strides(operand), memory_.value(operand.value).count());
  };
  check(copy.source);
  check(copy.target);
  ready.copy = make_copy(shape, strides(copy.source), strides(copy.target), dtype);
  ready.copy_from = begin(copy.source);
  ready.copy_to = begin(copy.target);
}

}  // namespace rlx::detail
