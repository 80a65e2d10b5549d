// One walk over the steps of an image: records what the device does, computes what the host does,
// and stops where something has to come back first. It waits for nothing itself.
#pragma once

#include <vector>

#include "rlx/backend/binding.h"
#include "rlx/backend/budget.h"
#include "rlx/backend/webgpu/host_values.h"
#include "rlx/backend/webgpu/recorder.h"
#include "rlx/backend/webgpu/states.h"

namespace rlx::detail::webgpu {

class Run {
 public:
  Run(const image::Image& image, const image::Implementations& implementations,
      const ImageNeeds& needs, Recorder& recorder, States& states, HostValues& host,
      Counters& counters);

  struct Context {
    bool once = false;                           // the steps that run once, else those of a run
    const std::vector<bool>* skipped = nullptr;  // steps to leave out
    Resources* resources = nullptr;
    image::Cells* cells = nullptr;
    const std::vector<const Tensor*>* inputs = nullptr;  // by value; null: on the device
    RunReport* report = nullptr;
    int64_t iteration_budget = 0;
  };
  void begin(const Context& context);

  enum class Progress {
    done,
    reading,   // readback() has to arrive: take() it, then advance
    draining,  // the queue has enough to do: finish it, then advance
  };
  Progress advance();
  const Recorder::Readback& readback() const { return *readback_; }
  void take(std::span<const std::byte> bytes);

  // What the host knows of a value without asking the device; null: nothing.
  const Tensor* on_host(image::ValueId value) const;
  Shape shape_of(image::ValueId value) const;

 private:
  struct Prepared {
    std::vector<PreparedCall> once, run;  // by step; empty ones for steps that are no calls
  };
  const image::Steps& steps() const { return context_.once ? image_.once : image_.run; }
  bool step(const image::Step& step);  // false: it waits for readback()
  void look_ahead(const image::Steps& list) const;
  bool start_fetch(const image::Fetch& fetch);
  bool start_call(const image::Call& call);
  void finish_fetch(const image::Fetch& fetch, const Tensor& tensor);
  void finish_call(const image::Call& call, int32_t node);
  void copy(const image::Copy& copy);
  void copy_on_host(const image::Copy& copy);
  void clear(image::ValueId value);
  void write(const image::Write& write);
  void await(const std::vector<image::ValueId>& values);
  void touch_states();

  const image::Image& image_;
  const ImageNeeds& needs_;
  Recorder& recorder_;
  States& states_;
  HostValues& host_;
  Counters& counters_;
  Prepared calls_;
  Context context_;
  size_t pc_ = 0, pieces_ = 0;
  IterationBudget iterations_;
  bool resuming_ = false;  // the step at pc_ has what it waited for
  std::vector<image::ValueId> awaited_;
  std::vector<Tensor> read_;  // of those
  const Recorder::Readback* readback_ = nullptr;
};

}  // namespace rlx::detail::webgpu
