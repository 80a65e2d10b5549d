// Attention with one invocation per query, 32 keys at a time. Lanes lie along the queries of a head, so
// that all of them read the same keys and values; nothing is shared and no lane waits.
// Constants: VALUE_SIZE, D_v. Functions: sink_of. Includes: numbers, functions, attention.

const VALUES = (VALUE_SIZE + 15u) / 16u * 4u;  // sums, in blocks of 4
const FOURS = 8u;  // of keys, per round

fn value(at: u32, block: u32) -> vec4<f32> {  // beyond the end the last element again
  let d = min(4u * block + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(VALUE_SIZE - 1u)) * params.v_strides[0].w + at;
  return vec4<f32>(load_v(d.x), load_v(d.y), load_v(d.z), load_v(d.w));
}

fn weighted_values(p: vec4<f32>, at: vec4<u32>, block: u32) -> vec4<f32> {
  return weighted(p.x, value(at.x, block)) + weighted(p.y, value(at.y, block)) + weighted(p.z, value(at.z, block)) +
         weighted(p.w, value(at.w, block));
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let query_blocks = (params.queries + WORKGROUP - 1u) / WORKGROUP;
  let group = workgroup_index(ids);
  let head = group / query_blocks % params.heads;
  let batch = group / query_blocks / params.heads;
  if (batch >= params.batches) { return; }
  let first_query = group % query_blocks * WORKGROUP;
  let last_query = min(first_query + WORKGROUP, params.queries) - 1u;
  let query = min(first_query + lane, last_query);
  let kv_head = head / (params.heads / params.kv_heads);

  let q_at = params.q_first + batch * params.q_strides[0].x + head * params.q_strides[0].y + query * params.q_strides[0].z;
  let k_at = params.k_first + batch * params.k_strides[0].x + kv_head * params.k_strides[0].y;
  let v_at = params.v_first + batch * params.v_strides[0].x + kv_head * params.v_strides[0].y;
  let bias_at = params.bias_first + batch * params.bias_strides[0].x + head * params.bias_strides[0].y +
                query * params.bias_strides[0].z;
  let mask_at = params.mask_first + batch * params.mask_strides[0].x + head * params.mask_strides[0].y +
                query * params.mask_strides[0].z;

  let begin = key_begin(query);
  let end = key_end(query);
  let last_end = key_end(last_query);  // of the whole workgroup
  var highest = sink_of(head);
  var total = first_total(highest);
  var scores: array<vec4<f32>, FOURS>;
  var sums: array<vec4<f32>, VALUES>;
  for (var first = key_begin(first_query); first < last_end; first += 4u * FOURS) {
    let fours = min(FOURS, (last_end - first + 3u) / 4u);
    var top = highest;
    for (var four = 0u; four < fours; four++) {
      let wanted = first + 4u * four + vec4<u32>(0u, 1u, 2u, 3u);
      let key = min(wanted, vec4<u32>(params.keys - 1u));
      let rows = k_at + key * params.k_strides[0].z;
      var products = vec4<f32>();
      for (var d = 0u; d < params.size; d++) {
        let at = rows + d * params.k_strides[0].w;
        products += load_q(q_at + d * params.q_strides[0].w) *
                    vec4<f32>(load_k(at.x), load_k(at.y), load_k(at.z), load_k(at.w));
      }
      let bias = bias_at + key * params.bias_strides[0].w;
      let mask = mask_at + key * params.mask_strides[0].w;
      let all = vec4<f32>(score(products.x, bias.x, mask.x), score(products.y, bias.y, mask.y),
                          score(products.z, bias.z, mask.z), score(products.w, bias.w, mask.w));
      let s = select(vec4<f32>(-infinity()), all, (wanted >= vec4<u32>(begin)) & (wanted < vec4<u32>(end)));
      scores[four] = s;
      top = max_or_nan(top, max_or_nan(max_or_nan(s.x, s.y), max_or_nan(s.z, s.w)));
    }
    let shift = select(top, 0.0, is_lowest(top));
    let kept = exp_below(highest - shift);
    highest = top;
    total *= kept;
    for (var four = 0u; four < fours; four++) {
      let s = scores[four] - shift;
      let p = vec4<f32>(exp_below(s.x), exp_below(s.y), exp_below(s.z), exp_below(s.w));
      total += p.x + p.y + p.z + p.w;
      scores[four] = p;
    }
    for (var block = 0u; block < VALUES; block += 4u) {  // as many sums as stay in registers
      var sum0 = weighted(kept, sums[block]);
      var sum1 = weighted(kept, sums[block + 1u]);
      var sum2 = weighted(kept, sums[block + 2u]);
      var sum3 = weighted(kept, sums[block + 3u]);
      for (var four = 0u; four < fours; four++) {
        let p = scores[four];
        let key = min(first + 4u * four + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(params.keys - 1u));
        let at = v_at + key * params.v_strides[0].z;
        sum0 += weighted_values(p, at, block);
        sum1 += weighted_values(p, at, block + 1u);
        sum2 += weighted_values(p, at, block + 2u);
        sum3 += weighted_values(p, at, block + 3u);
      }
      sums[block] = sum0;
      sums[block + 1u] = sum1;
      sums[block + 2u] = sum2;
      sums[block + 3u] = sum3;
    }
  }

  if (first_query + lane > last_query) { return; }
  let y_at = batch * params.y_strides[0].x + head * params.y_strides[0].y + query * params.y_strides[0].z;
  for (var d = 0u; d < VALUE_SIZE; d++) {
    store_y(y_at + d, divided(sums[d / 4u], total, highest)[d % 4u]);
  }
}
