// The gradient of gated_delta_net: that of the same net written as a loop over chunks of steps,
// which keeps the state of every chunk. What the steps of a chunk add to the state solves a
// triangular system, d_t + beta_t * sum over s < t of (k_t . k_s) * d_s = beta_t * (v_t - S^T k_t),
// with decays.

#include "rlx/ops/bodies.h"
#include "rlx/ops/gated_delta_net.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_cumulative.h"
#include "rlx/ops/ops_loop.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

constexpr int64_t kChunk = 32;  // a power of two

template <class IsSet>
Value mask(Graph& graph, DType dtype, IsSet is_set) {
  Tensor tensor(dtype, {kChunk, kChunk});
  for (int64_t row = 0; row < kChunk; ++row)
    for (int64_t column = 0; column < kChunk; ++column)
      tensor.set(row * kChunk + column, is_set(row, column) ? 1 : 0);
  return graph.constant(tensor);
}

// The inverse of I + a, of an a that is 0 from its diagonal on. That of blocks twice as large is
// made of the blocks' inverses and of what lies below them: as exact as solving row by row.
Value unit_lower_inverse(Graph& graph, Value a) {
  Value inverse = mask(graph, a.dtype(), [](int64_t row, int64_t column) { return row == column; });
  for (int64_t size = 1; size < kChunk; size *= 2) {
    const Value below = mask(graph, a.dtype(), [&](int64_t row, int64_t column) {
      return row / (2 * size) == column / (2 * size) && row / size != column / size && row > column;
    });
    const Value corner = a * below;
    inverse = inverse - (size == 1 ? corner : matmul(matmul(inverse, corner), inverse));
  }
  return inverse;
}

// The state behind a chunk and the chunk's results, [batches, heads, kChunk, values].
Graph chunk_body(const TensorType& state_type, const Values& scanned, double scale) {
  Graph graph;
  const Value state = graph.input("state", state_type);
  Values rows;
  for (const Value& value : scanned) {
    TensorType row = value.type();
    row.shape.erase(row.shape.begin());
    rows.push_back(graph.input(text("row", rows.size()), row));
  }
  const Value q = rows[kDeltaQ], k = rows[kDeltaK], v = rows[kDeltaV],
              beta = unsqueeze(rows[kDeltaBeta], {-1});
  const DType dtype = q.dtype();
  const Value totals = cumsum(rows[kDeltaG], -1);  // logarithms of decays
  const Value lower = mask(graph, dtype, [](int64_t row, int64_t column) { return column <= row; });
  const Value strict = mask(graph, dtype, [](int64_t row, int64_t column) { return column < row; });
  const Value apart = unsqueeze(totals, {-1}) - unsqueeze(totals, {-2});
  // Above the diagonal a decay would grow instead.
  const Value decays = exp(where(greater(lower, scalar(lower, 0)), apart, scalar(apart, -1e4)));
  const Value by_step = unsqueeze(exp(totals), {-1});
  const Value by_key = matmul(k, k, false, true) * decays * strict * beta;
  const Value adds =
      matmul(unit_lower_inverse(graph, by_key), beta * (v - by_step * matmul(k, state)));
  const Value o = by_step * matmul(q, state) + matmul(matmul(q, k, false, true) * decays, adds);
  const Value last = slice(totals, {kChunk - 1}, {kChunk}, {-1});
  const Value to_last = unsqueeze(exp(last - totals), {-1});
  graph.output("state",
               unsqueeze(exp(last), {-1}) * state + matmul(k * to_last, adds, true, false));
  graph.output("o", o * scalar(o, scale));
  return graph;
}

// The op's results, made of other ops.
Values composed(const Values& operands, const Attrs& attrs) {
  const Dims q = operands[kDeltaQ].shape(), v = operands[kDeltaV].shape();
  const DType dtype = operands[kDeltaV].dtype(), wide = bytes_of(dtype) < 4 ? DType::f32 : dtype;
  const Dim chunks = ceil_div(q[1], kChunk);
  Values scanned;  // [chunks, batches, heads, kChunk, ..]
  for (size_t i = 0; i < kDeltaState; ++i) {
    Value x = cast(operands[i], wide);
    Dims pads(x.shape().size() * 2, Dim(0));
    pads[x.shape().size() + 1] = chunks * Dim(kChunk) - q[1];
    x = pad(x, pads);  // steps that add nothing
    Dims shape = x.shape();
    shape[1] = kChunk;
    shape.insert(shape.begin() + 1, chunks);
    Ints order{1, 0, 3, 2};
    if (shape.size() == 5) order.push_back(4);
    scanned.push_back(transpose(reshape(x, shape), order));
  }
  const TensorType state_type{wide, {q[0], q[2], q[3], v[3]}};
  const Value state = operands.size() > kDeltaState && operands[kDeltaState].present()
                          ? operands[kDeltaState]
                          : zeros(scanned[0], state_type.shape);
  const Values results =
      scan({state}, scanned, chunk_body(state_type, scanned, delta_scale(attrs, q[3].number())));
  const Value by_step =
      reshape(transpose(results[1], {1, 0, 3, 2, 4}), {q[0], chunks * Dim(kChunk), q[2], v[3]});
  return {cast(slice_axis(by_step, 1, 0, q[1]), dtype), results[0]};
}

}  // namespace

// In a graph of its own, so that the sweep ends at the operands even where one depends on another.
Gradients gated_delta_net_gradient(const GradientSite& site) {
  Graph graph;
  Values operands, given, xs, ys, dys;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    if (!site.inputs[i].present()) {
      operands.emplace_back();
      continue;
    }
    operands.push_back(graph.input(text("x", i), site.inputs[i].type()));
    given.push_back(site.inputs[i]);
    xs.push_back(operands[i]);
  }
  for (size_t i = 0; i < site.results.size(); ++i) {
    if (!site.result_gradients[i]) continue;
    dys.push_back(graph.input(text("dy", i), site.y(i).type()));
    given.push_back(site.dy(i));
  }
  const Values results = composed(operands, site.attrs());
  for (size_t i = 0; i < site.results.size(); ++i)
    if (site.result_gradients[i]) ys.push_back(results[i]);
  const Values dxs = site.sweep(ys, dys, xs);
  for (size_t i = 0; i < dxs.size(); ++i) graph.output(text("dx", i), dxs[i]);
  const Values appended = append_graph(graph, given);
  Gradients gradients(site.inputs.size());
  for (size_t i = 0, next = 0; i < gradients.size(); ++i)
    if (site.inputs[i].present()) gradients[i] = appended[next++];
  return gradients;
}

}  // namespace rlx
