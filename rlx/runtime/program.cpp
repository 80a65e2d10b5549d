#include "rlx/runtime/program.h"

#include <algorithm>
#include <optional>

#include "rlx/backend/named_values.h"
#include "rlx/base/error.h"
#include "rlx/runtime/internals.h"

namespace rlx {

using namespace detail;
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

RunRequest request_for(const image::Image& image, const TensorMap& inputs,
                       const RunOptions& options) {
  RunRequest request;
  request.device_inputs.resize(image.inputs.size());
  for (size_t i = 0; i < image.inputs.size(); ++i) {
    const std::string& name = image.inputs[i].name;
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
  for (const auto& [name, tensor] : inputs) check_is_input(image, name);
  for (const auto& [name, tensor] : options.device_inputs) check_is_input(image, name);
  const bool all = options.outputs.empty() && options.keep_on_device.empty();
  request.wanted.assign(image.outputs.size(),
                        all ? RunRequest::Want::tensor : RunRequest::Want::nothing);
  for (const std::string& name : options.outputs)
    request.wanted[output_index(image, name)] = RunRequest::Want::tensor;
  for (const std::string& name : options.keep_on_device)
    request.wanted[output_index(image, name)] = RunRequest::Want::device;
  request.report = options.report;
  request.iteration_budget = options.iteration_budget;
  return request;
}

// A Program, or a run of one, that was not assigned yet or was moved from.
template <class State>
State& made(const Shared<State>& state) {
  if (!state)
    fail(ErrorKind::invalid_input, "run: there is no program: it was never made, or moved");
  return *state;
}

RunResult result_of(const image::Image& image, const RunRequest& request) {
  RunResult result;
  for (size_t i = 0; i < request.wanted.size(); ++i) {
    const std::string& name = image.outputs[i].name;
    if (request.wanted[i] == RunRequest::Want::tensor)
      result.tensors.emplace(name, request.outputs[i].sealed());
    if (request.wanted[i] == RunRequest::Want::device)
      result.device_tensors.emplace(name, request.device_outputs[i]);
  }
  return result;
}

}  // namespace

RunResult Program::run(const TensorMap& inputs, const RunOptions& options) const {
  const detail::ProgramState& state = made(state_);
  RunRequest request = request_for(*state.image, inputs, options);
  state.executable->run(request);
  return result_of(*state.image, request);
}

TensorMap Program::run(const TensorMap& inputs) const { return run(inputs, {}).tensors; }

void Program::run_async(const TensorMap& inputs, const RunOptions& options,
                        Receive<RunResult> done) const {
  std::shared_ptr<RunRequest> request;
  std::optional<Error> failure;
  try {
    request = std::make_shared<RunRequest>(request_for(*made(state_).image, inputs, options));
  } catch (...) {
    failure = current_error();
  }
  if (failure) return done(*failure);
  made(state_).executable->run_async(
      *request, [request, image = made(state_).image, done = std::move(done)](const Error* error) {
        if (error) return done(*error);
        done(result_of(*image, *request));
      });
}

void Program::run_async(const TensorMap& inputs, Receive<TensorMap> done) const {
  run_async(inputs, {}, [done = std::move(done)](Result<RunResult> result) {
    if (!result.ok()) return done(result.error());
    done(result.take().tensors);
  });
}

BoundRun Program::bind(const TensorMap& inputs) const {
  const detail::ProgramState& state = made(state_);
  detail::BoundState bound{state.image, state.executable, request_for(*state.image, inputs, {})};
  for (Tensor& tensor : bound.request.inputs) tensor = tensor.copy();  // its own, to be changed
  return BoundRun(std::make_shared<detail::BoundState>(std::move(bound)));
}

Tensor& BoundRun::input(const std::string& name) {
  for (size_t i = 0; i < made(state_).image->inputs.size(); ++i)
    if (made(state_).image->inputs[i].name == name) return made(state_).request.inputs[i];
  fail(ErrorKind::invalid_input, "run: there is no input '", name, "'");
}

const Tensor& BoundRun::output(const std::string& name) const {
  const size_t index = output_index(*made(state_).image, name);
  if (index >= made(state_).request.outputs.size())
    fail(ErrorKind::invalid_input, "run: output '", name, "' is read before a run");
  return made(state_).request.outputs[index];
}

void BoundRun::run() { made(state_).executable->run(made(state_).request); }

void Program::wait() const { made(state_).executable->wait(); }
void Program::set_weight(const std::string& name, const Tensor& tensor) {
  made(state_).executable->set_weight(name, tensor.sealed());
}
Tensor Program::read_state(const std::string& name) const {
  return made(state_).executable->read_state(name);
}
void Program::read_state_async(const std::string& name, Receive<Tensor> done) const {
  made(state_).executable->read_state_async(name, std::move(done));
}
void Program::write_state(const std::string& name, const Tensor& tensor) {
  made(state_).executable->write_state(name, tensor);
}
void Program::reset_state() {
  for (const image::State& each : made(state_).image->states)
    write_state(each.name, initial_state(*made(state_).image, each));
}

void Program::take_snapshot() { made(state_).executable->take_snapshot(); }
void Program::take_snapshot_async(Receive<bool> done) {
  made(state_).executable->take_snapshot_async([done = std::move(done)](const Error* error) {
    done(error ? Result<bool>(*error) : Result<bool>(true));
  });
}
void Program::restore_snapshot() { made(state_).executable->restore_snapshot(); }

Image Program::image() const { return Image(made(state_).image); }
const Device& Program::device() const { return made(state_).device; }
Counters Program::counters() const { return made(state_).executable->counters(); }
std::vector<Description> Program::inputs() const { return image().inputs(); }
std::vector<Description> Program::outputs() const { return image().outputs(); }
std::vector<Description> Program::weights() const { return image().weights(); }
std::vector<Description> Program::states() const { return image().states(); }
SymbolRanges Program::symbols() const { return image().symbols(); }

}  // namespace rlx
