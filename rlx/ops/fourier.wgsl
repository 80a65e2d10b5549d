// One pass of Fourier transforms over memory, as Stockham has it: with s = `done` and m = apart / s,
//   y[q + s (length p + k)] = turn(p k of length m) * sum over j of x[q + s (p + m j)] turn(j k of length).
// Column q + s p is read at steps of `apart`; a workgroup has `each` columns in its memory, where passes of the same
// kind, of the radices, go from one half to the other. Constants: BLOCK, numbers in a half.

var<workgroup> numbers: array<vec2<f32>, 2u * BLOCK>;

fn times(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
fn turn(i: u32) -> vec2<f32> { return vec2<f32>(load_turns(2u * i), load_turns(2u * i + 1u)); }
fn quarter(a: vec2<f32>) -> vec2<f32> { return vec2<f32>(a.y, -a.x); }  // times -i

fn four(v: ptr<function, array<vec2<f32>, 8>>, a: u32, step: u32) {
  let even = (*v)[a] + (*v)[a + 2u * step];
  let other = (*v)[a] - (*v)[a + 2u * step];
  let odd = (*v)[a + step] + (*v)[a + 3u * step];
  let across = quarter((*v)[a + step] - (*v)[a + 3u * step]);
  (*v)[a] = even + odd;
  (*v)[a + step] = other + across;
  (*v)[a + 2u * step] = even - odd;
  (*v)[a + 3u * step] = other - across;
}

fn eight(v: ptr<function, array<vec2<f32>, 8>>) {
  four(v, 0u, 2u);
  four(v, 1u, 2u);
  let root = 0.70710678118654752;
  let e = array<vec2<f32>, 4>((*v)[0], (*v)[2], (*v)[4], (*v)[6]);
  let o1 = (*v)[3];
  let o3 = (*v)[7];
  let o = array<vec2<f32>, 4>((*v)[1], vec2<f32>(o1.x + o1.y, o1.y - o1.x) * root, quarter((*v)[5]),
                              vec2<f32>(o3.y - o3.x, -o3.x - o3.y) * root);
  (*v)[0] = e[0] + o[0];
  (*v)[1] = e[1] + o[1];
  (*v)[2] = e[2] + o[2];
  (*v)[3] = e[3] + o[3];
  (*v)[4] = e[0] - o[0];
  (*v)[5] = e[1] - o[1];
  (*v)[6] = e[2] - o[2];
  (*v)[7] = e[3] - o[3];
}

// 3, 5 and 7: sums and differences of opposite numbers, times cosines and sines of `whole` / radix turns.
fn odd_radix(v: ptr<function, array<vec2<f32>, 8>>, radix: u32, whole: u32) {
  var x = *v;
  let unit = whole / radix;
  var all = x[0];
  for (var k = 1u; k <= radix / 2u; k++) {
    all += x[k] + x[radix - k];
    var a = x[0];
    var b = vec2<f32>();
    for (var j = 1u; j <= radix / 2u; j++) {
      let w = turn(unit * (j * k % radix));
      a += (x[j] + x[radix - j]) * w.x;
      b += (x[j] - x[radix - j]) * w.y;
    }
    let c = vec2<f32>(-b.y, b.x);  // times i
    (*v)[k] = a + c;
    (*v)[radix - k] = a - c;
  }
  (*v)[0] = all;
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let first = workgroup_index(ids) * params.each;
  let whole = params.length * params.apart;
  for (var i = lane; i < params.length * params.each; i += WORKGROUP) {
    let column = first + i % params.each;
    if (column < params.columns) {
      let line = column / params.apart;
      let at = line * whole + column % params.apart + i / params.each * params.apart;
      let x = vec2<f32>(load_x(2u * at), load_x(2u * at + 1u));
      numbers[i] = select(x, x.yx, params.swap_in == 1u);
    }
  }
  var half = 0u;
  var s = 1u;
  for (var stage = 0u; stage < params.stages; stage++) {
    workgroupBarrier();
    let radix = params.radices[stage / 4u][stage % 4u];
    let m = params.length / (s * radix);
    for (var i = lane; i < params.length / radix * params.each; i += WORKGROUP) {
      let column = i % params.each;
      let q = i / params.each % s;
      let p = i / params.each / s;
      var v: array<vec2<f32>, 8>;
      for (var j = 0u; j < radix; j++) {
        v[j] = numbers[half + (q + s * (p + m * j)) * params.each + column];
      }
      switch radix {
        case 2u: {
          let a = v[0];
          v[0] = a + v[1];
          v[1] = a - v[1];
        }
        case 4u: { four(&v, 0u, 1u); }
        case 8u: { eight(&v); }
        default: { odd_radix(&v, radix, whole); }
      }
      for (var k = 0u; k < radix; k++) {
        let y = times(v[k], turn(params.apart * s * p * k));
        numbers[BLOCK - half + (q + s * (radix * p + k)) * params.each + column] = y;
      }
    }
    half = BLOCK - half;
    s *= radix;
  }
  workgroupBarrier();
  for (var i = lane; i < params.length * params.each; i += WORKGROUP) {
    // Neighbours in y are neighbouring columns, or of the first pass neighbouring elements.
    let by_element = params.done == 1u;
    let k = select(i / params.each, i % params.length, by_element);
    let local = select(i % params.each, i / params.length, by_element);
    let column = first + local;
    if (column < params.columns) {
      let line = column / params.apart;
      let q = column % params.apart % params.done;
      let p = column % params.apart / params.done;
      let y = times(numbers[half + k * params.each + local], turn(params.done * p * k)) * params.scale;
      let at = line * whole + q + params.done * (params.length * p + k);
      store_y(2u * at, select(y.x, y.y, params.swap_out == 1u));
      store_y(2u * at + 1u, select(y.y, y.x, params.swap_out == 1u));
    }
  }
}
