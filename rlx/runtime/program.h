// compile(graph) -> Program; program.run(inputs) -> outputs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rlx/ir/evaluate.h"
#include "rlx/plan/memory_plan.h"
#include "rlx/runtime/device.h"

namespace rlx {

struct CompileOptions {
  Device device = {};   // the CPU
  bool strict = false;  // tensor compute on the host of another device is an Error
  bool optimise = true;
  std::vector<std::string> disabled_passes = {};  // those of pass_names() not to run
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
};
struct RunResult {
  TensorMap tensors;
  std::map<std::string, DeviceTensor> device_tensors;
};

// A run whose inputs and outputs are fixed tensors: change the inputs' elements, run, read the
// outputs. From the second run on nothing is allocated.
class BoundRun {
 public:
  Tensor& input(const std::string& name);
  const Tensor& output(const std::string& name) const;
  void run();

 private:
  friend class Program;
  std::shared_ptr<const image::Image> image_;
  ExecutablePtr executable_;
  RunRequest request_;
};

// A compiled graph, ready to run many times. It owns all it needs; the graph may go.
class Program {
 public:
  TensorMap run(const TensorMap& inputs) const;
  RunResult run(const TensorMap& inputs, const RunOptions& options) const;
  // Starts a run and returns; `done` is called when the outputs are there. Natively that happens
  // inside wait(), which returns when no run is under way; a browser calls back by itself.
  void run_async(const TensorMap& inputs, std::function<void(Result<TensorMap>)> done) const;
  void wait() const { executable_->wait(); }
  BoundRun bind(const TensorMap& inputs) const;

  void set_weight(const std::string& name, const Tensor& tensor) {
    executable_->set_weight(name, tensor);
  }
  Tensor read_state(const std::string& name) const { return executable_->read_state(name); }
  void read_state_async(const std::string& name, Receive<Tensor> done) const {
    executable_->read_state_async(name, std::move(done));
  }
  void write_state(const std::string& name, const Tensor& tensor) {
    executable_->write_state(name, tensor);
  }
  void reset_state();  // all of it, to what it starts as

  std::vector<Description> inputs() const;
  std::vector<Description> outputs() const;
  std::vector<Description> weights() const;
  std::vector<Description> states() const;
  SymbolRanges symbols() const;  // those with bounds
  const Device& device() const { return device_; }
  Counters counters() const { return executable_->counters(); }
  const image::Image& image() const { return *image_; }
  // Where values would lie with these values of symbols, before anything is allocated.
  MemoryPlan memory_plan(const SymbolValues& symbols) const;

 private:
  friend void prepare_async(const Device& device, image::Image image,
                            image::Implementations implementations, int64_t memory_budget,
                            Receive<Program> done);
  RunRequest request_for(const TensorMap& inputs, const RunOptions& options) const;

  Device device_;
  std::shared_ptr<const image::Image> image_;
  ExecutablePtr executable_;
};

// The compiler runs at once; what the device must prepare is ready when `done` is called. Natively
// that happens while somebody waits for the device.
void compile_async(const Graph& graph, const CompileOptions& options, Receive<Program> done);
Program compile(const Graph& graph, const CompileOptions& options = {});  // waits

// The image that compile would prepare.
image::Image compile_image(const Graph& graph, const CompileOptions& options = {});
// An image made ready on a device; `ops` has what its calls name.
void prepare_async(const Device& device, image::Image image, const OpSet& ops,
                   int64_t memory_budget, Receive<Program> done);
Program prepare(const Device& device, image::Image image, const OpSet& ops,
                int64_t memory_budget = 0);  // waits

// The cells of an image with these symbols set, as far as they are known.
image::Cells cells_of(const image::Image& image, const SymbolValues& symbols);

}  // namespace rlx
