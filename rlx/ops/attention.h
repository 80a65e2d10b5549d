// What attention and its gradient share: where heads, positions and elements lie.
#pragma once

#include "rlx/ir/op_def.h"
#include "rlx/tensor/attrs.h"

namespace rlx {

// One operand's extents.
struct AttentionHeads {
  Dim batches, heads, length, size;
};

enum class Arrangement { heads_first, heads_inside, heads_packed };

struct AttentionForm {
  Arrangement arrangement;
  AttentionHeads q, k, v;

  AttentionForm(const Dims& q_shape, const Dims& k_shape, const Dims& v_shape, const Attrs& attrs);
  Dims scores() const { return {q.batches, q.heads, q.length, k.length}; }
  Dims result() const {
    if (arrangement == Arrangement::heads_packed) return {q.batches, q.length, q.heads * v.size};
    if (arrangement == Arrangement::heads_inside) return {q.batches, q.length, q.heads, v.size};
    return {q.batches, q.heads, q.length, v.size};
  }
  // Strides by batch, head, position and element.
  Dims strides(const Layout& layout, const Dim& size) const {
    const Dims& s = layout.strides;
    if (arrangement == Arrangement::heads_packed) return {s[0], size * s[2], s[1], s[2]};
    if (arrangement == Arrangement::heads_inside) return {s[0], s[2], s[1], s[3]};
    return s;
  }
};

// A window has an end too: it looks back from the query's own position.
inline bool is_causal(const Attrs& attrs) {
  return attrs.get<bool>("causal") || attrs.get<int64_t>("window") >= 0;
}

Gradients attention_gradient(const GradientSite& site);

}  // namespace rlx
