// What the kernels of lstm, gru and rnn share. An invocation is one unit of one sequence's state in one
// direction; the state of the step before lies in one half of h, that of this step goes to the other.
// Constants: GATES, REVERSE. Params: steps, batches, hidden, states, step, from_half, to_half, y_time,
// y_direction, y_batch. Functions: bias_at, length_of, and of the kernel: update(at) takes one step,
// finish(at) is called instead where the sequence is over.

struct Place {
  i: u32,  // in a state of all directions, sequences and units
  d: u32,
  b: u32,
  unit: u32,
  length: u32,
  time: u32,
}

fn place_of(i: u32) -> Place {
  let b = i / params.hidden % params.batches;
  let d = i / params.hidden / params.batches;
  let length = length_of(b);
  let time = select(params.step, length - 1u - params.step, (REVERSE || d == 1u) && params.step < length);
  return Place(i, d, b, i % params.hidden, length, time);
}

// A gate's part from x and both biases.
fn input_part(at: Place, gate: u32) -> f32 {
  let row = gate * params.hidden + at.unit;
  let width = GATES * params.hidden;
  return load_gates(((at.d * params.steps + at.time) * params.batches + at.b) * width + row) +
         bias_at(at.d * 2u * width + row);
}
fn recurrent_bias(at: Place, gate: u32) -> f32 {
  let width = GATES * params.hidden;
  return bias_at(at.d * 2u * width + width + gate * params.hidden + at.unit);
}

// Where the weights of a gate's unit begin, and the state they are for.
fn weights_at(at: Place, gate: u32) -> u32 {
  return ((at.d * GATES + gate) * params.hidden + at.unit) * params.hidden;
}
fn state_at(at: Place) -> u32 { return (at.d * params.batches + at.b) * params.hidden; }

fn y_at(at: Place) -> u32 {
  return at.time * params.y_time + at.d * params.y_direction + at.b * params.y_batch + at.unit;
}

fn clipped(x: f32, clip: f32) -> f32 { return select(clamp(x, -clip, clip), x, is_nan(x)); }

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.states) { return; }
  let at = place_of(i);
  if (params.step < at.length) { update(at); } else { finish(at); }
}
