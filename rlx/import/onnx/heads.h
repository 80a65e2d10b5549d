// What the attention operators of several domains have in common: heads, rotation, masks.
#pragma once

#include "rlx/import/onnx/site.h"
#include "rlx/ops/ops_core.h"

namespace rlx::onnx {

// An attribute that is a number of heads.
int64_t head_count(const NodeSite& site, const char* attribute);
// x [B, S, H * D] as [B, S, H, D].
Value part_heads(const NodeSite& site, Value x, int64_t heads);
// Back again.
Value join_heads(Value x);
// [B, H, S, D] as [B, S, H, D], and back; a view.
inline Value swap_heads(Value x) { return transpose(x, {0, 2, 1, 3}); }

// x [B, S, H, D] (bshd) or [B, H, S, D] turned by the rows of the tables at `positions`, [S] or
// [B, S]; without them the tables have a row for each position.
struct Rotation {
  Value cos, sin, positions = {};
  bool interleaved = false;
  std::string layout = "bshd";
};
Value rotate(Value x, const Rotation& rotation);

// RotaryEmbedding of either domain: x may have its heads side by side.
Value rotary_embedding(const NodeSite& site, Value x, Rotation rotation);

// Where `kept` is false, `score` is added.
Value as_bias(const NodeSite& site, Value kept, DType dtype, double score);

}  // namespace rlx::onnx
