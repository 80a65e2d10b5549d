// What selective_scan and its gradient share: the operands' extents, and the passes over chunks.
#pragma once

#include "rlx/lower/site.h"

namespace rlx {

enum SelectiveScanOperand : size_t { kScanX, kScanDelta, kScanA, kScanB, kScanC, kScanState };
// The gradient has dy before what may be absent.
enum ScanGradientOperand : size_t { kScanDy = 5, kScanGradientState, kScanDNext };

struct ScanForm {
  // Steps that one lane takes with what it knows of them in registers.
  static constexpr int64_t kChunk = 32;
  Dim batches, steps, channels, states, groups;

  ScanForm(const Dims& x, const Dims& a, const Dims& b)
      : batches(x[0]),
        steps(x[1]),
        channels(x[2]),
        states(a[1]),
        groups(b.size() == 4 ? b[2] : Dim(1)) {}
  Dim chunks() const { return ceil_div(steps, kChunk); }
  Dim carried() const { return batches * chunks() * states * channels; }
  Dims state() const { return {batches, channels, states}; }
  std::vector<Param> params() const;
};

// The same of tensors.
struct ConcreteScan {
  int64_t batches, steps, channels, states, groups;

  ConcreteScan(const Tensor& x, const Tensor& a, const Tensor& b)
      : batches(x.shape()[0]),
        steps(x.shape()[1]),
        channels(x.shape()[2]),
        states(a.shape()[1]),
        groups(b.shape().size() == 4 ? b.shape()[2] : 1) {}
  int64_t x(int64_t batch, int64_t step, int64_t channel) const {
    return (batch * steps + step) * channels + channel;
  }
  int64_t b(int64_t batch, int64_t step, int64_t channel, int64_t n) const {
    const int64_t group = channel / (channels / groups);
    return ((batch * steps + step) * groups + group) * states + n;
  }
};

// Requires that x, delta, a, b, c and the state fit each other; the dtype of states.
DType check_scan(const InferSite& site, size_t state_operand);

// Two steps: what each chunk comes to by itself, in part `part` of `ends`, and that replaced by
// what lies before the chunk: behind it where `backwards`. Part 1 is how much of a state is left
// after a chunk. What all chunks come to, from `first` on, is stored to `last`.
Steps scan_chunks(const LowerSite& site, const ScanForm& form, const Operand& ends, int64_t part,
                  bool backwards, std::optional<Operand> first, const Operand& last);

const OpDef& selective_scan_gradient_op();

}  // namespace rlx
