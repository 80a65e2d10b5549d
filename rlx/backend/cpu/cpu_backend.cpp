#include "rlx/backend/cpu/cpu_backend.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

#include "rlx/backend/bring.h"
#include "rlx/backend/cpu/cpu_states.h"
#include "rlx/backend/cpu/cpu_steps.h"
#include "rlx/backend/cpu/fast_ops.h"
#include "rlx/backend/holdings.h"
#include "rlx/backend/named_values.h"
#include "rlx/backend/once_parts.h"
#include "rlx/backend/plans.h"
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
        memory_(image_, read_anywhere(image_), engine_->team, engine_->packed->large_pages()),
        states_(image_, memory_),
        parts_(parts_of_once(image_, *options_.implementations)),
        once_results_(parts_.size()),
        once_(steps(image_.once)),
        run_(steps(image_.run)) {
    for (const image::Weight& weight : image_.weights)
      if (weight.value >= 0 && image_.values[size_t(weight.value)].source < 0)
        missing_weights_.insert(weight.value);
    if (missing_weights_.empty()) pack_ahead(run_once());
  }

  void run_async(RunRequest& request, RunDone done) override {
    const std::shared_ptr<Bringing> bringing = Bringing::of(request, is_here);
    if (!bringing) return run_now(request, {}, done);
    {
      const std::lock_guard lock(bringing_mutex_);
      std::erase_if(bringing_, [](const auto& each) { return each.expired(); });
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
    if (once_stale_) run_once();
    if (binding_.update(request)) {
      ++epochs_.places;
      held_by_calls_.reset();
    }
    const auto plan = plans_.plan(image_, binding_.cells(), counters_);
    const int64_t left = check_budget(image_, *plan, options_.memory_budget, held_by_calls());
    const auto last = memory_.plan();
    if (memory_.fit(plan)) ++counters_.buffers;
    if (last != plan) ++epochs_.places;
    take_inputs(request, brought);
    memory_.begin_run(left);
    try {
      const vector::Team::Stretch stretch(engine_->team);
      run_.run(binding_.cells(), epochs_, request.report, request.iteration_budget);
      give_outputs(request);
    } catch (...) {
      states_.mark_half_written(run_.written());
      throw;
    }
    if (!request.report) return;
    RunReport& report = *request.report;
    report.device = traits_.name;
    report_plan(image_, *plan, report);
    report.caches = {plans_.report()};
    const PackedWeights::Size packed = engine_->packed->size();
    report.packed_bytes = packed.bytes;
    report.packs = packed.made;
    report.widened_bytes = engine_->wide.bytes();
    report.counters = difference(counters_, before);
    report.microseconds = microseconds_since(start);
  }

  void set_weight(const std::string& name, const Tensor& tensor) override {
    const std::lock_guard lock(mutex_);
    const image::Weight& weight = weight_of(image_, name);
    check_type("weight", name, weight.type, tensor);
    if (weight.value < 0) return;
    memory_.set(weight.value, tensor.aligned());
    missing_weights_.erase(weight.value);
    once_stale_ |= !image_.once.empty();
    ++epochs_.places;
  }
  Tensor read_state(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    return states_.read(name);
  }
  void read_state_async(const std::string& name, Receive<Tensor> done) override {
    std::optional<Result<Tensor>> result;
    try {
      result = read_state(name);
    } catch (...) {
      result = current_error();
    }
    done(std::move(*result));
  }
  void write_state(const std::string& name, const Tensor& tensor) override {
    const std::lock_guard lock(mutex_);
    states_.write(name, tensor);
    ++epochs_.places;
  }
  void take_snapshot() override {
    const std::lock_guard lock(mutex_);
    states_.take_snapshot();
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
    states_.restore_snapshot();
    ++epochs_.places;
  }
  Counters counters() const override {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

 private:
  CpuSteps steps(const image::Steps& list) {
    return {list, image_, *options_.implementations, memory_, engine_, counters_};
  }

  void check_ready() const {
    for (const ValueId value : missing_weights_)
      fail(ErrorKind::invalid_input, "run: weight '", image_.values[size_t(value)].name,
           "' has no tensor");
    states_.require_whole();
  }

  // Without a budget nobody asks.
  HeldByCalls held_by_calls() {
    if (options_.memory_budget == 0) return {};
    if (!held_by_calls_) held_by_calls_ = held_with(binding_.cells());
    return *held_by_calls_;
  }
  HeldByCalls held_with(const image::Cells& cells) {
    image::Holdings holdings;
    run_.hold(cells, holdings, false);
    return {holdings.packed_bytes(), holdings.widened_bytes()};
  }

  // What calls hold of weights, where no run decides its order, is there before the first run, if
  // the budget has room for it: a run will say so where it has none.
  void pack_ahead(const image::Cells& cells) {
    try {
      if (options_.memory_budget != 0)
        check_budget(image_, plan_memory(image_, cells), options_.memory_budget, held_with(cells));
    } catch (const Error&) {
      return;
    }
    image::Holdings holdings;
    run_.hold(cells, holdings, true);
  }

  // What depends on weights and constants alone. The cells as far as they are known then.
  image::Cells run_once() {
    image::Cells cells(image_.numbers);
    cells.evaluate();
    const auto adopt = [this](const OncePart& part, const CpuOnce& made) {
      for (size_t i = 0; i < part.kept.size(); ++i) memory_.set(part.kept[i], made[i]);
    };
    const auto source = [this](ValueId v) -> const Tensor& { return memory_.value(v); };
    const std::vector<bool> skipped =
        once_results_.find(parts_, image_, cells, source, *store_, adopt);
    memory_.begin_once();
    ++epochs_.places;
    once_.run(cells, epochs_, nullptr, 0, &skipped);
    memory_.end_once();
    binding_.take_once(cells);
    const auto made = [this](const OncePart& part) {
      const auto results = std::make_shared<CpuOnce>();
      for (const ValueId value : part.kept) results->push_back(memory_.value(value));
      return results;
    };
    once_results_.store(parts_, *store_, made, adopt);
    once_stale_ = false;
    ++epochs_.places;
    return cells;
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
    if (!same) ++epochs_.inputs;
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
  CpuStates states_;
  const std::vector<OncePart> parts_;
  OnceResults<CpuOnce> once_results_;
  Plans plans_;
  Counters counters_;
  CpuSteps once_, run_;
  std::optional<HeldByCalls> held_by_calls_;  // by the binding at hand
  bool once_stale_ = true;
  CpuSteps::Epochs epochs_;
  std::vector<const std::byte*> last_inputs_;
  std::set<ValueId> missing_weights_;
  std::mutex bringing_mutex_;
  std::vector<std::weak_ptr<Bringing>> bringing_;  // inputs on their way from other devices
};

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(int threads) : engine_(std::make_shared<const CpuEngine>(threads)) {
    traits_.calls = call_traits();
  }
  // The same device with another number of threads: what is made of weights they share.
  CpuBackend(const CpuBackend& other, int threads)
      : traits_(other.traits_),
        engine_(
            std::make_shared<const CpuEngine>(threads, vector::best_isa(), other.engine_->packed)),
        store_(other.store_) {}
  const DeviceTraits& traits() const override { return traits_; }
  void prepare_async(PrepareOptions options, Receive<ExecutablePtr> done) override {
    std::optional<Result<ExecutablePtr>> result;
    try {
      options.implementations = with_fast_ones(*options.implementations);
      result = ExecutablePtr(
          std::make_shared<CpuExecutable>(std::move(options), traits_, engine_, store_));
    } catch (...) {
      result = current_error();
    }
    done(std::move(*result));
  }
  image::Holdings holdings(const image::Image& image, const image::Implementations& implementations,
                           const image::Cells& cells) const override {
    return holdings_of(image, *with_fast_ones(implementations), cells);
  }
  void wait_until(const std::function<bool()>& /*done*/) override {}
  void wait() override {}

 private:
  // What this device does fast, before what it is given.
  std::shared_ptr<const image::Implementations> with_fast_ones(
      const image::Implementations& given) const {
    auto table = std::make_shared<image::Implementations>(fast_implementations(engine_, given));
    for (const auto& [op, list] : given) {
      auto& all = (*table)[op];
      all.insert(all.end(), list.begin(), list.end());
    }
    return table;
  }

  DeviceTraits traits_;
  const CpuEnginePtr engine_;
  const CpuOnceStore store_ = std::make_shared<OnceStore<CpuOnce>>();
};

}  // namespace

std::shared_ptr<Backend> make_cpu_backend(CpuOptions options) {
  if (const auto* other = dynamic_cast<const CpuBackend*>(options.of.get()))
    return std::make_shared<CpuBackend>(*other, options.threads);
  return std::make_shared<CpuBackend>(options.threads);
}

}  // namespace rlx::detail
