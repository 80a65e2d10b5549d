// Inputs of a run that lie on another device: they come through the host, before the run.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "rlx/backend/backend.h"

namespace rlx::detail {

using Brought = std::vector<std::pair<size_t, Tensor>>;  // by input
using IsHere = std::function<bool(const DeviceTensor&)>;

// Reads under way.
class Bringing : public std::enable_shared_from_this<Bringing> {
 public:
  // Null where every input is here already.
  static std::shared_ptr<Bringing> of(const RunRequest& request, const IsHere& is_here);

  // Calls `done` once, from a callback or at once.
  void start(Receive<Brought> done);
  void wait();  // natively: lets the reads' callbacks arrive

 private:
  void arrive(size_t at, Result<Tensor> read);
  void end_one();

  std::vector<std::pair<size_t, DeviceTensor>> inputs_;
  std::mutex mutex_;
  Brought brought_;
  size_t missing_ = 0;
  std::optional<Error> error_;
  Receive<Brought> done_;
};

// The same, waited for.
Brought bring(const RunRequest& request, const IsHere& is_here);

}  // namespace rlx::detail
