// How the kernels that end a step write it. Needs h and y to be stored, and `recurrent`.

fn put_state(at: Place, h: f32, y: f32) {
  store_h(params.to_half + at.i, h);
  store_y(y_at(at), y);
}

// The state of a sequence that is over stays.
fn finish(at: Place) { put_state(at, load_h(params.from_half + at.i), 0.0); }
