// A workgroup that has seen a part of a query's keys stores its sums, its highest score and its total.

fn finish(row: u32, split: u32, y_at: u32, element: vec4<u32>, sums: vec4<f32>, total: f32, highest: f32) {
  let at = row * params.splits + split;
  for (var i = 0u; i < 4u; i++) {
    if (element[i] < params.value_size) { store_sums(at * params.value_size + element[i], sums[i]); }
  }
  if (element.x == 0u) {
    store_totals(2u * at, highest);
    store_totals(2u * at + 1u, total);
  }
}
