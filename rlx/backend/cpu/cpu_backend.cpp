#include "rlx/backend/cpu/cpu_backend.h"

#include <cstring>
#include <map>
#include <mutex>

#include "rlx/backend/cpu/fast_ops.h"
#include "rlx/base/clock.h"

namespace rlx {
namespace {

class CpuMemory : public DeviceMemory {
 public:
  explicit CpuMemory(Tensor tensor) : tensor_(std::move(tensor)) {}
  Tensor read(DType, const Shape& shape) override { return tensor_.reshaped(shape); }

 private:
  Tensor tensor_;
};

class CpuExecutable : public Executable {
 public:
  CpuExecutable(std::shared_ptr<const Compiled> compiled, const DeviceTraits& traits)
      : compiled_(std::move(compiled)), traits_(traits), list_(flatten(compiled_->lowered.steps)) {
    values_.resize(compiled_->lowered.values.size());
    std::map<std::string, size_t> order;
    for (const Node& node : compiled_->graph.nodes())
      if (is_input(node)) order.emplace(node.name, order.size());
    inputs_.resize(order.size());
    for (size_t v = 0; v < values_.size(); ++v) {
      const LoweredValue& value = compiled_->lowered.values[v];
      if (value.kind == ValueKind::input) inputs_[order.at(value.name)].push_back(v);
      if (value.kind == ValueKind::weight || value.kind == ValueKind::constant) {
        if (value.source)
          values_[v] = value.source->aligned();
        else
          missing_weights_.push_back(v);
      }
      if (value.kind == ValueKind::state)
        values_[v] = Tensor(value.type.dtype, concrete(value.type.shape));
    }
  }

  void run_async(RunRequest& request, RunDone done) override {
    try {
      run(request);
    } catch (...) {
      const Error error = current_error();
      return done(&error);
    }
    done(nullptr);
  }

  void wait() override {}

  void run(RunRequest& request) override {
    const std::lock_guard lock(mutex_);
    const auto start = Clock::now();
    const Counters before = counters_;
    ++counters_.runs;
    for (const size_t v : missing_weights_)
      fail(ErrorKind::invalid_input, "run: weight '", compiled_->lowered.values[v].name,
           "' has no tensor");
    binding_.update(*compiled_, request);
    place(plan());
    take_inputs(request);
    report_ = request.report;
    interpret();
    give_outputs(request);
    if (!report_) return;
    report_->device = traits_.name;
    report_plan(compiled_->lowered, *plan_, *report_);
    report_->counters = difference(counters_, before);
    report_->microseconds = microseconds_since(start);
  }

  void set_weight(const std::string& name, const Tensor& tensor) override {
    const std::lock_guard lock(mutex_);
    const size_t v = find(ValueKind::weight, name);
    check_type("weight", name, compiled_->lowered.values[v].type, tensor);
    values_[v] = tensor.aligned();
    std::erase(missing_weights_, v);
  }
  Tensor read_state(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    return values_[find(ValueKind::state, name)].copy();
  }
  void write_state(const std::string& name, const Tensor& tensor) override {
    const std::lock_guard lock(mutex_);
    const size_t v = find(ValueKind::state, name);
    check_type("state", name, compiled_->lowered.values[v].type, tensor);
    values_[v] = tensor.copy();
  }
  Counters counters() const override {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

 private:
  static void check_type(const char* kind, const std::string& name, const TensorType& type,
                         const Tensor& tensor) {
    if (tensor.type() != type)
      fail(ErrorKind::invalid_input, kind, " '", name, "' is ", type, ", got ", tensor.type());
  }

  size_t find(ValueKind kind, const std::string& name) const {
    const auto& values = compiled_->lowered.values;
    for (size_t v = 0; v < values.size(); ++v)
      if (values[v].kind == kind && values[v].name == name) return v;
    fail(ErrorKind::invalid_input, "there is no ", kind == ValueKind::state ? "state" : "weight",
         " '", name, "'");
  }

  const MemoryPlan& plan() {
    const MemoryPlan& plan = plans_.plan(*compiled_, traits_, binding_.symbols(), counters_);
    check_budget(*compiled_, plan);
    return plan;
  }

  // The slots, end to end in one allocation that only grows.
  void place(const MemoryPlan& plan) {
    plan_ = &plan;
    constexpr int64_t kAlignment = 64;
    offsets_.clear();
    int64_t total = 0;
    for (const int64_t bytes : plan.slot_bytes) {
      offsets_.push_back(total);
      total += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    }
    if (!arena_ || static_cast<int64_t>(arena_->bytes().size()) < total) {
      arena_ = std::make_shared<Storage>(static_cast<size_t>(total));
      ++counters_.buffers;
    }
  }

  void take_inputs(const RunRequest& request) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const bool on_device = i < request.device_inputs.size() && request.device_inputs[i].present();
      for (const size_t v : inputs_[i])
        values_[v] = on_device ? request.device_inputs[i].read() : request.inputs[i].aligned();
    }
  }

  // The tensor a step is to write: in its slot, or on its own where the plan could not size it.
  Tensor target(ValueId id) {
    const LoweredValue& value = compiled_->lowered.values[size_t(id)];
    if (!is_bound(value.type.shape, binding_.symbols())) return {value.type.dtype, Shape{0}};
    const Shape shape = bound(value.type.shape, binding_.symbols());
    const int slot = plan_->slot_of[size_t(id)];
    if (slot < 0) return {value.type.dtype, shape};
    return {value.type.dtype, shape, arena_, static_cast<size_t>(offsets_[size_t(slot)])};
  }

  void interpret() {
    SymbolValues& symbols = binding_.symbols();
    for (size_t pc = 0; pc < list_.size();) {
      const Instruction& instruction = list_[pc++];
      switch (instruction.kind) {
        case Instruction::Kind::jump:
          pc = instruction.target;
          break;
        case Instruction::Kind::jump_if_zero:
          if (instruction.condition.value(symbols) == 0) pc = instruction.target;
          break;
        case Instruction::Kind::set_zero:
          symbols[instruction.counter] = 0;
          break;
        case Instruction::Kind::increment:
          ++symbols[instruction.counter];
          break;
        case Instruction::Kind::step:
          step(*instruction.step);
          break;
      }
    }
  }

  void step(const Step& step) {
    if (const auto* host = std::get_if<Host>(&step.what)) return run_host(*host, step.node);
    if (const auto* copy = std::get_if<Copy>(&step.what)) {
      const Tensor& source = values_[size_t(copy->source)];
      Tensor to = compiled_->lowered.values[size_t(copy->target)].kind == ValueKind::state
                      ? values_[size_t(copy->target)]
                      : target(copy->target);
      if (to.count() != source.count()) to = Tensor(source.dtype(), source.shape());
      if (source.count() > 0 && to.bytes().data() != source.bytes().data())
        std::memcpy(to.mutable_bytes().data(), source.bytes().data(), source.bytes().size());
      values_[size_t(copy->target)] = to;
    } else if (const auto* fetch = std::get_if<Fetch>(&step.what)) {
      const Tensor& tensor = values_[size_t(fetch->value)];
      for (size_t i = 0; i < fetch->elements.size(); ++i)
        if (const auto symbol = fetch->elements[i].symbol())
          binding_.symbols().insert_or_assign(*symbol, tensor.integer_at(static_cast<int64_t>(i)));
      compiled_->binder.resolve(binding_.binding());
    } else if (const auto* bind = std::get_if<Bind>(&step.what)) {
      for (const std::string& symbol : bind->forget) binding_.symbols().erase(symbol);
      binding_.symbols().insert_or_assign(bind->symbol, bind->value.value(binding_.symbols()));
      compiled_->binder.resolve(binding_.binding());
    } else if (const auto* clear = std::get_if<Clear>(&step.what)) {
      values_[size_t(clear->target)] = target(clear->target);
      const auto bytes = values_[size_t(clear->target)].mutable_bytes();
      std::fill(bytes.begin(), bytes.end(), std::byte{0});
    }
  }

  void run_host(const Host& host, int node) {
    const auto start = Clock::now();
    ++counters_.host_steps;
    std::vector<Tensor> operands;
    operands.reserve(host.inputs.size());
    std::vector<const Tensor*> inputs;
    for (const Operand& operand : host.inputs) {
      if (operand.value >= 0)
        operands.push_back(
            follow_view(values_[size_t(operand.value)], operand, binding_.symbols()));
      inputs.push_back(operand.value >= 0 ? &operands.back() : nullptr);
    }
    std::vector<Tensor> results;
    for (const ValueId id : host.results) results.push_back(target(id));
    try {
      const FastOp fast = host.definition ? fast_op(host.definition->op->name) : nullptr;
      if (!fast || !fast(*host.definition, inputs, results))
        host.run(inputs, results, binding_.symbols());
    } catch (Error& error) {
      if (node >= 0 && host.definition)
        error.add_note(text("at node '", host.definition->name, "'"));
      throw;
    }
    for (size_t r = 0; r < results.size(); ++r) {
      // A result that is its operand's bytes needs its own: the operand's slot may be taken next.
      for (const Tensor& operand : operands)
        if (plan_->slot_of[size_t(host.results[r])] < 0 &&
            results[r].identity() == operand.identity())
          results[r] = results[r].copy();
      keep(host.results[r], results[r]);
    }
    if (report_)
      report_->host_steps.push_back({host.name, host.definition ? host.definition->name : "",
                                     host.reason, microseconds_since(start)});
  }

  void keep(ValueId id, const Tensor& tensor) {
    const LoweredValue& value = compiled_->lowered.values[size_t(id)];
    const bool planned =  // before the data tells an extent
        is_bound(value.type.shape, binding_.symbols()) && plan_->slot_of[size_t(id)] >= 0;
    settle_result(*compiled_, value, tensor, binding_.binding());
    Tensor place = planned ? target(id) : tensor;
    if (place.bytes().data() != tensor.bytes().data() && tensor.count() > 0)
      std::memcpy(place.mutable_bytes().data(), tensor.bytes().data(), tensor.bytes().size());
    values_[size_t(id)] = place;
  }

  void give_outputs(RunRequest& request) {
    const auto& outputs = compiled_->lowered.outputs;
    request.outputs.resize(outputs.size());
    request.device_outputs.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& value = values_[size_t(outputs[i].value)];
      const Tensor shaped = value.reshaped(bound(outputs[i].type.shape, binding_.symbols()));
      const auto want = i < request.wanted.size() ? request.wanted[i] : RunRequest::Want::tensor;
      if (want == RunRequest::Want::device)
        request.device_outputs[i] = {shaped.dtype(), shaped.shape(),
                                     std::make_shared<CpuMemory>(shaped.copy())};
      if (want != RunRequest::Want::tensor) continue;
      Tensor& out = request.outputs[i];
      if (out.dtype() == shaped.dtype() && out.shape() == shaped.shape()) {
        if (shaped.count() > 0)
          std::memcpy(out.mutable_bytes().data(), shaped.bytes().data(), shaped.bytes().size());
      } else {
        out = shaped.copy();
      }
    }
  }

  std::shared_ptr<const Compiled> compiled_;
  const DeviceTraits traits_;
  std::vector<Instruction> list_;
  mutable std::mutex mutex_;
  mutable RunBinding binding_;
  Plans plans_;
  const MemoryPlan* plan_ = nullptr;
  std::vector<int64_t> offsets_;
  std::shared_ptr<Storage> arena_;
  std::vector<Tensor> values_;
  std::vector<std::vector<size_t>> inputs_;  // by their order in a request: where their values are
  std::vector<size_t> missing_weights_;
  Counters counters_;
  RunReport* report_ = nullptr;
};

class CpuBackend : public Backend {
 public:
  const DeviceTraits& traits() const override { return traits_; }
  std::shared_ptr<Executable> prepare(std::shared_ptr<const Compiled> compiled) override {
    return std::make_shared<CpuExecutable>(std::move(compiled), traits_);
  }

 private:
  DeviceTraits traits_;
};

}  // namespace

std::shared_ptr<Backend> make_cpu_backend() { return std::make_shared<CpuBackend>(); }

}  // namespace rlx
