// scan(states, scanned, body): ONNX's Scan as a loop over the rows of values whose axes were moved
// to the front, which costs nothing: they are views.

#include "rlx/ops/bodies.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_control.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_loop.h"

namespace rlx {
namespace {

int64_t entry(const Ints& list, size_t i) { return i < list.size() ? list[i] : 0; }

Value reversed(Value x) { return slice(x, Ints{-1}, Ints{INT64_MIN}, {0}, {-1}); }

// Axis `axis` as the first one, or the first as axis `axis`.
Value moved_axis(Value x, size_t axis, bool to_front) {
  if (axis == 0) return x;
  Ints order;
  for (size_t d = 0; d < x.shape().size(); ++d) {
    const size_t from = to_front ? (d == 0      ? axis
                                    : d <= axis ? d - 1
                                                : d)
                                 : (d == axis  ? 0
                                    : d < axis ? d + 1
                                               : d);
    order.push_back(static_cast<int64_t>(from));
  }
  return transpose(x, order);
}

// The body with the iteration, which a scan's body does not take, as its first input.
Graph with_iteration(const Graph& body) {
  Graph graph;
  graph.input("iteration", i64({}));
  Values inputs;
  for (const Value& input : body_inputs(body))
    inputs.push_back(graph.input(text("in", inputs.size()), input.type()));
  const Values outputs = inline_body(body, inputs, graph);
  for (size_t i = 0; i < outputs.size(); ++i) graph.output(text("out", i), outputs[i]);
  return graph;
}

}  // namespace

Values scan(const Values& states, const Values& scanned, const Graph& body,
            const ScanOptions& options) {
  require(!scanned.empty(), "scan: nothing to scan");
  LoopOptions loop_options;
  for (size_t k = 0; k < scanned.size(); ++k) {
    const size_t axis = axis_of("scan", entry(options.input_axes, k), scanned[k].type());
    const Value rows = moved_axis(scanned[k], axis, true);
    loop_options.scanned.push_back(entry(options.input_directions, k) ? reversed(rows) : rows);
  }
  loop_options.captured = options.captured;
  const Value times = squeeze(slice(shape_of(loop_options.scanned[0]), Ints{0}, Ints{1}), {0});
  Values results = loop(times, states, with_iteration(body), loop_options);
  for (size_t i = states.size(); i < results.size(); ++i) {
    const size_t k = i - states.size();
    if (entry(options.output_directions, k)) results[i] = reversed(results[i]);
    const size_t axis = axis_of("scan", entry(options.output_axes, k), results[i].type());
    results[i] = moved_axis(results[i], axis, false);
  }
  return results;
}

}  // namespace rlx
