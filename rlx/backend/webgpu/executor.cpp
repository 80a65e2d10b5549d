// The executor walks the instructions, records commands, and submits when something must come back:
// once per run as a rule. Its core never blocks; run() waits on top of it.

#include "rlx/backend/webgpu/executor.h"

#include <algorithm>

#include "rlx/backend/webgpu/recorder.h"
#include "rlx/backend/webgpu/turns.h"
#include "rlx/base/clock.h"
#include "rlx/lower/storage.h"

namespace rlx::webgpu {
namespace {

using Want = RunRequest::Want;

class Executor : public Executable, public std::enable_shared_from_this<Executor> {
 public:
  Executor(std::shared_ptr<WebGpuDevice> device, std::shared_ptr<const Compiled> compiled)
      : device_(std::move(device)),
        compiled_(std::move(compiled)),
        lowered_(compiled_->lowered),
        list_(flatten(lowered_.steps)),
        recorder_(*compiled_, device_->traits()) {
    for (const Instruction& instruction : list_)
      straight_ &= instruction.kind == Instruction::Kind::step &&
                   !std::holds_alternative<Host>(instruction.step->what) &&
                   !std::holds_alternative<Fetch>(instruction.step->what);
    std::map<std::string, size_t> order;
    for (const Node& node : compiled_->graph.nodes())
      if (is_input(node)) order.emplace(node.name, order.size());
    for (size_t v = 0; v < lowered_.values.size(); ++v) {
      const LoweredValue& value = lowered_.values[v];
      const auto id = static_cast<ValueId>(v);
      if (value.kind == ValueKind::input) inputs_.push_back({id, order.at(value.name)});
      if (value.kind != ValueKind::weight && value.kind != ValueKind::constant) continue;
      if (value.source)
        sources_[id] = *value.source;
      else
        missing_weights_.push_back(id);
    }
    connect();  // compiles the pipelines now, so that the first run does not wait for them
    counters_told_ = counters_;
  }

  void run_async(RunRequest& request, RunDone done) override {
    if (!turns_.try_begin()) {
      const Error error(ErrorKind::unsupported, "run_async: a run of this program is under way");
      return done(&error);
    }
    keep_alive_ = shared_from_this();
    start(request, std::move(done));
  }

  void wait() override {
    const auto self = shared_from_this();
    for (;;) {
      Ticket ticket = 0;
      std::shared_ptr<Gpu> gpu;
      {
        const std::lock_guard lock(mutex_);
        if (!turns_.taken() || !resources_) return;
        ticket = ticket_;
        gpu = resources_->gpu_ptr();
      }
      gpu->wait(ticket);
    }
  }

  void run(RunRequest& request) override {
    hold();
    waiting_ = true;
    failure_.reset();
    finished_ = false;
    start(request, [this](const Error* error) {
      if (error) failure_ = *error;
      finished_ = true;
    });
    if (resources_) {
      const std::shared_ptr<Gpu> gpu = resources_->gpu_ptr();
      while (!finished_) gpu->wait(ticket_);
      for (const Ticket ticket : time_tickets_) gpu->wait(ticket);
    }
    time_tickets_.clear();
    waiting_ = false;
    const std::optional<Error> failure = std::move(failure_);
    turns_.end();
    if (failure) throw *failure;
  }

  void set_weight(const std::string& name, const Tensor& tensor) override {
    const Held held(*this);
    const ValueId value = find(ValueKind::weight, name);
    check_type("weight", name, tensor, value);
    sources_[value] = tensor;
    std::erase(missing_weights_, value);
  }
  Tensor read_state(const std::string& name) override {
    const Held held(*this);
    const ValueId value = find(ValueKind::state, name);
    const TensorType& type = lowered_.values[size_t(value)].type;
    for (const ValueId written : states_written_)
      if (written == value) return states_.at(value).copy();  // not uploaded yet
    const BufferPtr& buffer = resources_->own(value);
    if (!buffer) return {type.dtype, concrete(type.shape)};
    return GpuMemory(resources_->gpu_ptr(), buffer).read(type.dtype, concrete(type.shape));
  }
  void write_state(const std::string& name, const Tensor& tensor) override {
    const Held held(*this);
    const ValueId value = find(ValueKind::state, name);
    check_type("state", name, tensor, value);
    states_[value] = tensor.copy();  // uploaded before the next run, and again after a loss
    states_written_.push_back(value);
  }
  Counters counters() const override {
    const std::lock_guard lock(mutex_);
    return counters_told_;
  }

 private:
  struct Input {
    ValueId value;
    size_t index;  // in the request
  };
  // Keeps runs away while state or weights change.
  struct Held {
    explicit Held(Executor& e) : executor(e) { executor.hold(); }
    ~Held() { executor.turns_.end(); }
    Executor& executor;
  };

  const DeviceTraits& traits() const { return device_->traits(); }
  SymbolValues& symbols() { return binding_.symbols(); }
  const std::string& name_of(ValueId value) const { return lowered_.values[size_t(value)].name; }

  void hold() {
    turns_.begin([this] { wait(); });
  }

  ValueId find(ValueKind kind, const std::string& name) const {
    for (size_t v = 0; v < lowered_.values.size(); ++v)
      if (lowered_.values[v].kind == kind && lowered_.values[v].name == name)
        return static_cast<ValueId>(v);
    fail(ErrorKind::invalid_input, "there is no ", kind == ValueKind::state ? "state" : "weight",
         " '", name, "'");
  }
  void check_type(const char* kind, const std::string& name, const Tensor& tensor,
                  ValueId value) const {
    const TensorType& type = lowered_.values[size_t(value)].type;
    if (tensor.type() != type)
      fail(ErrorKind::invalid_input, kind, " '", name, "' is ", type, ", got ", tensor.type());
  }

  // Everything that lives on the logical device; made again when that was lost.
  void connect() {
    const std::shared_ptr<Gpu> gpu = device_->gpu();
    if (resources_ && resources_->gpu_ptr() == gpu) return;
    std::vector<const RenderedKernel*> kernels;
    for (const auto& [dispatch, slot] : recorder_.kernels()) kernels.push_back(&slot.rendered);
    const std::vector<PipelinePtr> pipelines =
        device_->pipelines(*gpu, kernels, counters_.pipelines);
    size_t next = 0;
    for (auto& [dispatch, slot] : recorder_.kernels()) slot.pipeline = pipelines[next++];
    recorder_.forget();
    recorded_valid_ = false;
    plan_ = nullptr;
    resources_ = std::make_unique<Resources>(gpu, lowered_, counters_);
    states_written_.clear();
    for (const auto& [value, tensor] : states_) states_written_.push_back(value);
  }

  void start(RunRequest& request, RunDone done) {
    request_ = &request;
    request.outputs.resize(lowered_.outputs.size());
    request.device_outputs.resize(lowered_.outputs.size());
    request.wanted.resize(lowered_.outputs.size(), Want::tensor);
    done_ = std::move(done);
    started_ = Clock::now();
    counters_before_ = counters_;
    ++counters_.runs;
    try {
      for (const ValueId value : missing_weights_)
        fail(ErrorKind::invalid_input, "run: weight '", name_of(value), "' has no tensor");
      connect();
      const bool rebound = binding_.update(*compiled_, request);
      if (rebound || !plan_) prepare_plan();
      for (const auto& [value, tensor] : sources_)
        resources_->upload_changed(value, tensor, name_of(value));
      for (const ValueId value : states_written_)
        resources_->upload(value, states_.at(value), name_of(value));
      states_written_.clear();
      for (const Input& input : inputs_) take_input(input);
      const bool same = recorded_valid_ && !rebound &&
                        recorded_generation_ == resources_->generation() &&
                        recorded_wanted_ == request.wanted && !request.report;
      if (same) {
        counters_.dispatches += recorder_.dispatches();
        return submit_and_read();
      }
      recorded_valid_ = false;
      recorder_.forget();
      recorder_.use(*resources_, *plan_, symbols());
      pc_ = 0;
      advance();
    } catch (...) {
      finish_with_exception();
    }
  }

  void prepare_plan() {
    plan_ = nullptr;  // until there is room for it: the next run then tries again
    const MemoryPlan& plan = plans_.plan(*compiled_, traits(), symbols(), counters_);
    for (size_t v = 0; v < lowered_.values.size(); ++v)
      if (plan.bytes_of[v] > traits().max_buffer_bytes)
        fail(ErrorKind::limit, "'", name_of(static_cast<ValueId>(v)), "' is ",
             lowered_.values[v].type, " of ", plan.bytes_of[v],
             " bytes; a buffer of this device holds ", traits().max_buffer_bytes);
    check_budget(*compiled_, plan);
    resources_->fit(plan);
    plan_ = &plan;
  }

  void take_input(const Input& input) {
    RunRequest& request = *request_;
    const bool on_device =
        input.index < request.device_inputs.size() && request.device_inputs[input.index].present();
    if (!on_device) {
      resources_->borrow(input.value, nullptr);
      return resources_->upload_changed(input.value, request.inputs[input.index],
                                        name_of(input.value));
    }
    const DeviceTensor& tensor = request.device_inputs[input.index];
    const auto* memory = dynamic_cast<const GpuMemory*>(tensor.memory().get());
    if (!memory || memory->gpu() != resources_->gpu_ptr()) {
      if (memory && memory->gpu()->lost())
        fail(ErrorKind::device_lost, "run: input '", name_of(input.value),
             "' was on a device that is lost");
      resources_->borrow(input.value, nullptr);  // of another device: through the host
      return resources_->upload(input.value, tensor.read(), name_of(input.value));
    }
    resources_->borrow(input.value, memory->buffer());
  }

  // Goes on from pc_ until the run is done or must wait.
  void advance() {
    while (pc_ < list_.size()) {
      const Instruction& instruction = list_[pc_];
      switch (instruction.kind) {
        case Instruction::Kind::jump:
          pc_ = instruction.target;
          continue;
        case Instruction::Kind::jump_if_zero:
          pc_ = instruction.condition.value(symbols()) == 0 ? instruction.target : pc_ + 1;
          continue;
        case Instruction::Kind::set_zero:
          symbols()[instruction.counter] = 0;
          break;
        case Instruction::Kind::increment:
          ++symbols()[instruction.counter];
          break;
        case Instruction::Kind::step:
          if (!step(*instruction.step)) return;  // it goes on by itself
          break;
      }
      ++pc_;
    }
    record_outputs();
    recorder_.complete();
    counters_.dispatches += recorder_.dispatches();
    submit_and_read();
  }

  // False when the step waits for the device and calls advance() itself.
  bool step(const Step& step) {
    try {
      if (const auto* dispatch = std::get_if<Dispatch>(&step.what))
        return recorder_.dispatch(*dispatch, step.node, request_->report), true;
      if (const auto* copy = std::get_if<Copy>(&step.what))
        return recorder_.copy(copy->source, copy->target), true;
      if (const auto* clear = std::get_if<Clear>(&step.what))
        return recorder_.clear(clear->target), true;
      if (const auto* fetch = std::get_if<Fetch>(&step.what)) return run_fetch(*fetch), false;
      if (const auto* bind = std::get_if<Bind>(&step.what)) {
        for (const std::string& symbol : bind->forget) symbols().erase(symbol);
        symbols().insert_or_assign(bind->symbol, bind->value.value(symbols()));
        return compiled_->binder.resolve(binding_.binding()), true;
      }
      return run_host(std::get<Host>(step.what));
    } catch (Error& error) {
      if (step.node >= 0)
        error.add_note(text("at node '", compiled_->graph.node(step.node).name, "'"));
      throw;
    }
  }

  void submit() {
    if (recorder_.commands().empty()) return;
    ++counters_.submits;
    if (!request_->report || !traits().timestamps || !waiting_) {
      resources_->gpu().submit(recorder_.commands());
      return;
    }
    RunReport* report = request_->report;
    const size_t first = report->dispatches.size() - recorder_.dispatches();
    time_tickets_.push_back(resources_->gpu().submit(
        recorder_.commands(), {.timestamps = true},
        [this, report, first](Result<SubmitTimes> times) {
          if (!times.ok()) {  // the device tells an error once: the run has failed
            failure_ = times.error();
            return;
          }
          const SubmitTimes measured = times.take();
          for (size_t i = 0; i < measured.dispatch_microseconds.size(); ++i)
            report->dispatches[first + i].microseconds = measured.dispatch_microseconds[i];
        }));
  }

  // In the middle of a run: hands over all that is recorded and starts anew.
  void flush() {
    recorder_.complete();
    counters_.dispatches += recorder_.dispatches();
    submit();
    recorder_.forget();
  }

  // Reads values, hands them over as tensors, and goes on with the run.
  template <class Use>
  void read_back(const std::vector<ValueId>& values, Use use) {
    const Recorder::Readback readback = recorder_.read_back(values);
    flush();
    const auto tensors = std::make_shared<std::vector<Tensor>>();
    read(
        readback,
        [this, values, readback, tensors](std::span<const std::byte> bytes) {
          for (size_t i = 0; i < values.size(); ++i) {
            const TensorType& type = lowered_.values[size_t(values[i])].type;
            from_device(bytes.subspan(readback.offsets[i]),
                        tensors->emplace_back(type.dtype, bound(type.shape, symbols())));
          }
        },
        [this, tensors, use] {
          try {
            use(*tensors);
            ++pc_;
            advance();
          } catch (...) {
            finish_with_exception();
          }
        });
  }

  // Hands the bytes to `take`, and goes on with `then` when the staging buffer is free again.
  template <class Take, class Then>
  void read(const Recorder::Readback& readback, Take take, Then then) {
    ++counters_.readbacks;
    counters_.readback_bytes += readback.bytes;
    set_ticket(resources_->gpu().read(
        *readback.staging, 0, readback.bytes,
        [this, take](Result<std::span<const std::byte>> result) {
          try {
            take(result.take());
          } catch (...) {
            read_failure_ = current_error();
          }
        },
        [this, then] {
          if (!read_failure_) return then();
          const Error error = *std::exchange(read_failure_, std::nullopt);
          finish(&error);
        }));
  }

  void set_ticket(Ticket ticket) {
    const std::lock_guard lock(mutex_);
    ticket_ = ticket;
  }

  void run_fetch(const Fetch& fetch) {
    ++counters_.host_steps;
    if (request_->report)
      request_->report->host_steps.push_back({"fetch", name_of(fetch.value), fetch.reason, -1});
    read_back({fetch.value}, [this, &fetch](const std::vector<Tensor>& tensors) {
      for (size_t i = 0; i < fetch.elements.size(); ++i)
        if (const auto symbol = fetch.elements[i].symbol())
          symbols().insert_or_assign(*symbol, tensors[0].integer_at(static_cast<int64_t>(i)));
      compiled_->binder.resolve(binding_.binding());
    });
  }

  bool run_host(const Host& host) {
    std::vector<ValueId> values;
    for (const Operand& operand : host.inputs)
      if (operand.value >= 0 &&
          std::find(values.begin(), values.end(), operand.value) == values.end())
        values.push_back(operand.value);
    if (values.empty()) {
      flush();
      compute_on_host(host, {}, {});
      return true;
    }
    read_back(values, [this, &host, values](const std::vector<Tensor>& tensors) {
      compute_on_host(host, values, tensors);
    });
    return false;
  }

  void compute_on_host(const Host& host, const std::vector<ValueId>& values,
                       const std::vector<Tensor>& tensors) {
    const auto begun = Clock::now();
    ++counters_.host_steps;
    std::vector<Tensor> operands;
    operands.reserve(host.inputs.size());
    std::vector<const Tensor*> inputs;
    for (const Operand& operand : host.inputs) {
      if (operand.value >= 0) {
        const auto at = std::find(values.begin(), values.end(), operand.value) - values.begin();
        operands.push_back(follow_view(tensors[size_t(at)], operand, symbols()));
      }
      inputs.push_back(operand.value >= 0 ? &operands.back() : nullptr);
    }
    std::vector<Tensor> results;
    for (const ValueId id : host.results) {
      const TensorType& type = lowered_.values[size_t(id)].type;
      results.emplace_back(
          type.dtype, is_bound(type.shape, symbols()) ? bound(type.shape, symbols()) : Shape{0});
    }
    host.run(inputs, results, symbols());
    for (size_t r = 0; r < results.size(); ++r) {
      const ValueId id = host.results[r];
      settle_result(*compiled_, lowered_.values[size_t(id)], results[r], binding_.binding());
      recorder_.make_room(id);
      resources_->upload(id, results[r], name_of(id));
    }
    if (request_->report)
      request_->report->host_steps.push_back({host.name,
                                              host.definition ? host.definition->name : "",
                                              host.reason, microseconds_since(begun)});
  }

  // Behind the last step: copies of the outputs that were asked for, and of the error flag.
  void record_outputs() {
    const RunRequest& request = *request_;
    recorded_wanted_ = request.wanted;
    has_device_outputs_ = false;
    read_outputs_.clear();
    std::vector<ValueId> values;
    for (size_t i = 0; i < lowered_.outputs.size(); ++i) {
      if (request.wanted[i] == Want::device) record_device_output(i);
      if (request.wanted[i] != Want::tensor) continue;
      values.push_back(lowered_.outputs[i].value);
      read_outputs_.push_back(i);
    }
    if (read_outputs_.empty()) return;
    if (lowered_.flag >= 0) values.push_back(lowered_.flag);
    readback_ = recorder_.read_back(values);
    if (lowered_.flag >= 0) recorder_.clear(lowered_.flag);  // seen once is enough
  }

  void record_device_output(size_t i) {
    const Lowered::Output& output = lowered_.outputs[i];
    const uint64_t bytes = std::max<uint64_t>(whole_words(recorder_.capacity(output.value)), 4);
    const auto memory = resources_->keep(output.value, bytes, output.name);
    recorder_.copy_out(output.value, *memory->buffer());
    request_->device_outputs[i] = {output.type.dtype, bound(output.type.shape, symbols()), memory};
    has_device_outputs_ = true;
  }

  void submit_and_read() {
    submit();
    // What was recorded serves again while nothing changes.
    recorded_valid_ = straight_ && !has_device_outputs_ && !request_->report;
    recorded_generation_ = resources_->generation();
    if (read_outputs_.empty()) return finish(nullptr);
    read(
        readback_, [this](std::span<const std::byte> bytes) { take_outputs(bytes); },
        [this] { finish(nullptr); });
  }

  void take_outputs(std::span<const std::byte> bytes) {
    if (lowered_.flag >= 0) check_flag(bytes.subspan(readback_.offsets.back()));
    for (size_t i = 0; i < read_outputs_.size(); ++i) {
      const TensorType& type = lowered_.outputs[read_outputs_[i]].type;
      Tensor& tensor = request_->outputs[read_outputs_[i]];
      if (tensor.dtype() != type.dtype || !has_shape(tensor.shape(), type.shape))
        tensor = Tensor(type.dtype, bound(type.shape, symbols()));
      from_device(bytes.subspan(readback_.offsets[i]), tensor);
    }
  }

  bool has_shape(const Shape& shape, const Dims& dims) {
    if (shape.size() != dims.size()) return false;
    for (size_t d = 0; d < dims.size(); ++d)
      if (dims[d].value(symbols()) != shape[d]) return false;
    return true;
  }

  void check_flag(std::span<const std::byte> bytes) {
    uint32_t code = 0;
    std::memcpy(&code, bytes.data(), 4);
    if (code == 0) return;
    const Node& node = compiled_->graph.node(static_cast<int>(code) - 1);
    fail(ErrorKind::invalid_input, node.op->name,
         ": a value is out of range, such as an index (the device clamped it)", "\n  at node '",
         node.name, "'");
  }

  void fill_report(RunReport& report) const {
    report.device = traits().name;
    report.microseconds = microseconds_since(started_);
    report.counters = difference(counters_, counters_before_);
    if (plan_) report_plan(lowered_, *plan_, report);
  }

  // What a step threw, a user's own op perhaps, ends the run; what `done` threw is its caller's.
  void finish_with_exception() {
    if (!done_) throw;
    const Error error = current_error();
    finish(&error);
  }

  void finish(const Error* error) {
    if (error) {
      recorded_valid_ = false;
      recorder_.forget();
    }
    if (request_->report) fill_report(*request_->report);
    {
      const std::lock_guard lock(mutex_);
      counters_told_ = counters_;
    }
    const auto self = std::move(keep_alive_);
    const RunDone done = std::move(done_);
    if (!waiting_) turns_.end();
    done(error);
  }

  std::shared_ptr<WebGpuDevice> device_;
  std::shared_ptr<const Compiled> compiled_;
  const Lowered& lowered_;
  std::vector<Instruction> list_;
  bool straight_ = true;  // no jumps, nothing comes back before the end
  std::map<ValueId, Tensor>
      sources_;  // of weights and constants: what a lost device is filled from
  std::vector<ValueId> missing_weights_;
  std::map<ValueId, Tensor> states_;  // as last written from the host
  std::vector<ValueId> states_written_;
  std::vector<Input> inputs_;

  Turns turns_;
  mutable std::mutex mutex_;  // of what other threads ask for during a run

  std::unique_ptr<Resources> resources_;
  Recorder recorder_;
  RunBinding binding_;
  Plans plans_;
  const MemoryPlan* plan_ = nullptr;
  Counters counters_, counters_before_;
  Counters counters_told_;  // as the last run left them, for any thread

  // The run under way.
  RunRequest* request_ = nullptr;
  RunDone done_;
  bool waiting_ = false;  // run() is waiting on top
  std::optional<Error> failure_;
  bool finished_ = false;
  std::shared_ptr<Executor> keep_alive_;
  Clock::time_point started_;
  size_t pc_ = 0;
  Ticket ticket_ = 0;
  std::vector<Ticket> time_tickets_;
  std::optional<Error> read_failure_;
  std::vector<size_t> read_outputs_;
  Recorder::Readback readback_;
  bool has_device_outputs_ = false;
  bool recorded_valid_ = false;
  uint64_t recorded_generation_ = 0;
  std::vector<Want> recorded_wanted_;
};

}  // namespace

std::shared_ptr<Executable> make_executor(std::shared_ptr<WebGpuDevice> device,
                                          std::shared_ptr<const Compiled> compiled) {
  return std::make_shared<Executor>(std::move(device), std::move(compiled));
}

}  // namespace rlx::webgpu
