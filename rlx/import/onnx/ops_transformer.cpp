// ONNX's own operators of transformers.

#include "rlx/import/onnx/heads.h"
#include "rlx/ops/ops_attention.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_norm.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

// Operands with their heads side by side, or [B, H, S, D]; the result is like q.
Items attention_operator(Site site) {
  const bool parted = rank(site.in(0).type()) == 4;
  const auto given = [&](size_t i, const char* heads) {
    return parted ? swap_heads(site.in(i)) : part_heads(site, site.in(i), head_count(site, heads));
  };
  const Value q = given(0, "q_num_heads");
  Value k = given(1, "kv_num_heads"), v = given(2, "kv_num_heads");
  if (site.wants(3)) site.fail_node("qk_matmul_output is not made");
  if (site.has(6)) site.fail_node("nonpad_kv_seqlen is not there");
  if (site.has(4)) k = concat({swap_heads(site.in(4)), k}, 1);
  if (site.has(5)) v = concat({swap_heads(site.in(5)), v}, 1);

  AttentionOptions options;
  options.layout = "bshd";
  options.scale = site.real("scale", 0);
  options.softcap = site.real("softcap", 0);
  Value mask;
  if (site.flag("is_causal")) {
    // Query i sees keys up to i behind the past, also where there are more keys than queries.
    options.causal = site.has(4) || k.shape()[1] == q.shape()[1];
    if (!options.causal) {
      const Value query = counting(q, q.shape()[1], DType::i32);
      mask = greater_equal(unsqueeze(query, {1}), counting(q, k.shape()[1], DType::i32));
    }
  }
  const Value y = attention(q, k, v, site.maybe(3), options, mask);
  return {parted ? swap_heads(y) : join_heads(y), swap_heads(k), swap_heads(v)};
}

Items rotary_operator(Site site) {
  const Value positions = site.has(3) ? cast(site.in(3), DType::i32) : Value{};
  return {rotary_embedding(site, site.in(0), {site.in(1), site.in(2), positions})};
}

Items rms_norm_operator(Site site) {
  return {rms_norm(site.in(0), site.in(1), site.integer("axis", -1), site.real("epsilon", 1e-5))};
}

}  // namespace

std::span<const Operator> transformer_operators() {
  static constexpr Operator kOperators[] = {
      {"Attention", attention_operator},
      {"RMSNormalization", rms_norm_operator},
      {"RotaryEmbedding", rotary_operator},
      {"SimplifiedLayerNormalization", rms_norm_operator},  // onnxruntime's, in ONNX's domain
  };
  return kOperators;
}

}  // namespace rlx::onnx
