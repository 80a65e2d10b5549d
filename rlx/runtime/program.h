// compile(graph) -> Program; program.run(inputs) -> outputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rlx/base/report.h"
#include "rlx/ir/value.h"
#include "rlx/runtime/device.h"
#include "rlx/tensor/device_tensor.h"

namespace rlx {

class Image;
namespace detail {
struct ProgramState;
struct BoundState;
}  // namespace detail

struct CompileOptions {
  Device device = {};   // the CPU
  bool strict = false;  // tensor compute on the host of another device is an Error
  bool optimise = true;
  std::vector<std::string> disabled_passes = {};  // those of pass_names() not to run, or "all"
  int threads = 0;            // of the CPU, for this program alone; 0: those of its device
  int64_t memory_budget = 0;  // bytes a run may take, weights included; 0: as many as there are
  std::map<std::string, int64_t> choices = {};  // tuned parameters by key
};

struct Description {
  std::string name;
  TensorType type;
};

// What goes into a run and comes out of it beside tensors of the host.
struct RunOptions {
  std::vector<std::string> outputs = {};         // those to read; empty: all
  std::vector<std::string> keep_on_device = {};  // those to leave there, as device tensors
  std::map<std::string, DeviceTensor> device_inputs = {};
  RunReport* report = nullptr;
  int64_t iteration_budget =
      0;  // how often loops may go round, all together; 0: as often as they do
};
struct RunResult {
  TensorMap tensors;
  std::map<std::string, DeviceTensor> device_tensors;
};

// A run whose inputs and outputs are fixed tensors: change the inputs' elements, run, read the
// outputs. From the second run on nothing is allocated. Copies are the same run.
class BoundRun {
 public:
  BoundRun() = default;  // none: it can only be assigned to
  explicit BoundRun(Shared<detail::BoundState> state) : state_(std::move(state)) {}

  Tensor& input(const std::string& name);
  const Tensor& output(const std::string& name) const;
  void run();

 private:
  Shared<detail::BoundState> state_;
};

// A compiled graph, ready to run many times. It owns all it needs; the graph may go. Copies are the
// same program.
class Program {
 public:
  Program() = default;  // none: it can only be assigned to
  explicit Program(Shared<detail::ProgramState> state) : state_(std::move(state)) {}

  TensorMap run(const TensorMap& inputs) const;
  RunResult run(const TensorMap& inputs, const RunOptions& options) const;
  // Starts a run and returns; `done` is called when the outputs are there. Natively that happens
  // inside wait(), which returns when no run is under way; a browser calls back by itself.
  void run_async(const TensorMap& inputs, Receive<TensorMap> done) const;
  void run_async(const TensorMap& inputs, const RunOptions& options, Receive<RunResult> done) const;
  void wait() const;
  BoundRun bind(const TensorMap& inputs) const;

  void set_weight(const std::string& name, const Tensor& tensor);
  Tensor read_state(const std::string& name) const;
  void read_state_async(const std::string& name, Receive<Tensor> done) const;
  void write_state(const std::string& name, const Tensor& tensor);
  void reset_state();  // all of it, to what it starts as
  // A copy of all states that the program keeps on the host. Where the device is lost, states that
  // only it had go back to it, and the report of the next run names them; without one, they are an
  // Error by name. Writing a state ends its copy: from then on it would be an old value.
  void take_snapshot();
  void take_snapshot_async(Receive<bool> done);
  void restore_snapshot();  // all states; an Error names those without one

  std::vector<Description> inputs() const;
  std::vector<Description> outputs() const;
  std::vector<Description> weights() const;
  std::vector<Description> states() const;
  SymbolRanges symbols() const;  // those with bounds
  const Device& device() const;
  Counters counters() const;
  Image image() const;  // see rlx/runtime/image.h
  const detail::ProgramState& state() const { return *state_; }

 private:
  Shared<detail::ProgramState> state_;
};

// The compiler runs at once; what the device must prepare is ready when `done` is called. Natively
// that happens while somebody waits for the device.
void compile_async(const Graph& graph, const CompileOptions& options, Receive<Program> done);
Program compile(const Graph& graph, const CompileOptions& options = {});  // waits

}  // namespace rlx
