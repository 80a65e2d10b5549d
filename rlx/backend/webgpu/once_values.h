// What a program computes once: how far it is valid, what other programs have of it already, and
// the room for the rest. The steps themselves are run by whoever asks. Under the program's lock.
#pragma once

#include <vector>

#include "rlx/backend/webgpu/connection.h"
#include "rlx/backend/webgpu/host_values.h"

namespace rlx::detail::webgpu {

class OnceValues {
 public:
  OnceValues(const image::Image& image, const ImageNeeds& needs, int64_t budget, HostValues& host,
             Connection& connection);

  // Are there any, with all their weights given, that are not of this device and these weights?
  bool are_due() const;
  // Takes what other programs have. True: that is all. Else the steps of `once` are to be run, but
  // for those skipped, and then finish() called; where that fails they stay due.
  bool begin();
  const std::vector<bool>& skipped() const { return skipped_; }  // by step of `once`
  image::Cells& cells() { return cells_; }
  // Keeps the results, for other programs as well, and frees what no run reads.
  void finish();

 private:
  bool find();
  void place();
  std::vector<bool> used_values() const;
  std::shared_ptr<StoredOnce> made(const OncePart& part);
  void adopt(const OncePart& part, const StoredOnce& stored);
  void check_size(image::ValueId value) const;

  const image::Image& image_;
  const ImageNeeds& needs_;
  const int64_t budget_;
  HostValues& host_;
  Connection& connection_;
  uint64_t valid_on_ = 0;            // the connection's number; 0: not valid
  std::vector<Tensor::Mark> marks_;  // of what they were computed from
  std::vector<bool> skipped_;
  image::Cells cells_;
  MemoryPlan plan_;
};

}  // namespace rlx::detail::webgpu
