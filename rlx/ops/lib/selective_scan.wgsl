// Where the operands of selective_scan have their elements.

fn x_at(batch: u32, step: u32, channel: u32) -> u32 { return (batch * params.steps + step) * params.channels + channel; }
fn b_at(batch: u32, step: u32, group: u32, n: u32) -> u32 {
  return ((batch * params.steps + step) * params.groups + group) * params.states + n;
}
// What is carried into a chunk: neighbouring lanes have neighbouring channels.
fn carried_at(batch: u32, chunk: u32, n: u32, channel: u32) -> u32 {
  return ((batch * params.chunks + chunk) * params.states + n) * params.channels + channel;
}
