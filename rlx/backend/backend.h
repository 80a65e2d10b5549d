// What a device must do: take a lowered graph, hold its weights and state, run it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rlx/backend/report.h"
#include "rlx/plan/binding.h"
#include "rlx/plan/memory_plan.h"

namespace rlx {

// Memory of a device that holds one tensor.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual Tensor read(DType dtype, const Shape& shape) = 0;  // device_lost when its device is gone
};

// A tensor that stays on a device: an output of one run, an input of another.
class DeviceTensor {
 public:
  DeviceTensor() = default;
  DeviceTensor(DType dtype, Shape shape, std::shared_ptr<DeviceMemory> memory)
      : dtype_(dtype), shape_(std::move(shape)), memory_(std::move(memory)) {}

  bool present() const { return memory_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  Tensor read() const { return memory_->read(dtype_, shape_); }
  const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }

 private:
  DType dtype_ = DType::f32;
  Shape shape_;
  std::shared_ptr<DeviceMemory> memory_;
};

// All that a device needs to run a graph. It owns the graph, so a Program outlives the user's.
struct Compiled {
  Compiled(Graph g, Lowered l);
  Compiled(const Compiled&) = delete;

  Graph graph;
  Lowered lowered;
  Binder binder;
  SymbolRanges bounds;               // of symbols that have them
  std::set<std::string> planned_by;  // the others that some value's size depends on
  int64_t memory_budget = 0;         // bytes that a run may take; 0: as many as there are
};

// One run. Kept and used again, it allocates nothing the second time.
struct RunRequest {
  std::vector<Tensor> inputs;               // in the graph's order
  std::vector<DeviceTensor> device_inputs;  // where present, instead of the tensor
  enum class Want { nothing, tensor, device };
  std::vector<Want> wanted;  // by output
  std::vector<Tensor> outputs;
  std::vector<DeviceTensor> device_outputs;
  RunReport* report = nullptr;  // filled when given; dispatches are then timed
};

using RunDone = std::function<void(const Error* error)>;

class Executable {
 public:
  virtual ~Executable() = default;
  // Calls `done` when the outputs are there; the request must live until then. Natively callbacks
  // arrive while somebody waits; a browser needs no wait().
  virtual void run_async(RunRequest& request, RunDone done) = 0;
  virtual void wait() = 0;                    // until no run is under way
  virtual void run(RunRequest& request) = 0;  // waits; throws the error
  virtual void set_weight(const std::string& name, const Tensor& tensor) = 0;
  virtual Tensor read_state(const std::string& name) = 0;
  virtual void write_state(const std::string& name, const Tensor& tensor) = 0;
  virtual Counters counters() const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const DeviceTraits& traits() const = 0;
  virtual std::shared_ptr<Executable> prepare(std::shared_ptr<const Compiled> compiled) = 0;
};

// The symbols' ranges for planning: bounds where there are any, else the value of this run.
SymbolRanges plan_ranges(const Compiled& compiled, const SymbolValues& symbols);
// The plans made so far, one for each set of values of the symbols without bounds that a size
// depends on. One that cannot be made is an Error, and is tried again the next time.
class Plans {
 public:
  const MemoryPlan& plan(const Compiled& compiled, const DeviceTraits& traits,
                         const SymbolValues& symbols, Counters& counters);

 private:
  std::map<std::string, MemoryPlan> by_values_;
};

// An Error when a plan takes more than the budget, with the numbers.
void check_budget(const Compiled& compiled, const MemoryPlan& plan);

// What a plan takes, for the report of a run.
void report_plan(const Lowered& lowered, const MemoryPlan& plan, RunReport& report);

// Checks the inputs and binds; skips the work when nothing that matters has changed since.
class RunBinding {
 public:
  // True when the binding is a new one.
  bool update(const Compiled& compiled, const RunRequest& request);
  Binding& binding() { return binding_; }
  SymbolValues& symbols() { return binding_.symbols; }

 private:
  struct Seen {
    DType dtype;
    Shape shape;
    Tensor::Mark elements;  // of those that decide shapes
  };
  std::vector<Seen> seen_;
  Binding binding_, by_inputs_;  // as the run knows it; as the inputs alone told it
};

// What a host step gave for a value: it tells extents that only the data could, or else is an Error
// where it is not as much as the value has room for.
void settle_result(const Compiled& compiled, const LoweredValue& value, const Tensor& given,
                   Binding& binding);

// Element i of the operand's logical tensor, gathered from the tensor that holds it.
Tensor follow_view(const Tensor& root, const Operand& operand, const SymbolValues& symbols);

}  // namespace rlx
