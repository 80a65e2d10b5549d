// What each state of a program holds, and whether it may be read: never an old or half-written
// value without a word.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rlx/base/error.h"
#include "rlx/image/image.h"

namespace rlx::detail::webgpu {

class States {
 public:
  explicit States(const image::Image& image);

  enum class Holds {
    zeros,    // nobody has written it
    host,     // what the host wrote last, and has kept
    device,   // what a run wrote: only the device has it
    nothing,  // it was lost, or may be half written
  };
  Holds holds(size_t state) const { return states_[state].holds; }
  const Tensor& host_copy(size_t state) const { return states_[state].copy; }

  // `run`: the last one that had begun. What a snapshot has of the state is old from now on.
  void write(size_t state, Tensor copy, uint64_t run);

  // A copy for the case that the device is lost: the state then holds it again.
  void keep_snapshot(size_t state, Tensor copy) { states_[state].snapshot = std::move(copy); }
  void restore_snapshot(uint64_t run);  // of all states
  // The names of states that were restored since they were asked for last.
  std::vector<std::string> take_restored();
  // The device's buffer is older than what the host wrote.
  bool is_stale(size_t state) const { return states_[state].stale; }
  void uploaded(size_t state) { states_[state].stale = false; }

  // A run: which states its steps write, as they are recorded; then they are submitted; then it
  // ends. Before the first submit a failure has changed nothing.
  void begin_run();
  void touch(size_t state) { states_[state].touched = true; }
  void submitted();
  void end_run(const std::optional<Error>& failure);

  void fail_run(uint64_t run, const Error& error);  // it turned out later that it had failed
  void lose_device(const std::string& reason);

  // An Error that names the states that hold nothing; of all, or of one.
  void require_valid() const;
  void require_valid(size_t state) const;

 private:
  struct State {
    Holds holds = Holds::zeros;
    bool stale = false;
    bool touched = false, written = false;  // in this run
    uint64_t written_by_host = 0;           // the last run that began before
    Tensor copy;
    std::optional<Tensor> snapshot;
    bool restored = false;
    ErrorKind kind = ErrorKind::invalid_input;
    std::string why;
  };
  // Its snapshot where there is one, else nothing.
  static void lose(State& state, const std::string& why);
  static void invalidate(State& state, ErrorKind kind, const std::string& why);
  [[noreturn]] void refuse(const std::vector<size_t>& states) const;

  const image::Image& image_;
  std::vector<State> states_;
};

}  // namespace rlx::detail::webgpu
