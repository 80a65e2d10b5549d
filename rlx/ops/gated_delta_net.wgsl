// Columns of a head's state, from the first step to the last; one workgroup to WORKGROUP columns, one lane to each.
// A chunk of steps is taken at once: what its steps add to the state is solved for by the products of its keys, so that
// the state is read and written once. Constants: CHUNK. Functions: first_state. Includes: numbers, functions.

var<workgroup> key_products: array<f32, CHUNK * CHUNK>;  // k_t . k_s, decayed from s to t; s < t
var<workgroup> query_products: array<f32, CHUNK * CHUNK>;  // q_t . k_s; s <= t
var<workgroup> decays: array<f32, CHUNK>;  // the logarithm, from the start of the chunk
var<workgroup> rates: array<f32, CHUNK>;

fn key_at(batch: u32, step: u32, head: u32) -> u32 {
  return ((batch * params.steps + step) * params.heads + head) * params.keys;
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let block = workgroup_index(ids);
  let blocks = (params.values + WORKGROUP - 1u) / WORKGROUP;
  let batch = block / blocks / params.heads;
  let head = block / blocks % params.heads;
  let column = block % blocks * WORKGROUP + lane;
  // Folding may have added workgroups: they have no columns, and meet the barriers all the same.
  let is_there = batch < params.batches;
  let has_column = is_there && column < params.values;
  let state = (batch * params.heads + head) * params.keys * params.values + column;
  for (var begin = 0u; begin < params.steps; begin += CHUNK) {
    let length = min(params.steps - begin, CHUNK);
    workgroupBarrier();  // the last chunk's products may still be read
    if (lane == 0u && is_there) {
      var total = 0.0;
      for (var t = 0u; t < length; t++) {
        let at = (batch * params.steps + begin + t) * params.heads + head;
        total += load_g(at);
        decays[t] = total;
        rates[t] = load_beta(at);
      }
    }
    workgroupBarrier();
    for (var pair = lane; pair < CHUNK * CHUNK; pair += WORKGROUP) {
      let t = pair / CHUNK;
      let s = pair % CHUNK;
      if (s <= t && t < length && is_there) {
        let t_at = key_at(batch, begin + t, head);
        let s_at = key_at(batch, begin + s, head);
        var with_key = 0.0;
        var with_query = 0.0;
        for (var n = 0u; n < params.keys; n++) {
          let k = load_k(s_at + n);
          with_key += k * load_k(t_at + n);
          with_query += k * load_q(t_at + n);
        }
        let decay = exp_f32(decays[t] - decays[s]);
        key_products[pair] = decay * with_key;
        query_products[pair] = decay * with_query;
      }
    }
    workgroupBarrier();
    if (has_column) {
      var by_key: array<f32, CHUNK>;
      var by_query: array<f32, CHUNK>;
      for (var t = 0u; t < length; t++) {
        by_key[t] = 0.0;
        by_query[t] = 0.0;
      }
      for (var n = 0u; n < params.keys; n++) {
        let at = state + n * params.values;
        var s = 0.0;
        if (begin == 0u) { s = first_state(at); } else { s = load_next(at); }
        for (var t = 0u; t < length; t++) {
          let k_at = key_at(batch, begin + t, head) + n;
          by_key[t] += s * load_k(k_at);
          by_query[t] += s * load_q(k_at);
        }
      }
      var adds: array<f32, CHUNK>;  // d of each step
      for (var t = 0u; t < length; t++) {
        let decay = exp_f32(decays[t]);
        let v_at = ((batch * params.steps + begin + t) * params.heads + head) * params.values + column;
        var d = load_v(v_at) - decay * by_key[t];
        var o = decay * by_query[t];
        for (var s = 0u; s < t; s++) {
          d -= key_products[t * CHUNK + s] * adds[s];
          o += query_products[t * CHUNK + s] * adds[s];
        }
        adds[t] = d * rates[t];
        store_y(v_at, params.scale * (o + query_products[t * CHUNK + t] * adds[t]));
      }
      let last = decays[length - 1u];
      for (var t = 0u; t < length; t++) { adds[t] *= exp_f32(last - decays[t]); }
      let decay = exp_f32(last);
      for (var n = 0u; n < params.keys; n++) {
        let at = state + n * params.values;
        var s = 0.0;
        if (begin == 0u) { s = first_state(at); } else { s = load_next(at); }
        s *= decay;
        for (var t = 0u; t < length; t++) { s += load_k(key_at(batch, begin + t, head) + n) * adds[t]; }
        store_next(at, s);
      }
    }
  }
  if (params.steps == 0u && has_column) {
    for (var n = 0u; n < params.keys; n++) {
      let at = state + n * params.values;
      store_next(at, first_state(at));
    }
  }
}
