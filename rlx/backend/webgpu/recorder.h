// Turns steps into commands for the queue, with params and workgroup counts from the cells of a
// run. Cheap enough for every run: nothing is kept from one to the next but bind groups.
#pragma once

#include <vector>

#include "rlx/backend/budget.h"
#include "rlx/backend/webgpu/resources.h"

namespace rlx::detail::webgpu {

// Takes what was recorded.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual void submit(std::span<const Command> commands, size_t dispatches) = 0;
};

class Recorder {
 public:
  Recorder(const image::Image& image, Queue& queue) : image_(image), queue_(queue) {}

  // What the following records refer to, from an empty list on. Dispatches of different lists of
  // steps must have different numbers: they start at `first_record`.
  void begin(Resources& resources, const PipelineList& pipelines, image::Cells& cells,
             size_t first_record, RunReport* report);
  // What may be taken from now on for values that no plan could size.
  void limit_late(int64_t bytes_left) { late_.begin(bytes_left); }

  void dispatch(const image::Dispatch& dispatch, size_t step, int32_t node);
  void copy(image::ValueId source, image::ValueId target);
  void copy_out(image::ValueId source, Buffer& target, uint64_t offset = 0);
  void clear(image::ValueId value);
  // Copies values to a staging buffer, and behind them the error flag where it may be raised.
  struct Readback {
    BufferPtr staging;
    std::vector<uint64_t> offsets;  // of each value, then of the flag
    uint64_t bytes = 0;
    bool has_flag = false;
  };
  const Readback& read_back(const std::vector<image::ValueId>& values);

  // Room for a value that the plan could not size.
  void make_room(image::ValueId value);
  int64_t bytes_now(image::ValueId value) const {
    return cells_->at(image_.values[size_t(value)].bytes);
  }
  int64_t capacity(image::ValueId value) const { return resources_->capacity(value, *cells_); }

  bool has_flagged() const { return flagged_; }  // may this run have raised the flag?
  // Since the start, those that were handed over because there were too many.
  size_t pieces() const { return pieces_; }
  void flush();   // hands over what is recorded
  void forget();  // drops it

 private:
  void limit_commands();
  const image::Choice& choose(const image::Dispatch& dispatch, size_t& index) const;
  void record(const image::Dispatch& dispatch, size_t step, int32_t node);
  void write_params(const image::Choice& choice, const image::Kernel& kernel, Command& command);
  BindGroup* bind(const image::Dispatch& dispatch, size_t step, size_t choice,
                  const image::Kernel& kernel);
  BufferRange range_of(const image::Bound& operand, const image::Kernel& kernel) const;
  void fold(int64_t workgroups, const image::Kernel& kernel, Command& command) const;
  void report_dispatch(const image::Dispatch& dispatch, const image::Kernel& kernel, int32_t node,
                       int64_t workgroups) const;

  const image::Image& image_;
  Queue& queue_;
  Resources* resources_ = nullptr;
  const PipelineList* pipelines_ = nullptr;
  image::Cells* cells_ = nullptr;
  RunReport* report_ = nullptr;
  size_t first_record_ = 0, pieces_ = 0, dispatches_ = 0;
  bool flagged_ = false;
  std::vector<Command> commands_;
  std::vector<BufferRange> ranges_;  // of the dispatch at hand
  Readback readback_;
  LateBudget late_;
};

}  // namespace rlx::detail::webgpu
