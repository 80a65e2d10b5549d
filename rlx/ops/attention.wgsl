// Attention with one workgroup per query: lanes take one key each to score, then four elements of the
// result each to sum; of a row of v that is shorter, groups of lanes take different keys. A longer one takes several
// workgroups, and the keys may be split over several. Functions: finish, sink_of. Includes: numbers, functions,
// reduce, attention.

var<workgroup> probabilities: array<f32, WORKGROUP>;
var<workgroup> shares: array<vec4<f32>, WORKGROUP>;  // of the groups in the sums

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let parts = (params.value_size + 4u * WORKGROUP - 1u) / (4u * WORKGROUP);
  let group = workgroup_index(ids);
  let split = group / parts % params.splits;
  let row = group / parts / params.splits;
  let query = row % params.queries;
  let head = row / params.queries % params.heads;
  let batch = row / params.queries / params.heads;
  if (batch >= params.batches) { return; }
  let kv_head = head / (params.heads / params.kv_heads);

  let q_at = params.q_first + batch * params.q_strides[0].x + head * params.q_strides[0].y + query * params.q_strides[0].z;
  let k_at = params.k_first + batch * params.k_strides[0].x + kv_head * params.k_strides[0].y;
  let v_at = params.v_first + batch * params.v_strides[0].x + kv_head * params.v_strides[0].y;
  let bias_at = params.bias_first + batch * params.bias_strides[0].x + head * params.bias_strides[0].y +
                query * params.bias_strides[0].z;
  let mask_at = params.mask_first + batch * params.mask_strides[0].x + head * params.mask_strides[0].y +
                query * params.mask_strides[0].z;

  var columns = 1u;  // lanes of a group
  while (columns < WORKGROUP && 4u * columns < params.value_size) { columns *= 2u; }
  let groups = WORKGROUP / columns;
  let own_group = lane / columns;
  let element = group % parts * 4u * WORKGROUP + lane % columns + vec4<u32>(0u, 1u, 2u, 3u) * columns;
  let value_at = v_at + min(element, vec4<u32>(params.value_size - 1u)) * params.v_strides[0].w;
  let seen = key_end(query) - key_begin(query);
  let begin = key_begin(query) + split * ((seen + params.splits - 1u) / params.splits);
  let end = min(begin + (seen + params.splits - 1u) / params.splits, key_end(query));
  var highest = select(-infinity(), sink_of(head), split == 0u);  // which only one of the parts has
  var total = first_total(highest);
  var sums = vec4<f32>();
  for (var first = begin; first < end; first += WORKGROUP) {
    let key = first + lane;
    var s = -infinity();
    if (key < end) {
      var product = 0.0;
      for (var d = 0u; d < params.size; d++) {
        product += load_q(q_at + d * params.q_strides[0].w) *
                   load_k(k_at + key * params.k_strides[0].z + d * params.k_strides[0].w);
      }
      s = score(product, bias_at + key * params.bias_strides[0].w, mask_at + key * params.mask_strides[0].w);
    }
    let top = max_or_nan(highest, reduce_max(lane, s));
    let shift = select(top, 0.0, is_lowest(top));
    let kept = exp_below(highest - shift);
    let p = exp_below(s - shift);
    highest = top;
    total = total * kept + reduce_sum(lane, p);
    probabilities[lane] = p;
    workgroupBarrier();
    sums = weighted(kept, sums);
    for (var i = own_group; i < min(WORKGROUP, end - first); i += groups) {
      let at = value_at + (first + i) * params.v_strides[0].z;
      sums += weighted(probabilities[i], vec4<f32>(load_v(at.x), load_v(at.y), load_v(at.z), load_v(at.w)));
    }
    // The barriers of the next reduction keep the probabilities until every lane has read them.
  }

  shares[lane] = sums;
  workgroupBarrier();
  if (own_group != 0u) { return; }
  for (var other = 1u; other < groups; other++) { sums += shares[other * columns + lane]; }
  let y_at = batch * params.y_strides[0].x + head * params.y_strides[0].y + query * params.y_strides[0].z;
  finish(row, split, y_at, element, sums, total, highest);
}
