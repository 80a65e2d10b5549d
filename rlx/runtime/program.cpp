#include "rlx/runtime/program.h"

#include <algorithm>

#include "rlx/codegen/lower_graph.h"
#include "rlx/passes/passes.h"

namespace rlx {
namespace {

size_t output_index(const Lowered& lowered, const std::string& name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < lowered.outputs.size(); ++i) {
    if (lowered.outputs[i].name == name) return i;
    names.push_back(lowered.outputs[i].name);
  }
  fail(ErrorKind::invalid_input, "run: there is no output '", name, "'; there is ", joined(names));
}

}  // namespace

Program compile(const Graph& graph, const CompileOptions& options) {
  verify(graph);
  Graph optimised = options.optimise ? run_passes(graph) : graph.clone();
  LowerOptions lower_options{{options.choices}, options.strict};
  const DeviceTraits& traits = options.device.traits();
  Lowered lowered = lower_graph(optimised, traits, lower_options);
  Program program;
  program.device_ = options.device;
  const auto compiled = std::make_shared<Compiled>(std::move(optimised), std::move(lowered));
  compiled->memory_budget = options.memory_budget;
  program.compiled_ = compiled;
  program.executable_ = options.device.backend()->prepare(program.compiled_);
  return program;
}

RunRequest Program::request_for(const TensorMap& inputs, const RunOptions& options) const {
  RunRequest request;
  std::vector<std::string> names;
  for (const Node& node : compiled_->graph.nodes()) {
    if (!is_input(node)) continue;
    names.push_back(node.name);
    const auto on_device = options.device_inputs.find(node.name);
    const auto found = inputs.find(node.name);
    if (on_device != options.device_inputs.end()) {
      request.device_inputs.resize(names.size());
      request.device_inputs.back() = on_device->second;
      request.inputs.emplace_back();
    } else if (found != inputs.end()) {
      request.inputs.push_back(found->second);
    } else {
      fail(ErrorKind::invalid_input, "run: input '", node.name, "' is missing");
    }
  }
  request.device_inputs.resize(names.size());
  for (const auto& [name, tensor] : inputs)
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail(ErrorKind::invalid_input, "run: there is no input '", name, "'; there is ",
           names.empty() ? "none" : joined(names));
  const bool all = options.outputs.empty() && options.keep_on_device.empty();
  request.wanted.assign(compiled_->lowered.outputs.size(),
                        all ? RunRequest::Want::tensor : RunRequest::Want::nothing);
  for (const std::string& name : options.outputs)
    request.wanted[output_index(compiled_->lowered, name)] = RunRequest::Want::tensor;
  for (const std::string& name : options.keep_on_device)
    request.wanted[output_index(compiled_->lowered, name)] = RunRequest::Want::device;
  request.report = options.report;
  return request;
}

RunResult Program::run(const TensorMap& inputs, const RunOptions& options) const {
  RunRequest request = request_for(inputs, options);
  executable_->run(request);
  RunResult result;
  for (size_t i = 0; i < request.wanted.size(); ++i) {
    const std::string& name = compiled_->lowered.outputs[i].name;
    if (request.wanted[i] == RunRequest::Want::tensor)
      result.tensors.emplace(name, request.outputs[i]);
    if (request.wanted[i] == RunRequest::Want::device)
      result.device_tensors.emplace(name, request.device_outputs[i]);
  }
  return result;
}

TensorMap Program::run(const TensorMap& inputs) const { return run(inputs, {}).tensors; }

void Program::run_async(const TensorMap& inputs,
                        std::function<void(Result<TensorMap>)> done) const {
  const auto request = std::make_shared<RunRequest>(request_for(inputs, {}));
  executable_->run_async(
      *request, [request, compiled = compiled_, done = std::move(done)](const Error* error) {
        if (error) return done(*error);
        TensorMap outputs;
        for (size_t i = 0; i < request->outputs.size(); ++i)
          outputs.emplace(compiled->lowered.outputs[i].name, request->outputs[i]);
        done(std::move(outputs));
      });
}

BoundRun Program::bind(const TensorMap& inputs) const {
  BoundRun bound;
  bound.compiled_ = compiled_;
  bound.executable_ = executable_;
  bound.request_ = request_for(inputs, {});
  for (Tensor& tensor : bound.request_.inputs) tensor = tensor.copy();  // its own, to be changed
  return bound;
}

Tensor& BoundRun::input(const std::string& name) {
  size_t next = 0;
  for (const Node& node : compiled_->graph.nodes()) {
    if (!is_input(node)) continue;
    if (node.name == name) return request_.inputs[next];
    ++next;
  }
  fail(ErrorKind::invalid_input, "run: there is no input '", name, "'");
}

const Tensor& BoundRun::output(const std::string& name) const {
  const size_t index = output_index(compiled_->lowered, name);
  if (index >= request_.outputs.size())
    fail(ErrorKind::invalid_input, "run: output '", name, "' is read before a run");
  return request_.outputs[index];
}

void BoundRun::run() { executable_->run(request_); }

void Program::reset_state() {
  for (const Description& state : states())
    write_state(state.name, Tensor(state.type.dtype, concrete(state.type.shape)));
}

std::vector<Description> Program::describe(bool (*kind)(const Node&)) const {
  std::vector<Description> list;
  for (const Node& node : compiled_->graph.nodes())
    if (kind(node)) list.push_back({node.name, node.types[0]});
  return list;
}
std::vector<Description> Program::inputs() const { return describe(is_input); }
std::vector<Description> Program::weights() const { return describe(is_weight); }
std::vector<Description> Program::states() const { return describe(is_state); }
std::vector<Description> Program::outputs() const {
  std::vector<Description> list;
  for (const Lowered::Output& output : compiled_->lowered.outputs)
    list.push_back({output.name, output.type});
  return list;
}

MemoryPlan Program::memory_plan(const SymbolValues& symbols) const {
  return plan_memory(compiled_->lowered, device_.traits(), plan_ranges(*compiled_, symbols));
}

}  // namespace rlx
