// What a run is bound to: cells from the inputs, and the memory plan that follows from them.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "rlx/backend/backend.h"
#include "rlx/backend/prepared_call.h"
#include "rlx/plan/memory_plan.h"

namespace rlx::detail {

// Checks the inputs and binds; skips the work when nothing that matters has changed since.
class RunBinding {
 public:
  RunBinding(const image::Image& image, const image::Implementations& implementations);

  // True when the binding is a new one. An Error names the input that does not fit; the next update
  // then binds anew.
  bool update(const RunRequest& request);
  image::Cells& cells() { return cells_; }
  const image::Cells& cells() const { return cells_; }

 private:
  struct Seen {
    DType dtype = DType::f32;
    Shape shape;
    Tensor::Mark elements;  // of those that decide shapes
  };
  bool has_changed(const RunRequest& request);
  void bind_input(size_t i, const RunRequest& request);
  void check_input(size_t i, const RunRequest& request) const;
  void run_bind_steps(const RunRequest& request);

  const image::Image& image_;
  image::Cells cells_, by_inputs_;  // as the run knows them; as the inputs alone told them
  bool steps_tell_;
  std::vector<Seen> seen_;
  std::vector<bool> decides_;  // by input: its elements decide shapes or control flow
  bool valid_ = false;
  std::vector<std::vector<bool>> is_symbol_;  // by input and axis: the extent is a symbol's value
  std::vector<int> input_of_;                 // by value; -1: none
  std::vector<PreparedCall> calls_;           // by bind step
  std::vector<Tensor> host_values_;           // by value, of the bind steps
};

// The plans made so far, one for each set of values of the cells without bounds that a size depends
// on; the least recently used goes first. One that cannot be made is an Error, and is tried again.
class Plans {
 public:
  explicit Plans(size_t most = 16) : most_(most) {}
  std::shared_ptr<const MemoryPlan> plan(const image::Image& image, const image::Cells& cells,
                                         Counters& counters);
  CacheReport report() const {
    return {"plans", static_cast<int64_t>(plans_.size()), static_cast<int64_t>(most_), dropped_};
  }

 private:
  struct Entry {
    std::vector<int64_t> key;
    std::shared_ptr<const MemoryPlan> plan;
  };
  size_t most_;
  std::list<Entry> plans_;  // most recently used first
  int64_t dropped_ = 0;
  std::vector<int64_t> key_;
};

// An Error when a plan takes more than the budget, with the numbers. What is left of it, for values
// whose extents the run tells on its way.
int64_t check_budget(const image::Image& image, const MemoryPlan& plan, int64_t budget);

// What those take that no plan could size: an Error where a run takes more than is left.
class LateBudget {
 public:
  void begin(int64_t left) {
    left_ = left;
    held_.clear();
  }
  void spend(image::ValueId value, int64_t bytes, const image::Image& image);

 private:
  int64_t left_ = INT64_MAX;
  std::map<image::ValueId, int64_t> held_;  // by value, in bytes
};

// How often the loops of a run have gone round: an Error beyond the budget; 0: there is none.
class IterationBudget {
 public:
  void begin(int64_t budget) {
    budget_ = budget;
    made_ = 0;
  }
  void spend(const image::Step& jump, const image::Image& image);

 private:
  int64_t budget_ = 0, made_ = 0;
};

// What a plan takes, for the report of a run.
void report_plan(const image::Image& image, const MemoryPlan& plan, RunReport& report);

// Steps that tell cells, the same on every engine.
void bind_step(const image::Bind& bind, const image::Image& image, image::Cells& cells);
void take_fetched(const image::Fetch& fetch, const Tensor& tensor, const image::Image& image,
                  image::Cells& cells);

// The value of a name, or an Error that says there is none.
const image::Weight& weight_of(const image::Image& image, const std::string& name);
const image::State& state_of(const image::Image& image, const std::string& name);
// What a state starts as, in memory of its own.
Tensor initial_state(const image::Image& image, const image::State& state);
void check_type(const char* kind, const std::string& name, const TensorType& type,
                const Tensor& tensor);

}  // namespace rlx::detail
