// Walks through the steps of an image on the CPU. What is the same in every run is found once, and
// again only where a binding, a weight, a state or an input has moved.
#pragma once

#include <set>
#include <vector>

#include "rlx/backend/budget.h"
#include "rlx/backend/cpu/cpu_memory.h"
#include "rlx/backend/cpu/engine.h"
#include "rlx/backend/prepared_call.h"
#include "rlx/base/clock.h"
#include "rlx/base/report.h"
#include "rlx/vector/copy.h"

namespace rlx::detail {

class CpuSteps {
 public:
  CpuSteps(const image::Steps& steps, const image::Image& image,
           const image::Implementations& implementations, CpuMemory& memory, CpuEnginePtr engine,
           Counters& counters);

  // The same numbers mean that the operands of a step are where it found them last.
  struct Epochs {
    uint64_t places = 1;  // of bindings, weights and states
    uint32_t inputs = 0;  // of the inputs' tensors
  };
  // `skipped`, by step: its results are there already. `report` may be absent.
  void run(image::Cells& cells, const Epochs& epochs, RunReport* report, int64_t iteration_budget,
           const std::vector<bool>* skipped = nullptr);

  // What calls that every run comes to will hold, as far as the cells tell their extents. `packs`
  // makes what they hold of weights.
  void hold(const image::Cells& cells, image::Holdings& holdings, bool packs);

  // States that the last run began to write.
  const std::vector<image::ValueId>& written() const { return written_; }

 private:
  struct Ready {
    PreparedCall call;                   // of a call
    bool reads_inputs = false;           // its operands change with every run
    bool is_told = false;                // its sizes change within a run
    uint64_t placed = 0;                 // for which epochs its operands were found
    std::vector<image::ValueId> states;  // that it writes
    vector::Copy copy;                   // of a copy of views, with where it begins in bytes
    int64_t copy_from = 0, copy_to = 0;
  };
  Ready make_ready(const image::Step& step, const std::set<image::Number>& told,
                   const image::Implementations& implementations) const;
  void run_step(const image::Step& step, Ready& ready, image::Cells& cells);
  void run_call(const image::Step& step, Ready& ready, image::Cells& cells);
  bool run_copy(const image::Copy& copy, Ready& ready, const image::Cells& cells);
  void make_strided(const image::Copy& copy, const image::Cells& cells, Ready& ready) const;
  void keep(image::ValueId value, const image::CallSite& site, size_t r, const image::Cells& cells);
  Tensor readable(image::ValueId value);
  uint64_t epochs_of(const Ready& ready) const;
  bool must_place(const Ready& ready) const;
  void note_placed(Ready& ready) const;
  Tensor& placed(image::ValueId value, Ready& ready, const image::Cells& cells);
  void note_step(const image::Step& step, std::string what, const std::string& reason,
                 Clock::time_point start, const std::string& implementation);

  const image::Steps& steps_;
  const image::Image& image_;
  CpuMemory& memory_;
  const CpuEnginePtr engine_;
  Counters& counters_;
  std::vector<Ready> ready_;  // by step
  std::vector<image::ValueId> written_;
  // Of the run under way.
  Epochs epochs_;
  IterationBudget iterations_;
  RunReport* report_ = nullptr;
};

}  // namespace rlx::detail
