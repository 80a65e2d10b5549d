// What a run is bound to: cells from its inputs, and from steps that tell them.
#pragma once

#include <vector>

#include "rlx/backend/backend.h"
#include "rlx/backend/prepared_call.h"

namespace rlx::detail {

// Checks the inputs and binds; skips the work when nothing that matters has changed since.
class RunBinding {
 public:
  RunBinding(const image::Image& image, const image::Implementations& implementations);

  // True when the binding is a new one. An Error names the input that does not fit; the next update
  // then binds anew.
  bool update(const RunRequest& request);
  // What was told when steps ran once, for all runs from now on.
  void take_once(const image::Cells& cells);
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
  std::vector<image::Numbers::Known> told_once_;
  std::vector<Seen> seen_;
  std::vector<bool> decides_;  // by input: its elements decide shapes or control flow
  bool valid_ = false;
  std::vector<std::vector<bool>> is_symbol_;  // by input and axis: the extent is a symbol's value
  std::vector<int> input_of_;                 // by value; -1: none
  std::vector<PreparedCall> calls_;           // by bind step
  std::vector<Tensor> host_values_;           // by value, of the bind steps
};

// The cells that steps tell themselves, not what follows from them.
std::vector<image::Number> cells_told_by(const image::Steps& steps);

// Steps that tell cells, the same on every engine.
void bind_step(const image::Bind& bind, const image::Image& image, image::Cells& cells);
void take_fetched(const image::Fetch& fetch, const Tensor& tensor, const image::Image& image,
                  image::Cells& cells);

}  // namespace rlx::detail
