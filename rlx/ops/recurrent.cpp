// lstm, gru and rnn as ONNX defines them. On a device one product gives every step's part from x;
// then each step of time is one dispatch (two of a gru that scales the state), for all directions.

#include "rlx/ops/recurrent.h"

#include <algorithm>

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/bodies.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_recurrent.h"
#include "rlx/ops/product.h"
#include "rlx/ops/strided.h"

namespace rlx {
namespace {

void check_operand(const InferSite& site, size_t i, const Dims& shape) {
  const TensorType& type = site.in(i);
  const std::string& name = site.op.inputs.names[i];
  const bool right =
      i == kRecurrentLengths ? is_integer(type.dtype) : type.dtype == site.in(kRecurrentX).dtype;
  require(right && type.shape.size() == shape.size(), site.op.name, ": ", name, " is ", type,
          ", it needs to be ",
          i == kRecurrentLengths ? "integers " : text(site.in(kRecurrentX).dtype), shape);
  for (size_t d = 0; d < shape.size(); ++d)
    site.equal(type.shape[d], shape[d], text(name, ' ', type, " does not fit ", shape));
}

Types infer(const InferSite& site) {
  const TensorType &x = site.in(kRecurrentX), &r = site.in(kRecurrentR);
  require(is_float(x.dtype) && rank(x) == 3, site.op.name, ": x is ", x,
          ", it needs floats of rank 3");
  require(rank(r) == 3, site.op.name, ": r is ", r, ", it needs rank 3");
  const RecurrentForm form(site.op, x.shape, r.shape, site.attrs);
  const Dim rows = Dim(form.gates) * form.hidden;
  check_operand(site, kRecurrentW, {form.directions, rows, form.inputs});
  check_operand(site, kRecurrentR, {form.directions, rows, form.hidden});
  if (site.has(kRecurrentBias))
    check_operand(site, kRecurrentBias, {form.directions, rows * Dim(2)});
  if (site.has(kRecurrentLengths)) check_operand(site, kRecurrentLengths, {form.batches});
  for (const size_t i : {kRecurrentInitialH, kRecurrentInitialC})
    if (site.has(i)) check_operand(site, i, form.state());
  if (site.has(kRecurrentPeepholes))
    check_operand(site, kRecurrentPeepholes, {form.directions, form.hidden * Dim(3)});
  Types types{{x.dtype, form.y()}, {x.dtype, form.state()}};
  if (form.lstm) types.push_back(types[1]);
  return types;
}

// One direction of one sequence, step by step.
class Cell {
 public:
  Cell(const ReferenceSite& site, const RecurrentForm& form, int64_t d, int64_t b)
      : site_(site), form_(form), d_(d), b_(b), hidden_(form.hidden.number()) {
    const int64_t at = (form.batch_first ? b * form.directions + d : d * form.batches.number() + b);
    for (int64_t u = 0; u < hidden_; ++u) {
      h.push_back(site.has(kRecurrentInitialH) ? site.in(kRecurrentInitialH).at(at * hidden_ + u)
                                               : 0);
      c.push_back(site.has(kRecurrentInitialC) ? site.in(kRecurrentInitialC).at(at * hidden_ + u)
                                               : 0);
    }
  }
  std::vector<double> h, c;

  void step(int64_t time) {
    if (form_.lstm) return lstm(time);
    if (site_.op.name == "gru") return gru(time);
    std::vector<double> next;
    for (int64_t u = 0; u < hidden_; ++u)
      next.push_back(activate(0, from_x(time, 0, u) + from_state(h, 0, u)));
    h = next;
  }

 private:
  double activate(size_t which, double x) const {
    const size_t each = form_.activations.size() / static_cast<size_t>(form_.directions);
    if (form_.clip > 0 && !(x != x)) x = std::clamp(x, -form_.clip, form_.clip);
    return activated(form_.activations[size_t(d_) * each + which], x);
  }
  double bias(int64_t half, int64_t gate, int64_t u) const {
    const int64_t rows = form_.gates * hidden_;
    return site_.has(kRecurrentBias)
               ? site_.in(kRecurrentBias).at((2 * d_ + half) * rows + gate * hidden_ + u)
               : 0;
  }
  double from_x(int64_t time, int64_t gate, int64_t u) const {
    const int64_t inputs = form_.inputs.number(), steps = form_.steps.number();
    const int64_t row = form_.batch_first ? b_ * steps + time : time * form_.batches.number() + b_;
    double total = bias(0, gate, u);
    for (int64_t k = 0; k < inputs; ++k)
      total += site_.in(kRecurrentX).at(row * inputs + k) *
               site_.in(kRecurrentW).at(((d_ * form_.gates + gate) * hidden_ + u) * inputs + k);
    return total;
  }
  double from_state(const std::vector<double>& state, int64_t gate, int64_t u) const {
    double total = bias(1, gate, u);
    for (int64_t k = 0; k < hidden_; ++k)
      total += state[size_t(k)] *
               site_.in(kRecurrentR).at(((d_ * form_.gates + gate) * hidden_ + u) * hidden_ + k);
    return total;
  }
  double peephole(int64_t which, int64_t u) const {
    return site_.has(kRecurrentPeepholes)
               ? site_.in(kRecurrentPeepholes).at((3 * d_ + which) * hidden_ + u)
               : 0;
  }
  void lstm(int64_t time) {
    std::vector<double> next_h, next_c;
    for (int64_t u = 0; u < hidden_; ++u) {
      const auto sum = [&](int64_t gate) { return from_x(time, gate, u) + from_state(h, gate, u); };
      const double before = c[size_t(u)];
      const double i = activate(0, sum(0) + peephole(0, u) * before);
      const double f = site_.attrs.get<bool>("input_forget")
                           ? 1 - i
                           : activate(0, sum(2) + peephole(2, u) * before);
      next_c.push_back(f * before + i * activate(1, sum(3)));
      const double o = activate(0, sum(1) + peephole(1, u) * next_c.back());
      next_h.push_back(o * activate(2, next_c.back()));
    }
    h = next_h;
    c = next_c;
  }
  void gru(int64_t time) {
    std::vector<double> z, r, reset, next;
    for (int64_t u = 0; u < hidden_; ++u) {
      z.push_back(activate(0, from_x(time, 0, u) + from_state(h, 0, u)));
      r.push_back(activate(0, from_x(time, 1, u) + from_state(h, 1, u)));
      reset.push_back(r.back() * h[size_t(u)]);
    }
    const bool linear = site_.attrs.get<bool>("linear_before_reset");
    for (int64_t u = 0; u < hidden_; ++u) {
      const double sum = linear ? r[size_t(u)] * from_state(h, 2, u) : from_state(reset, 2, u);
      next.push_back((1 - z[size_t(u)]) * activate(1, from_x(time, 2, u) + sum) +
                     z[size_t(u)] * h[size_t(u)]);
    }
    h = next;
  }

  const ReferenceSite& site_;
  const RecurrentForm& form_;
  int64_t d_, b_, hidden_;
};

void reference(const ReferenceSite& site) {
  const RecurrentForm form(site.op, site.in(kRecurrentX).shape(), site.in(kRecurrentR).shape(),
                           site.attrs);
  const int64_t steps = form.steps.number(), batches = form.batches.number(),
                hidden = form.hidden.number();
  for (int64_t d = 0; d < form.directions; ++d)
    for (int64_t b = 0; b < batches; ++b) {
      Cell cell(site, form, d, b);
      const int64_t length =
          site.has(kRecurrentLengths) ? site.in(kRecurrentLengths).integer_at(b) : steps;
      if (length < 0 || length > steps)
        fail(ErrorKind::invalid_input, site.op.name, ": length ", length, " of sequence ", b,
             " is out of range for x ", site.in(kRecurrentX).type(), " (", steps, ')');
      for (int64_t t = 0; t < steps; ++t) {
        const bool reverse = form.reverse || d == 1, over = t >= length;
        const int64_t time = reverse && !over ? length - 1 - t : t;
        if (!over) cell.step(time);
        const int64_t at = form.batch_first ? (b * steps + time) * form.directions + d
                                            : (time * form.directions + d) * batches + b;
        for (int64_t u = 0; u < hidden; ++u)
          site.out().set(at * hidden + u, over ? 0 : cell.h[size_t(u)]);
      }
      const int64_t at = form.batch_first ? b * form.directions + d : d * batches + b;
      for (int64_t u = 0; u < hidden; ++u) {
        site.out(1).set(at * hidden + u, cell.h[size_t(u)]);
        if (form.lstm) site.out(2).set(at * hidden + u, cell.c[size_t(u)]);
      }
    }
}

// x . w^T of every step and direction: [directions, steps, batches, gates * hidden].
Steps input_product(const LowerSite& site, const RecurrentForm& form, const Operand& gates) {
  const Operand &x = site.inputs[kRecurrentX], &w = site.inputs[kRecurrentW];
  const Dim by_step = x.layout.strides[form.batch_first ? 1 : 0],
            by_batch = x.layout.strides[form.batch_first ? 0 : 1];
  Product product;
  product.n = Dim(form.gates) * form.hidden;
  product.k = form.inputs;
  product.a = {flat(x), x.layout.offset, {0}, by_batch, x.layout.strides[2]};
  product.b = {
      flat(w), w.layout.offset, {w.layout.strides[0]}, w.layout.strides[2], w.layout.strides[1]};
  if (by_step == by_batch * form.batches) {  // steps and batches are rows of one matrix
    product.batch = {form.directions};
    product.m = form.steps * form.batches;
  } else {
    product.batch = {form.directions, form.steps};
    product.m = form.batches;
    product.a.batch_strides.push_back(by_step);
    product.b.batch_strides.emplace_back(0);
  }
  product.y = gates;
  return lower_product(site, product);
}

// What all kernels of a step are made with.
Dispatch step_dispatch(const LowerSite& site, const RecurrentForm& form, const Operand& gates,
                       const Dim& step, const Kernel& kernel) {
  const Dim states = form.states();
  const Dims y = strides_of(form.y());
  Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.operands = {LowerSite::named(gates, "gates", Access::read), site.read("r", kRecurrentR)};
  dispatch.prelude =
      activation_functions(form.activations, static_cast<size_t>(form.directions), form.clip);
  const auto optional = [&](size_t i, const std::string& operand, const std::string& head,
                            const std::string& given, const std::string& absent) {
    if (site.has(i)) dispatch.operands.push_back(site.read(operand, i));
    dispatch.prelude.push_back(
        text("fn ", head, " { return ", site.has(i) ? given : absent, "; }"));
  };
  optional(kRecurrentBias, "bias", "bias_at(i: u32) -> f32", "load_bias(i)", "0.0");
  optional(kRecurrentLengths, "lengths", "length_of(b: u32) -> u32",
           "min(u32(max(load_lengths(b), 0)), params.steps)", "params.steps");
  if (form.lstm)
    optional(kRecurrentPeepholes, "p", "peephole_at(i: u32) -> f32", "load_p(i)", "0.0");
  dispatch.constants = {{"GATES", form.gates}, {"REVERSE", form.reverse}};
  dispatch.params = {{"steps", form.steps},
                     {"batches", form.batches},
                     {"hidden", form.hidden},
                     {"states", states},
                     {"step", step},
                     {"from_half", mod(step, 2) * states},
                     {"to_half", mod(step + 1, 2) * states},
                     {"y_time", y[form.batch_first ? 1 : 0]},
                     {"y_direction", y[form.batch_first ? 2 : 1]},
                     {"y_batch", y[form.batch_first ? 0 : 2]}};
  dispatch.workgroups = ceil_div(states, 64);
  return dispatch;
}

// A state as [directions, batches, hidden], wherever the operand or the result has these.
Operand by_direction(Operand operand, const RecurrentForm& form) {
  if (!form.batch_first) return operand;
  std::swap(operand.shape[0], operand.shape[1]);
  std::swap(operand.layout.strides[0], operand.layout.strides[1]);
  return operand;
}

// Copies an initial state, or zeros, to the front of `state`.
Steps start_state(const LowerSite& site, const RecurrentForm& form, size_t operand, Operand state) {
  if (!site.has(operand)) return Clear{state.value};
  state.shape = {form.directions, form.batches, form.hidden};
  state.layout = Layout::row_major(state.shape);
  return copy_view(by_direction(site.inputs[operand], form), state, site.traits);
}

// A final state, which begins at `first`, in the order the result has.
Steps final_state(const LowerSite& site, const RecurrentForm& form, Operand state, const Dim& first,
                  size_t result) {
  state.shape = {form.directions, form.batches, form.hidden};
  state.layout = Layout::row_major(state.shape);
  state.layout.offset = first;
  return copy_view(by_direction(LowerSite::named(state, "x", Access::read), form),
                   site.results[result], site.traits);
}

Operand updated(const Operand& operand, const char* name) {
  return LowerSite::named(operand, name, Access::read_write);
}

Steps lower(const LowerSite& site) {
  const OpDef& op = *site.node.op;
  const RecurrentForm form(op, site.in(kRecurrentX).shape, site.in(kRecurrentR).shape,
                           site.attrs());
  const std::string counter = text("step.", site.results[0].value);
  const Dim states = form.states();
  const Operand gates = site.temporary(
      "gates", f32({form.directions, form.steps, form.batches, Dim(form.gates) * form.hidden}));
  const Operand h = site.temporary("h", f32({2, form.directions, form.batches, form.hidden}));
  const bool packed = is_packed(site.out().dtype, site.traits);
  const Operand y = packed ? site.temporary("y", f32(form.y())) : site.write("y");
  Steps steps = input_product(site, form, gates);
  steps.append(start_state(site, form, kRecurrentInitialH, h));
  const auto dispatch = [&](const char* name) {  // of what ends a step
    return step_dispatch(site, form, gates, Dim(counter),
                         kernel(name, {"numbers", "functions", "recurrent", "recurrent_state"}));
  };
  Steps body;
  std::optional<Operand> c;
  if (form.lstm) {
    c = site.temporary("c", f32({form.directions, form.batches, form.hidden}));
    steps.append(start_state(site, form, kRecurrentInitialC, *c));
    Dispatch cell = dispatch("lstm");
    cell.constants.push_back({"COUPLED", site.attrs().get<bool>("input_forget")});
    for (const Operand& operand : {updated(h, "h"), updated(*c, "c"), y})
      cell.operands.push_back(operand);
    body.add(std::move(cell));
  } else if (op.name == "rnn" || site.attrs().get<bool>("linear_before_reset")) {
    Dispatch cell = dispatch(op.name == "rnn" ? "rnn" : "gru");
    for (const Operand& operand : {updated(h, "h"), y}) cell.operands.push_back(operand);
    body.add(std::move(cell));
  } else {
    const Operand z = site.temporary("z", f32({states})),
                  reset = site.temporary("reset", f32({states}));
    Dispatch first = step_dispatch(site, form, gates, Dim(counter),
                                   kernel("gru_gates", {"numbers", "functions", "recurrent"}));
    Dispatch second = dispatch("gru_state");
    for (const Operand& operand : {LowerSite::named(h, "h", Access::read), z, reset})
      first.operands.push_back(operand);
    for (const Operand& operand :
         {LowerSite::named(z, "z", Access::read), LowerSite::named(reset, "reset", Access::read),
          updated(h, "h"), y})
      second.operands.push_back(operand);
    body.add(std::move(first));
    body.add(std::move(second));
  }
  steps.add(Clear{y.value});  // it then lives through the whole loop
  steps.add(Loop{form.steps, counter, std::move(body)});
  if (packed)
    steps.append(copy_view(LowerSite::named(y, "x", Access::read), site.results[0], site.traits));
  steps.append(final_state(site, form, h, mod(form.steps, 2) * states, 1));
  if (c) steps.append(final_state(site, form, *c, 0, 2));
  return steps;
}

OpDef recurrent(const char* name, const char* onnx) {
  OpDef op{
      .name = name,
      .family = "recurrent",
      .inputs = {3, 6, {"x", "w", "r", "bias", "sequence_lens", "initial_h"}},
      .results = {2, 2, {"y", "y_h"}},
      .attrs = {{"direction", "forward"},
                {"layout", 0},
                {"clip", 0.0},
                {"activations", Strings{}},
                {"activation_alpha", Floats{}},
                {"activation_beta", Floats{}}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = recurrent_gradient,
      .accuracy = {32},
      .onnx = onnx,
  };
  return op;
}

}  // namespace

const OpDef& lstm_op() {
  static const OpDef op = [] {
    OpDef lstm = recurrent("lstm", "LSTM");
    lstm.inputs = {3, 8, {"x", "w", "r", "bias", "sequence_lens", "initial_h", "initial_c", "p"}};
    lstm.results = {3, 3, {"y", "y_h", "y_c"}};
    lstm.attrs.push_back({"input_forget", false});
    return lstm;
  }();
  return op;
}

const OpDef& gru_op() {
  static const OpDef op = [] {
    OpDef gru = recurrent("gru", "GRU");
    gru.attrs.push_back({"linear_before_reset", false});
    return gru;
  }();
  return op;
}

const OpDef& rnn_op() {
  static const OpDef op = recurrent("rnn", "RNN");
  return op;
}

namespace {

Attrs attrs_of(const RecurrentOptions& options) {
  return {{"direction", options.direction},
          {"layout", options.layout},
          {"clip", options.clip},
          {"activations", options.activations},
          {"activation_alpha", options.activation_alpha},
          {"activation_beta", options.activation_beta}};
}

}  // namespace

Values lstm(Value x, Value w, Value r, const RecurrentOptions& options) {
  Attrs attrs = attrs_of(options);
  attrs.set("input_forget", options.input_forget);
  return results_of(x.apply(lstm_op(),
                            {x, w, r, options.bias, options.sequence_lens, options.initial_h,
                             options.initial_c, options.peepholes},
                            attrs));
}

Values gru(Value x, Value w, Value r, const RecurrentOptions& options) {
  Attrs attrs = attrs_of(options);
  attrs.set("linear_before_reset", options.linear_before_reset);
  return results_of(
      x.apply(gru_op(), {x, w, r, options.bias, options.sequence_lens, options.initial_h}, attrs));
}

Values rnn(Value x, Value w, Value r, const RecurrentOptions& options) {
  return results_of(x.apply(rnn_op(),
                            {x, w, r, options.bias, options.sequence_lens, options.initial_h},
                            attrs_of(options)));
}

}  // namespace rlx
