#include "rlx/backend/cpu/cpu_backend.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "rlx/backend/bring.h"
#include "rlx/backend/cpu/cpu_memory.h"
#include "rlx/backend/cpu/fast_copies.h"
#include "rlx/backend/cpu/fast_ops.h"
#include "rlx/backend/once_parts.h"
#include "rlx/base/clock.h"
#include "rlx/image/uses.h"

namespace rlx::detail {
namespace {

using image::Kind;
using image::ValueId;

class CpuTensor : public DeviceMemory {
 public:
  explicit CpuTensor(Tensor tensor) : tensor_(std::move(tensor)) {}
  Tensor read(DType, const Shape& shape) override { return tensor_.reshaped(shape); }
  void read_async(DType dtype, const Shape& shape, Receive<Tensor> done) override {
    done(read(dtype, shape));
  }
  void wait_for_reads() override {}

 private:
  Tensor tensor_;
};

// A list of steps made ready: what is the same in every run is found once.
struct ReadySteps {
  struct Ready {
    PreparedCall call;            // of a call
    bool reads_inputs = false;    // its operands change with every run
    bool is_told = false;         // its sizes change within a run
    uint64_t placed = 0;          // for which binding its operands were found
    std::vector<ValueId> states;  // that it writes
    vector::Copy copy;            // of a copy of views, with where it begins in bytes
    int64_t copy_from = 0, copy_to = 0;
  };
  const image::Steps* steps = nullptr;
  std::vector<Ready> ready;
};

// "matmul + add + gelu"
std::string described(const image::Call& call) {
  if (call.tile.empty()) return call.op;
  const std::string rest = image::description(call.tile);
  return call.op == image::kElements ? rest : text(call.op, " + ", rest);
}

// The cells that steps tell, and all that depends on them.
std::set<image::Number> told_cells(const image::Image& image) {
  std::set<image::Number> told;
  const auto add = [&](const image::Steps& steps) {
    for (const image::Step& step : steps) {
      if (const auto* fetch = std::get_if<image::Fetch>(&step.what))
        told.insert(fetch->elements.begin(), fetch->elements.end());
      if (const auto* bind = std::get_if<image::Bind>(&step.what)) {
        told.insert(bind->number);
        told.insert(bind->forget.begin(), bind->forget.end());
      }
      if (const auto* call = std::get_if<image::Call>(&step.what))
        for (const image::Call::Told& each : call->told) told.insert(each.number);
    }
  };
  add(image.once);
  add(image.run);
  for (const image::Instruction& code : image.numbers.code)
    if (told.count(code.a) || told.count(code.b)) told.insert(code.result);
  return told;
}

// By value: do all steps of a run that read it do so at any address?
std::vector<bool> read_anywhere(const image::Image& image) {
  std::vector<bool> anywhere(image.values.size(), true);
  for (const image::Step& step : image.run) {
    const auto* call = std::get_if<image::Call>(&step.what);
    for (const ValueId value : image::use_of(step, image.flag).reads)
      if (!call) anywhere[size_t(value)] = false;
    for (size_t i = 0; call && i < call->inputs.size(); ++i)
      if (const ValueId value = call->inputs[i].value; value >= 0 && !reads_anywhere(*call, i))
        anywhere[size_t(value)] = false;
  }
  for (const image::Output& output : image.outputs)
    if (output.value >= 0) anywhere[size_t(output.value)] = false;
  return anywhere;
}

using CpuOnce = std::vector<Tensor>;  // what a part of `once` has made, in the order it is kept
using CpuOnceStore = std::shared_ptr<OnceStore<CpuOnce>>;

class CpuExecutable : public Executable, public std::enable_shared_from_this<CpuExecutable> {
 public:
  CpuExecutable(PrepareOptions options, const DeviceTraits& traits, CpuEnginePtr engine,
                CpuOnceStore store)
      : options_(std::move(options)),
        engine_(std::move(engine)),
        store_(std::move(store)),
        image_(*options_.image),
        traits_(traits),
        binding_(image_, *options_.implementations),
        memory_(image_, read_anywhere(image_), engine_->team),
        parts_(parts_of_once(image_)),
        once_results_(parts_.size()) {
    const std::set<image::Number> told = told_cells(image_);
    once_ = make_ready(image_.once, told);
    run_ = make_ready(image_.run, told);
    for (const image::Weight& weight : image_.weights)
      if (weight.value >= 0 && image_.values[size_t(weight.value)].source < 0)
        missing_weights_.insert(weight.value);
    if (missing_weights_.empty()) run_once();
  }

  void run_async(RunRequest& request, RunDone done) override {
    const std::shared_ptr<Bringing> bringing = Bringing::of(request, is_here);
    if (!bringing) return run_now(request, {}, done);
    {
      const std::lock_guard lock(bringing_mutex_);
      bringing_.push_back(bringing);
    }
    bringing->start([self = shared_from_this(), &request, done](Result<Brought> brought) {
      if (brought.ok()) return self->run_now(request, brought.take(), done);
      done(&brought.error());
    });
  }
  void wait() override {
    for (;;) {
      std::shared_ptr<Bringing> bringing;
      {
        const std::lock_guard lock(bringing_mutex_);
        while (!bringing && !bringing_.empty()) {
          bringing = bringing_.back().lock();
          bringing_.pop_back();
        }
      }
      if (!bringing) return;
      bringing->wait();
    }
  }

  void run(RunRequest& request) override { run(request, bring(request, is_here)); }

  void run(RunRequest& request, const Brought& brought) {
    const std::lock_guard lock(mutex_);
    const auto start = Clock::now();
    const Counters before = counters_;
    ++counters_.runs;
    check_ready();
    if (binding_.update(request)) ++epoch_;
    const auto plan = plans_.plan(image_, binding_.cells(), counters_);
    check_budget(image_, *plan, options_.memory_budget);
    const auto last = memory_.plan();
    if (memory_.fit(plan)) ++counters_.buffers;
    if (last != plan) ++epoch_;
    if (once_stale_) run_once();
    take_inputs(request, brought);
    report_ = request.report;
    interpret(run_, binding_.cells());
    give_outputs(request);
    if (!report_) return;
    report_->device = traits_.name;
    report_plan(image_, *plan, *report_);
    report_->caches = {plans_.report()};
    report_->packed_bytes = engine_->packed.size().bytes;
    report_->counters = difference(counters_, before);
    report_->microseconds = microseconds_since(start);
  }

  void set_weight(const std::string& name, const Tensor& tensor) override {
    const std::lock_guard lock(mutex_);
    const image::Weight& weight = weight_of(image_, name);
    check_type("weight", name, weight.type, tensor);
    if (weight.value < 0) return;
    memory_.set(weight.value, tensor.aligned());
    missing_weights_.erase(weight.value);
    once_stale_ |= !image_.once.empty();
    ++epoch_;
  }
  Tensor read_state(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    const image::State& state = state_of(image_, name);
    if (half_written_.count(state.value)) fail_of_states({state.name});
    if (state.value < 0) return {state.type.dtype, concrete(state.type.shape)};
    return memory_.value(state.value).copy();
  }
  void read_state_async(const std::string& name, Receive<Tensor> done) override {
    std::optional<Result<Tensor>> result;
    try {
      result = read_state(name);
    } catch (const Error& error) {
      result = error;
    }
    done(std::move(*result));
  }
  void write_state(const std::string& name, const Tensor& tensor) override {
    const std::lock_guard lock(mutex_);
    const image::State& state = state_of(image_, name);
    check_type("state", name, state.type, tensor);
    if (state.value < 0) return;
    set_state(state.value, tensor.copy());
    snapshot_.erase(state.value);
  }
  void take_snapshot() override {
    const std::lock_guard lock(mutex_);
    std::map<ValueId, Tensor> copies;  // all of them or none
    for (const image::State& state : image_.states) {
      if (half_written_.count(state.value)) fail_of_states({state.name});
      if (state.value >= 0) copies[state.value] = memory_.value(state.value).copy();
    }
    snapshot_ = std::move(copies);
  }
  void take_snapshot_async(RunDone done) override {
    try {
      take_snapshot();
    } catch (...) {
      const Error error = current_error();
      return done(&error);
    }
    done(nullptr);
  }
  void restore_snapshot() override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> missing;
    for (const image::State& state : image_.states)
      if (state.value >= 0 && !snapshot_.count(state.value))
        missing.push_back("'" + state.name + "'");
    if (!missing.empty())
      fail(ErrorKind::invalid_input, "restore_snapshot: there is no snapshot of ", joined(missing));
    for (const auto& [value, copy] : snapshot_) set_state(value, copy.copy());
  }
  Counters counters() const override {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

 private:
  ReadySteps make_ready(const image::Steps& steps, const std::set<image::Number>& told) {
    ReadySteps made{&steps, {}};
    for (const image::Step& step : steps) {
      ReadySteps::Ready& ready = made.ready.emplace_back();
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
      if (!call) continue;
      ready.call = PreparedCall(*call, step.node, image_, *options_.implementations);
      std::for_each(call->inputs.begin(), call->inputs.end(), check);
      std::for_each(call->stored.begin(), call->stored.end(), check);
      for (const image::Call::Name& name : call->names)
        ready.is_told |= told.count(name.number) != 0;
    }
    return made;
  }

  void check_ready() const {
    for (const ValueId value : missing_weights_)
      fail(ErrorKind::invalid_input, "run: weight '", image_.values[size_t(value)].name,
           "' has no tensor");
    std::vector<std::string> names;
    for (const ValueId value : half_written_) names.push_back(image_.values[size_t(value)].name);
    if (!names.empty()) fail_of_states(names);
  }
  [[noreturn]] static void fail_of_states(const std::vector<std::string>& names) {
    fail(ErrorKind::invalid_input, "state ", joined(names),
         " was half written by a run that failed: write or reset it");
  }

  void set_state(ValueId value, Tensor tensor) {
    memory_.set(value, std::move(tensor));
    half_written_.erase(value);
    ++epoch_;
  }

  // What depends on weights and constants alone.
  void run_once() {
    image::Cells cells(image_.numbers);
    cells.evaluate();
    const auto adopt = [this](const OncePart& part, const CpuOnce& made) {
      for (size_t i = 0; i < part.kept.size(); ++i) memory_.set(part.kept[i], made[i]);
    };
    const auto source = [this](ValueId v) -> const Tensor& { return memory_.value(v); };
    const std::vector<bool> skipped =
        once_results_.find(parts_, image_, cells, source, *store_, adopt);
    memory_.begin_once();
    ++epoch_;
    interpret(once_, cells, &skipped);
    memory_.end_once();
    const auto made = [this](const OncePart& part) {
      const auto results = std::make_shared<CpuOnce>();
      for (const ValueId value : part.kept) results->push_back(memory_.value(value));
      return results;
    };
    once_results_.store(parts_, *store_, made, adopt);
    once_stale_ = false;
    ++epoch_;
  }

  static bool is_here(const DeviceTensor& tensor) {
    return dynamic_cast<const CpuTensor*>(tensor.memory().get()) != nullptr;
  }
  void run_now(RunRequest& request, const Brought& brought, const RunDone& done) {
    try {
      run(request, brought);
    } catch (...) {
      const Error error = current_error();
      return done(&error);
    }
    done(nullptr);
  }

  void take_inputs(const RunRequest& request, const Brought& brought) {
    for (const auto& [input, tensor] : brought)
      if (const ValueId value = image_.inputs[input].value; value >= 0) memory_.set(value, tensor);
    for (size_t i = 0; i < image_.inputs.size(); ++i) {
      const ValueId value = image_.inputs[i].value;
      if (value < 0) continue;
      const bool on_device = i < request.device_inputs.size() && request.device_inputs[i].present();
      if (on_device) {
        const DeviceTensor& tensor = request.device_inputs[i];
        if (is_here(tensor)) memory_.set(value, tensor.read());
        continue;
      }
      const Tensor &now = memory_.value(value), &given = request.inputs[i];
      const bool there = now.bytes().data() == given.bytes().data() &&
                         now.identity() == given.identity() && now.shape() == given.shape();
      if (!there) memory_.set(value, given.aligned());
    }
    // A run with the same tensors finds the same operands.
    bool same = last_inputs_.size() == image_.inputs.size();
    last_inputs_.resize(image_.inputs.size());
    for (size_t i = 0; i < image_.inputs.size(); ++i) {
      const ValueId value = image_.inputs[i].value;
      const std::byte* bytes = value < 0 ? nullptr : memory_.value(value).bytes().data();
      same &= last_inputs_[i] == bytes;
      last_inputs_[i] = bytes;
    }
    if (!same) ++inputs_epoch_;
  }

  void interpret(ReadySteps& list, image::Cells& cells,
                 const std::vector<bool>* skipped = nullptr) {
    written_.clear();
    try {
      const image::Steps& steps = *list.steps;
      for (size_t pc = 0; pc < steps.size();) {
        if (skipped && (*skipped)[pc]) {
          ++pc;
          continue;
        }
        if (const auto* jump = std::get_if<image::Jump>(&steps[pc].what)) {
          const bool taken = jump->unless == image::kNone || cells.at(jump->unless) == 0;
          pc = taken ? size_t(jump->target) : pc + 1;
          continue;
        }
        step(steps[pc], list.ready[pc], cells);
        ++pc;
      }
    } catch (...) {
      half_written_.insert(written_.begin(), written_.end());
      throw;
    }
  }

  void step(const image::Step& step, ReadySteps::Ready& ready, image::Cells& cells) {
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

  void run_call(const image::Step& step, ReadySteps::Ready& ready, image::Cells& cells) {
    const auto start = report_ ? Clock::now() : Clock::time_point();
    ++counters_.host_steps;
    PreparedCall& call = ready.call;
    if (must_place(ready))
      call.place(
          cells, [&](ValueId v) { return readable(v); },
          [&](ValueId v) { return memory_.target(v, cells); });
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
  Tensor readable(ValueId v) {
    return memory_.in_once() ? memory_.value(v).aligned() : memory_.value(v);
  }

  void note_step(const image::Step& step, std::string what, const std::string& reason,
                 Clock::time_point start, const std::string& implementation) {
    report_->host_steps.push_back({std::move(what),
                                   step.node < 0 ? "" : image_.nodes[size_t(step.node)].name,
                                   reason, microseconds_since(start), implementation});
  }

  void keep(ValueId value, const image::CallSite& site, size_t r, const image::Cells& cells) {
    // A result that is its operand's bytes needs its own: the operand's slot may be taken next.
    for (const image::Argument& operand : site.inputs)
      if (operand.present && operand.tensor.identity() == site.results[r].identity() &&
          memory_.plan() && memory_.plan()->slot_of[size_t(value)] < 0 &&
          image_.values[size_t(value)].place == value)
        return memory_.set(value, site.results[r].copy());
    memory_.keep(value, site.results[r], cells);
  }

  // Have the operands moved since the step ran last?
  bool must_place(ReadySteps::Ready& ready) const {
    const uint64_t wanted = (epoch_ << 32) + (ready.reads_inputs ? inputs_epoch_ : 0);
    if (!ready.is_told && ready.placed == wanted) return false;
    ready.placed = wanted;
    return true;
  }
  Tensor& placed(ValueId value, ReadySteps::Ready& ready, const image::Cells& cells) {
    if (must_place(ready)) memory_.set(value, memory_.target(value, cells));
    return memory_.value(value);
  }

  // False where nothing was to be copied.
  bool run_copy(const image::Copy& copy, ReadySteps::Ready& ready, const image::Cells& cells) {
    const ValueId to = copy.target.value;
    const bool partial = copy.target.is_view(), views = partial || copy.source.is_view();
    if (must_place(ready)) {
      const bool there = partial || image_.values[size_t(to)].kind == Kind::state;
      if (!there) memory_.set(to, memory_.target(to, cells));
      if (views) make_strided(copy, cells, ready);
    }
    const Tensor source = readable(copy.source.value);
    Tensor& target = memory_.value(to);
    if (target.count() == 0 || (!views && target.bytes().data() == source.bytes().data()))
      return false;
    std::byte* bytes = target.mutable_bytes().data();
    if (views)
      detail::run_copy(*engine_, ready.copy, source.bytes().data() + ready.copy_from,
                       bytes + ready.copy_to);
    else
      std::memmove(bytes, source.bytes().data(), target.bytes().size());
    return true;
  }

  void make_strided(const image::Copy& copy, const image::Cells& cells,
                    ReadySteps::Ready& ready) const {
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
    ready.copy = make_copy(shape, strides(copy.source), strides(copy.target), dtype);
    ready.copy_from = begin(copy.source);
    ready.copy_to = begin(copy.target);
  }

  void give_outputs(RunRequest& request) {
    request.outputs.resize(image_.outputs.size());
    request.device_outputs.resize(image_.outputs.size());
    for (size_t i = 0; i < image_.outputs.size(); ++i) {
      const image::Output& output = image_.outputs[i];
      const auto want = i < request.wanted.size() ? request.wanted[i] : RunRequest::Want::tensor;
      if (want == RunRequest::Want::nothing) continue;
      const Tensor& value = memory_.value(output.value);
      Tensor& out = request.outputs[i];
      const bool fits = want == RunRequest::Want::tensor && out.dtype() == value.dtype() &&
                        out.shape().size() == output.shape.size() && has_shape(out, output);
      if (fits) {
        if (out.count() > 0)
          std::memcpy(out.mutable_bytes().data(), value.bytes().data(), out.bytes().size());
        continue;
      }
      Shape shape;
      for (const image::Number number : output.shape) shape.push_back(binding_.cells().at(number));
      Tensor copy = value.first(shape).copy();
      if (want == RunRequest::Want::tensor)
        out = std::move(copy);
      else
        request.device_outputs[i] = {value.dtype(), shape,
                                     std::make_shared<CpuTensor>(std::move(copy))};
    }
  }

  bool has_shape(const Tensor& tensor, const image::Output& output) const {
    for (size_t d = 0; d < output.shape.size(); ++d)
      if (tensor.shape()[d] != binding_.cells().at(output.shape[d])) return false;
    return true;
  }

  const PrepareOptions options_;
  const CpuEnginePtr engine_;
  const CpuOnceStore store_;
  const image::Image& image_;
  const DeviceTraits traits_;
  mutable std::mutex mutex_;
  RunBinding binding_;
  CpuMemory memory_;
  const std::vector<OncePart> parts_;
  OnceResults<CpuOnce> once_results_;
  Plans plans_;
  ReadySteps once_, run_;
  bool once_stale_ = true;
  uint64_t epoch_ = 1;         // of bindings, weights and states: what steps found before is stale
  uint32_t inputs_epoch_ = 0;  // the same of the inputs' tensors
  std::vector<const std::byte*> last_inputs_;
  std::set<ValueId> missing_weights_;
  std::vector<ValueId> written_;    // states that the run has begun to write
  std::set<ValueId> half_written_;  // that a run which failed left behind
  std::map<ValueId, Tensor> snapshot_;
  Counters counters_;
  RunReport* report_ = nullptr;
  std::mutex bringing_mutex_;
  std::vector<std::weak_ptr<Bringing>> bringing_;  // inputs on their way from other devices
};

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(CpuOptions options)
      : engine_(std::make_shared<const CpuEngine>(options.threads)) {
    traits_.calls = call_traits();
  }
  const DeviceTraits& traits() const override { return traits_; }
  void prepare_async(PrepareOptions options, Receive<ExecutablePtr> done) override {
    std::optional<Result<ExecutablePtr>> result;
    try {
      options.implementations = with_engine(*options.implementations);
      result = ExecutablePtr(
          std::make_shared<CpuExecutable>(std::move(options), traits_, engine_, store_));
    } catch (const Error& error) {
      result = error;
    }
    done(std::move(*result));
  }
  void wait_until(const std::function<bool()>& /*done*/) override {}
  void wait() override {}

 private:
  // A table is made without a device: what is ours in it gets this one's engine.
  std::shared_ptr<const image::Implementations> with_engine(
      const image::Implementations& given) const {
    auto table = std::make_shared<image::Implementations>(given);
    const image::Implementations ours = fast_implementations(engine_, given);
    for (auto& [op, list] : *table) {
      const auto found = ours.find(op);
      for (size_t i = 0; found != ours.end() && i < std::min(list.size(), found->second.size());
           ++i)
        if (list[i].name == found->second[i].name) list[i] = found->second[i];
    }
    return table;
  }

  DeviceTraits traits_;
  const CpuEnginePtr engine_;
  const CpuOnceStore store_ = std::make_shared<OnceStore<CpuOnce>>();
};

}  // namespace

std::shared_ptr<Backend> make_cpu_backend(CpuOptions options) {
  return std::make_shared<CpuBackend>(options);
}

}  // namespace rlx::detail
