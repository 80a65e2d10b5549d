// lstm, gru and rnn as ONNX defines them.

#include "rlx/ops/recurrent.h"

#include <algorithm>

#include "rlx/ops/bodies.h"
#include "rlx/ops/ops_recurrent.h"

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
      .lower = lower_recurrent,
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
