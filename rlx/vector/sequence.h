// Scans of state-space and linear-attention layers, a block of channels or columns at a time.
#pragma once

#include <cstdint>

#include "rlx/vector/isa.h"

namespace rlx::vector {

// Steps of selective_scan for up to `lanes` neighbouring channels. Rows of x, delta, y, dy, dx and
// d_delta are `row` elements apart, those of b, c, db and dc `state_row`. States and `a` lie as
// [states, lanes].
struct ScanSteps {
  int64_t steps, channels, states, row, state_row;
  const float *x, *delta, *a, *b, *c;
  float* state;
};
struct ScanGradient {
  ScanSteps of;  // its state is the one before the steps, and stays
  const float* dy;
  float *dx, *d_delta, *db, *dc, *da;  // db and dc are added to
  float* d_state;                      // behind the steps, and then before them
};

// One step of a head of gated_delta_net for some columns of its state [keys, row]: what the step
// before adds, state = decay * state + k_before * adds, and its products with this step's k and q.
struct DeltaStep {
  int64_t keys, columns, row;
  float decay;
  const float *k_before, *adds;  // [keys], [columns]
  const float *k, *q;            // [keys]
  float* state;
  float *by_key, *by_query;  // [columns]
};

struct Sequence {
  int64_t lanes;
  int64_t most_gradient_steps;
  void (*scan)(const ScanSteps& steps, float* y);
  void (*scan_gradient)(const ScanGradient& steps);
  void (*delta)(const DeltaStep& step);
  // to = by * from, and to = start + by * from; `to` may be one of them.
  void (*scale)(float by, const float* from, int64_t count, float* to);
  void (*add)(const float* start, float by, const float* from, int64_t count, float* to);
};
Sequence sequence(Isa isa);

}  // namespace rlx::vector
