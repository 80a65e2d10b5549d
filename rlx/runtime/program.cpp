#include "rlx/runtime/program.h"

#include <algorithm>
#include <optional>

#include "rlx/backend/binding.h"
#include "rlx/backend/cpu/fast_ops.h"
#include "rlx/compile/build_image.h"
#include "rlx/image/verify.h"
#include "rlx/lower/references.h"
#include "rlx/passes/passes.h"

namespace rlx {
namespace {

size_t output_index(const image::Image& image, const std::string& name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < image.outputs.size(); ++i) {
    if (image.outputs[i].name == name) return i;
    names.push_back(image.outputs[i].name);
  }
  fail(ErrorKind::invalid_input, "run: there is no output '", name, "'; there is ", joined(names));
}

std::string input_names(const image::Image& image) {
  std::vector<std::string> names;
  for (const image::Input& input : image.inputs) names.push_back(input.name);
  return names.empty() ? "none" : joined(names);
}

void check_is_input(const image::Image& image, const std::string& name) {
  const bool known = std::any_of(image.inputs.begin(), image.inputs.end(),
                                 [&](const image::Input& input) { return input.name == name; });
  if (!known)
    fail(ErrorKind::invalid_input, "run: there is no input '", name, "'; there is ",
         input_names(image));
}

// What the CPU does fast, before the references.
image::Implementations implementations_of(const OpSet& ops) {
  image::Implementations table = fast_implementations();
  for (auto& [op, list] : references(ops))
    table[op].insert(table[op].end(), list.begin(), list.end());
  return table;
}

}  // namespace

void prepare_async(const Device& device, image::Image image, image::Implementations implementations,
                   int64_t memory_budget, Receive<Program> done) {
  try {
    image::check_device(image, device.traits());
  } catch (const Error& error) {
    return done(error);
  }
  Program program;
  program.device_ = device;
  program.image_ = std::make_shared<const image::Image>(std::move(image));
  PrepareOptions options{program.image_,
                         std::make_shared<const image::Implementations>(std::move(implementations)),
                         memory_budget};
  device.backend()->prepare_async(
      std::move(options),
      [program = std::move(program), done = std::move(done)](Result<ExecutablePtr> made) mutable {
        if (!made.ok()) return done(made.error());
        program.executable_ = made.take();
        done(std::move(program));
      });
}

void prepare_async(const Device& device, image::Image image, const OpSet& ops,
                   int64_t memory_budget, Receive<Program> done) {
  prepare_async(device, std::move(image), implementations_of(ops), memory_budget, std::move(done));
}

Program prepare(const Device& device, image::Image image, const OpSet& ops, int64_t memory_budget) {
  return wait_for<Program>(*device.backend(), [&](Receive<Program> done) {
    prepare_async(device, std::move(image), ops, memory_budget, std::move(done));
  });
}

namespace {

Graph optimised(const Graph& graph, const CompileOptions& options) {
  verify(graph);
  return options.optimise ? run_passes(graph, {.disabled = options.disabled_passes})
                          : graph.clone();
}
image::Image image_of(const Graph& graph, const CompileOptions& options) {
  return build_image(graph, options.device.traits(), {{options.choices}, options.strict});
}

}  // namespace

image::Image compile_image(const Graph& graph, const CompileOptions& options) {
  return image_of(optimised(graph, options), options);
}

void compile_async(const Graph& graph, const CompileOptions& options, Receive<Program> done) {
  std::optional<Error> failure;
  image::Image image;
  image::Implementations implementations;
  try {
    const Graph better = optimised(graph, options);  // of ops that `graph` may not have
    image = image_of(better, options);
    implementations = implementations_of(ops_of(better));
  } catch (const Error& error) {
    failure = error;
  }
  if (failure) return done(*failure);
  prepare_async(options.device, std::move(image), std::move(implementations), options.memory_budget,
                std::move(done));
}

Program compile(const Graph& graph, const CompileOptions& options) {
  return wait_for<Program>(*options.device.backend(), [&](Receive<Program> done) {
    compile_async(graph, options, std::move(done));
  });
}

RunRequest Program::request_for(const TensorMap& inputs, const RunOptions& options) const {
  RunRequest request;
  request.device_inputs.resize(image_->inputs.size());
  for (size_t i = 0; i < image_->inputs.size(); ++i) {
    const std::string& name = image_->inputs[i].name;
    const auto on_device = options.device_inputs.find(name);
    const auto found = inputs.find(name);
    if (on_device != options.device_inputs.end()) {
      request.device_inputs[i] = on_device->second;
      request.inputs.emplace_back();
    } else if (found != inputs.end()) {
      request.inputs.push_back(found->second);
    } else {
      fail(ErrorKind::invalid_input, "run: input '", name, "' is missing");
    }
  }
  for (const auto& [name, tensor] : inputs) check_is_input(*image_, name);
  for (const auto& [name, tensor] : options.device_inputs) check_is_input(*image_, name);
  const bool all = options.outputs.empty() && options.keep_on_device.empty();
  request.wanted.assign(image_->outputs.size(),
                        all ? RunRequest::Want::tensor : RunRequest::Want::nothing);
  for (const std::string& name : options.outputs)
    request.wanted[output_index(*image_, name)] = RunRequest::Want::tensor;
  for (const std::string& name : options.keep_on_device)
    request.wanted[output_index(*image_, name)] = RunRequest::Want::device;
  request.report = options.report;
  return request;
}

RunResult Program::run(const TensorMap& inputs, const RunOptions& options) const {
  RunRequest request = request_for(inputs, options);
  executable_->run(request);
  RunResult result;
  for (size_t i = 0; i < request.wanted.size(); ++i) {
    const std::string& name = image_->outputs[i].name;
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
  executable_->run_async(*request,
                         [request, image = image_, done = std::move(done)](const Error* error) {
                           if (error) return done(*error);
                           TensorMap outputs;
                           for (size_t i = 0; i < request->outputs.size(); ++i)
                             outputs.emplace(image->outputs[i].name, request->outputs[i]);
                           done(std::move(outputs));
                         });
}

BoundRun Program::bind(const TensorMap& inputs) const {
  BoundRun bound;
  bound.image_ = image_;
  bound.executable_ = executable_;
  bound.request_ = request_for(inputs, {});
  for (Tensor& tensor : bound.request_.inputs) tensor = tensor.copy();  // its own, to be changed
  return bound;
}

Tensor& BoundRun::input(const std::string& name) {
  for (size_t i = 0; i < image_->inputs.size(); ++i)
    if (image_->inputs[i].name == name) return request_.inputs[i];
  fail(ErrorKind::invalid_input, "run: there is no input '", name, "'");
}

const Tensor& BoundRun::output(const std::string& name) const {
  const size_t index = output_index(*image_, name);
  if (index >= request_.outputs.size())
    fail(ErrorKind::invalid_input, "run: output '", name, "' is read before a run");
  return request_.outputs[index];
}

void BoundRun::run() { executable_->run(request_); }

void Program::reset_state() {
  for (const image::State& state : image_->states)
    write_state(state.name, initial_state(*image_, state));
}

namespace {

template <class Named>
std::vector<Description> describe(const std::vector<Named>& list) {
  std::vector<Description> descriptions;
  for (const Named& each : list) descriptions.push_back({each.name, each.type});
  return descriptions;
}

}  // namespace

std::vector<Description> Program::inputs() const { return describe(image_->inputs); }
std::vector<Description> Program::outputs() const { return describe(image_->outputs); }
std::vector<Description> Program::weights() const { return describe(image_->weights); }
std::vector<Description> Program::states() const { return describe(image_->states); }

SymbolRanges Program::symbols() const {
  SymbolRanges ranges;
  for (const image::Symbol& symbol : image_->numbers.symbols)
    if (symbol.bounded) ranges.emplace(symbol.name, symbol.range);
  return ranges;
}

MemoryPlan Program::memory_plan(const SymbolValues& symbols) const {
  return plan_memory(*image_, cells_of(*image_, symbols));
}

image::Cells cells_of(const image::Image& image, const SymbolValues& symbols) {
  image::Cells cells(image.numbers);
  for (const image::Symbol& symbol : image.numbers.symbols)
    if (const auto value = symbols.find(symbol.name); value != symbols.end())
      cells.set(symbol.number, value->second);
  return cells;
}

}  // namespace rlx
