// Rotary embeddings.
#pragma once

#include <string>

#include "rlx/ir/value.h"

namespace rlx {

// x [.., S, D], or [.., S, H, D] if layout is bshd; cos and sin [S, n_rot / 2], or one table per
// batch: [B, S, n_rot / 2]. Pairs are (d, d + n_rot/2), or neighbours if interleaved.
Value rope(Value x, Value cos, Value sin, bool interleaved = false,
           const std::string& layout = "bhsd");
struct RopeTables {
  Value cos, sin;
};
// Tables for integer positions: the angle of pair i is position / theta^(2 i / n_rot).
RopeTables rope_tables(Value positions, int64_t n_rot, double theta = 10000);
struct RopeOptions {
  int64_t n_rot = -1;  // -1: all of D
  double theta = 10000;
  bool interleaved = false;
  std::string layout = "bhsd";
};
// x turned by the tables of its positions [S] or [B, S].
Value rope_at(Value x, Value positions, const RopeOptions& options = {});

}  // namespace rlx
