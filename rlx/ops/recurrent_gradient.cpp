// The gradient of lstm, gru and rnn: that of the same net written as a loop over its cell, which
// keeps the state of every step.

#include "rlx/ops/bodies.h"
#include "rlx/ops/ops_activation.h"
#include "rlx/ops/ops_control.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/recurrent.h"

namespace rlx {
namespace {

Value activate(const CellActivation& activation, Value x, double clip_at) {
  if (clip_at > 0) x = clip(x, -clip_at, clip_at);
  const std::string& name = activation.name;
  const Value alpha = scalar(x, activation.alpha), beta = scalar(x, activation.beta);
  if (name == "affine") return alpha * x + beta;
  if (name == "elu") return elu(x, activation.alpha);
  if (name == "hardsigmoid") return clip(alpha * x + beta, 0, 1);
  if (name == "leakyrelu") return leaky_relu(x, activation.alpha);
  if (name == "relu") return relu(x);
  if (name == "scaledtanh") return alpha * tanh(beta * x);
  if (name == "sigmoid") return sigmoid(x);
  if (name == "softplus") return softplus(x);
  if (name == "softsign") return x / (scalar(x, 1) + abs(x));
  if (name == "thresholdedrelu") return where(greater(x, alpha), x, scalar(x, 0));
  return tanh(x);
}

// One direction of the net: the operands of its cell, and the cell as a body.
class Direction {
 public:
  Direction(const RecurrentForm& form, const Attrs& attrs, const Values& operands, int64_t d)
      : form_(form), attrs_(attrs), operands_(operands), d_(d), hidden_(form.hidden.number()) {}

  // The states of all steps, then the last ones.
  Values run() const {
    Value x = operands_[kRecurrentX];
    if (form_.batch_first) x = transpose(x, {1, 0, 2});
    const int64_t rows = form_.gates * hidden_;
    Value gates = matmul(x, own(kRecurrentW), false, true);
    if (has(kRecurrentBias)) gates = gates + slice(own(kRecurrentBias), {0}, {rows});
    Values carried{initial(kRecurrentInitialH)};
    if (form_.lstm) carried.push_back(initial(kRecurrentInitialC));
    LoopOptions options;
    options.scanned = {gates};
    options.reverse = form_.reverse || d_ == 1;
    options.captured = {own(kRecurrentR)};
    if (has(kRecurrentBias))
      options.captured.push_back(slice(own(kRecurrentBias), {rows}, {2 * rows}));
    if (has(kRecurrentLengths)) options.captured.push_back(operands_[kRecurrentLengths]);
    if (has(kRecurrentPeepholes)) options.captured.push_back(own(kRecurrentPeepholes));
    const Value times = squeeze(slice(shape_of(x), Ints{0}, Ints{1}), {0});
    Values results = loop(times, carried, body(carried, options), options);
    results.insert(results.begin(), results.back());
    results.pop_back();
    return results;
  }

 private:
  bool has(size_t i) const { return i < operands_.size() && operands_[i].present(); }
  Value own(size_t i) const { return squeeze(slice(operands_[i], {d_}, {d_ + 1}, {0}), {0}); }
  Value initial(size_t i) const {
    const Value x = operands_[kRecurrentX];
    if (!has(i)) return expand(scalar(x, 0), Dims{form_.batches, form_.hidden});
    const int64_t axis = form_.batch_first ? 1 : 0;
    return squeeze(slice(operands_[i], {d_}, {d_ + 1}, {axis}), {axis});
  }
  Value act(size_t which, Value x) const {
    const size_t each = form_.activations.size() / static_cast<size_t>(form_.directions);
    return activate(form_.activations[size_t(d_) * each + which], x, form_.clip);
  }
  Value part(Value x, int64_t gate) const {  // the columns, or the elements, of one gate
    return slice(x, {gate * hidden_}, {(gate + 1) * hidden_}, {-1});
  }

  Graph body(const Values& carried, const LoopOptions& options) const {
    Graph graph;
    const Value iteration = graph.input("iteration", i64({}));
    const Value h = graph.input("h", carried[0].type());
    const Value c = form_.lstm ? graph.input("c", carried[1].type()) : Value{};
    TensorType row = options.scanned[0].type();
    row.shape.erase(row.shape.begin());
    const Value gates = graph.input("gates", row);
    Values outside;
    for (const Value& value : options.captured)
      outside.push_back(graph.input(text("captured", outside.size()), value.type()));
    size_t next = 1;
    const Value r = outside[0];
    const Value bias = has(kRecurrentBias) ? outside[next++] : Value{};
    const Value lengths = has(kRecurrentLengths) ? outside[next++] : Value{};
    const Value p = has(kRecurrentPeepholes) ? outside[next++] : Value{};
    Value from_state = matmul(h, r, false, true);
    if (bias.present()) from_state = from_state + bias;

    Values states;
    if (form_.lstm)
      states = lstm_cell(gates + from_state, c, p);
    else if (form_.gates == 3)
      states = {gru_cell(gates, from_state, h, r, bias)};
    else
      states = {act(0, gates + from_state)};
    Value y = states[0];
    if (lengths.present()) {
      const Value active = unsqueeze(less(cast(iteration, lengths.dtype()), lengths), {1});
      y = where(active, y, scalar(y, 0));
      states[0] = where(active, states[0], h);
      if (form_.lstm) states[1] = where(active, states[1], c);
    }
    for (size_t i = 0; i < states.size(); ++i) graph.output(text("state", i), states[i]);
    graph.output("y", y);
    return graph;
  }

  Values lstm_cell(Value sums, Value before, Value p) const {
    const auto peeped = [&](int64_t gate, int64_t which, Value cell) {
      return p.present() ? part(sums, gate) + part(p, which) * cell : part(sums, gate);
    };
    const Value i = act(0, peeped(0, 0, before));
    const Value f =
        attrs_.get<bool>("input_forget") ? scalar(i, 1) - i : act(0, peeped(2, 2, before));
    const Value c = f * before + i * act(1, part(sums, 3));
    return {act(0, peeped(1, 1, c)) * act(2, c), c};
  }
  Value gru_cell(Value gates, Value from_state, Value h, Value r, Value bias) const {
    const Value z = act(0, part(gates, 0) + part(from_state, 0));
    const Value reset = act(0, part(gates, 1) + part(from_state, 1));
    Value sum;
    if (attrs_.get<bool>("linear_before_reset")) {
      sum = reset * part(from_state, 2);
    } else {
      sum = matmul(reset * h, slice(r, {2 * hidden_}, {3 * hidden_}, {0}), false, true);
      if (bias.present()) sum = sum + part(bias, 2);
    }
    return (scalar(z, 1) - z) * act(1, part(gates, 2) + sum) + z * h;
  }

  const RecurrentForm& form_;
  const Attrs& attrs_;
  const Values& operands_;
  int64_t d_, hidden_;
};

// The op's results, made of other ops.
Values composed(const RecurrentForm& form, const Attrs& attrs, const Values& operands) {
  Values ys, hs, cs;
  for (int64_t d = 0; d < form.directions; ++d) {
    const Values results = Direction(form, attrs, operands, d).run();
    ys.push_back(unsqueeze(results[0], {1}));
    hs.push_back(unsqueeze(results[1], {0}));
    if (form.lstm) cs.push_back(unsqueeze(results[2], {0}));
  }
  const auto ordered = [&](const Values& parts, int64_t axis, const Ints& batch_first) {
    const Value all = parts.size() == 1 ? parts[0] : concat(parts, axis);
    return form.batch_first ? transpose(all, batch_first) : all;
  };
  Values results{ordered(ys, 1, {2, 0, 1, 3}), ordered(hs, 0, {1, 0, 2})};
  if (form.lstm) results.push_back(ordered(cs, 0, {1, 0, 2}));
  return results;
}

}  // namespace

// In a graph of its own, so that the sweep ends at the operands even where one depends on another.
Gradients recurrent_gradient(const GradientSite& site) {
  const OpDef& op = *site.node.op;
  const RecurrentForm form(op, site.in(kRecurrentX).shape(), site.in(kRecurrentR).shape(),
                           site.attrs());
  require(form.hidden.is_number(), op.name, ": the gradient needs a number of units, got ",
          form.hidden);
  Graph graph;
  Values operands, given, xs, ys, dys;
  std::vector<size_t> smooth;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    if (!site.inputs[i].present()) {
      operands.emplace_back();
      continue;
    }
    operands.push_back(graph.input(text("x", i), site.inputs[i].type()));
    given.push_back(site.inputs[i]);
    if (!is_float(operands[i].dtype())) continue;
    xs.push_back(operands[i]);
    smooth.push_back(i);
  }
  for (size_t i = 0; i < site.results.size(); ++i) {
    if (!site.result_gradients[i]) continue;
    dys.push_back(graph.input(text("dy", i), site.y(i).type()));
    given.push_back(site.dy(i));
  }
  const Values results = composed(form, site.attrs(), operands);
  for (size_t i = 0; i < site.results.size(); ++i)
    if (site.result_gradients[i]) ys.push_back(results[i]);
  const Values dxs = site.sweep(ys, dys, xs);
  for (size_t i = 0; i < dxs.size(); ++i) graph.output(text("dx", i), dxs[i]);
  const Values appended = append_graph(graph, given);
  Gradients gradients(site.inputs.size());
  for (size_t i = 0; i < smooth.size(); ++i) gradients[smooth[i]] = appended[i];
  return gradients;
}

}  // namespace rlx
