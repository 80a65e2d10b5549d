#include "rlx/backend/webgpu/run_outputs.h"

#include <algorithm>
#include <cstring>

#include "rlx/backend/webgpu/upload.h"
#include "rlx/image/storage.h"
#include "rlx/image/words.h"

namespace rlx::detail::webgpu {

using image::ValueId;
using Want = RunRequest::Want;

RunOutputs::RunOutputs(const image::Image& image, Connection& connection, RunLog& log,
                       Recorder& recorder, const Run& run, const OwnTickets& tickets,
                       Counters& counters)
    : image_(image),
      connection_(connection),
      log_(log),
      recorder_(recorder),
      run_(run),
      tickets_(tickets),
      counters_(counters) {}

const Recorder::Readback* RunOutputs::submit(RunRequest& request, const image::Cells& cells,
                                             const OutcomeList& of_inputs) {
  request_ = &request;
  cells_ = &cells;
  of_inputs_ = &of_inputs;
  readback_ = nullptr;
  read_.clear();
  read_values_.clear();
  const bool flagged = recorder_.has_flagged();
  std::shared_ptr<Outcome> outcome;
  if (flagged && !is_any_read()) outcome = log_.outcome(counters_.buffers);
  for (size_t i = 0; i < image_.outputs.size(); ++i) {
    const ValueId value = image_.outputs[i].value;
    if (request.wanted[i] == Want::device) keep(i, outcome);
    if (request.wanted[i] != Want::tensor || image_.values[size_t(value)].on_host) continue;
    read_.push_back(i);
    read_values_.push_back(value);
  }
  if (!read_values_.empty() || (flagged && !outcome)) {
    readback_ = &recorder_.read_back(read_values_);
    recorder_.flush();
  } else {
    submit_alone(outcome);
  }
  return readback_;
}

bool RunOutputs::is_any_read() const {
  const std::vector<Want>& wanted = request_->wanted;
  return std::find(wanted.begin(), wanted.end(), Want::tensor) != wanted.end();
}

// Nothing is read but, later, the flag where there is one.
void RunOutputs::submit_alone(const std::shared_ptr<Outcome>& outcome) {
  if (outcome) recorder_.copy_out(image_.flag, outcome->staging(*connection_.gpu()));
  recorder_.flush();
  if (outcome) log_.expect(*outcome, connection_.gpu(), tickets_);
}

Shape RunOutputs::shape_of(const image::Output& output) const {
  const std::vector<int64_t> extents = cells_->at(output.shape);
  return {extents.begin(), extents.end()};
}

void RunOutputs::keep(size_t index, const std::shared_ptr<Outcome>& outcome) {
  const image::Output& output = image_.outputs[index];
  const auto bytes = whole_words(recorder_.capacity(output.value));
  const std::shared_ptr<GpuMemory> memory =
      connection_.resources().keep(output.value, bytes, output.name);
  OutcomeList outcomes = *of_inputs_;
  if (outcome) outcomes.push_back(outcome);
  memory->set_outcomes(std::move(outcomes));
  if (image_.values[size_t(output.value)].on_host) {
    std::vector<std::byte> scratch;
    upload(*connection_.gpu(), *memory->buffer(), 0, *run_.on_host(output.value), output.name,
           scratch, counters_);
  } else {
    recorder_.copy_out(output.value, *memory->buffer());
  }
  memory->set_in_words(image::is_in_words(image_, output));
  request_->device_outputs[index] = {output.type.dtype, shape_of(output), memory};
}

// The tensor of an output, used again where it has the shape already.
Tensor& RunOutputs::tensor_of(size_t index) {
  const image::Output& output = image_.outputs[index];
  Tensor& tensor = request_->outputs[index];
  bool same = tensor.dtype() == output.type.dtype && tensor.shape().size() == output.shape.size();
  for (size_t d = 0; same && d < output.shape.size(); ++d)
    same = tensor.shape()[d] == cells_->at(output.shape[d]);
  if (same) return tensor;
  return tensor = Tensor(output.type.dtype, shape_of(output));
}

void RunOutputs::take(std::span<const std::byte> bytes) {
  if (readback_->has_flag)
    if (const auto error = error_in(bytes.subspan(readback_->offsets.back()), image_)) throw *error;
  for (size_t i = 0; i < read_.size(); ++i) {
    const std::span<const std::byte> read = bytes.subspan(readback_->offsets[i]);
    Tensor& tensor = tensor_of(read_[i]);
    if (image::is_in_words(image_, image_.outputs[read_[i]]))
      image::take_words(read, tensor);
    else
      from_device(read, tensor);
  }
}

void RunOutputs::take_from_host() {
  for (size_t i = 0; i < image_.outputs.size(); ++i) {
    const ValueId value = image_.outputs[i].value;
    if (request_->wanted[i] != Want::tensor || !image_.values[size_t(value)].on_host) continue;
    const Tensor& made = *run_.on_host(value);
    Tensor& tensor = tensor_of(i);
    if (tensor.count() > 0)
      std::memcpy(tensor.mutable_bytes().data(), made.bytes().data(), tensor.bytes().size());
  }
}

}  // namespace rlx::detail::webgpu
