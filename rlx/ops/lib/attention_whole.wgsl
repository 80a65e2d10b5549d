// A workgroup that has seen all keys of a query stores its result. Includes: attention_exp.

fn finish(row: u32, split: u32, y_at: u32, element: vec4<u32>, sums: vec4<f32>, total: f32, highest: f32) {
  let result = divided(sums, total, highest);
  for (var i = 0u; i < 4u; i++) {
    if (element[i] < params.value_size) { store_y(y_at + element[i], result[i]); }
  }
}
