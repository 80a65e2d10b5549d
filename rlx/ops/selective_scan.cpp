// selective_scan: h = exp(delta * a) * h + delta * b * x, y = sum over the states of c * h, along
// the steps of a sequence. On a device either one lane takes all steps of a channel, or each chunk
// of steps has a lane, once what the chunks before it come to is known.

#include "rlx/ops/selective_scan.h"

#include <cmath>

#include "rlx/ops/elementwise.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_sequence.h"
#include "rlx/ops/views.h"

namespace rlx {

std::vector<Param> ScanForm::params() const {
  return {{"batches", batches},   {"steps", steps},
          {"channels", channels}, {"states", states},
          {"groups", groups},     {"chunks", chunks()},
          {"carried", carried()}, {"group_channels", max(ceil_div(channels, max(groups, 1)), 1)}};
}

DType check_scan(const InferSite& site, size_t state_operand) {
  const std::string& op = site.op.name;
  const TensorType &x = site.in(kScanX), &delta = site.in(kScanDelta), &a = site.in(kScanA);
  require(is_float(x.dtype) && rank(x) == 3, op, ": x is ", x,
          ", it needs floats [batches, steps, channels]");
  require(is_float(delta.dtype) && rank(delta) == 3, op, ": delta is ", delta,
          ", it needs floats like x ", x);
  for (size_t d = 0; d < 3; ++d)
    site.equal(delta.shape[d], x.shape[d], text("delta ", delta, " is not like x ", x));
  require(is_float(a.dtype) && rank(a) == 2, op, ": a is ", a,
          ", it needs floats [channels, states]");
  site.equal(a.shape[0], x.shape[2], text("a ", a, " does not fit the channels of x ", x));
  for (const size_t i : {kScanB, kScanC}) {
    const TensorType& b = site.in(i);
    const char* name = i == kScanB ? "b" : "c";
    require(is_float(b.dtype) && (rank(b) == 3 || rank(b) == 4), op, ": ", name, " is ", b,
            ", it needs floats [batches, steps, states] or [batches, steps, groups, states]");
    for (size_t d = 0; d < 2; ++d)
      site.equal(b.shape[d], x.shape[d], text(name, " ", b, " does not fit x ", x));
    site.equal(b.shape.back(), a.shape[1], text(name, " ", b, " does not fit a ", a));
    if (rank(b) == 4)
      site.multiple_of(x.shape[2], b.shape[2],
                       text("the channels of x ", x, " for ", name, " ", b));
  }
  require(rank(site.in(kScanB)) == rank(site.in(kScanC)), op, ": b ", site.in(kScanB), " and c ",
          site.in(kScanC), " differ");
  if (rank(site.in(kScanB)) == 4)
    site.equal(site.in(kScanB).shape[2], site.in(kScanC).shape[2],
               text("the groups of b ", site.in(kScanB), " and c ", site.in(kScanC)));
  const DType wide = bytes_of(x.dtype) < 4 ? DType::f32 : x.dtype;
  if (site.has(state_operand)) {
    const TensorType& state = site.in(state_operand);
    require(state.dtype == wide && rank(state) == 3, op, ": the state is ", state,
            ", it needs to be ", wide, "[batches, channels, states]");
    const Dims shape{x.shape[0], x.shape[2], a.shape[1]};
    for (size_t d = 0; d < 3; ++d)
      site.equal(state.shape[d], shape[d],
                 text("the state ", state, " does not fit x ", x, " and a ", a));
  }
  return wide;
}

Steps scan_chunks(const LowerSite& site, const ScanForm& form, const Operand& ends, int64_t part,
                  bool backwards, std::optional<Operand> first, const Operand& last) {
  std::vector<Param> params = form.params();
  params.emplace_back("part", Dim(part));
  constexpr int64_t kWorkgroup = 64;
  std::vector<Operand> operands{site.read("delta", kScanDelta), site.read("a", kScanA)};
  if (backwards)  // c * dy comes in where forwards delta * x * b does
    for (const Operand& operand : {site.read("b", kScanC), site.read("x", kScanDy)})
      operands.push_back(operand);
  else
    for (const Operand& operand : {site.read("b", kScanB), site.read("x", kScanX)})
      operands.push_back(operand);
  operands.push_back(LowerSite::named(ends, "ends", Access::write));
  Steps steps;
  steps.add(Dispatch{
      .kernel = kernel("selective_scan_ends", {"numbers", "functions", "selective_scan"}),
      .operands = std::move(operands),
      .constants = {{"CHUNK", ScanForm::kChunk}, {"BACKWARDS", backwards}},
      .params = params,
      .workgroups = ceil_div(form.carried(), kWorkgroup),
  });
  const std::string load =
      text("fn first_state(i: u32) -> f32 { return ", first ? "load_first(i)" : "0.0", "; }");
  Dispatch carry{
      .kernel = kernel("selective_scan_carry", {}),
      .operands = {LowerSite::named(ends, "ends", Access::read_write),
                   LowerSite::named(last, "last", Access::write)},
      .constants = {{"BACKWARDS", backwards}},
      .params = std::move(params),
      .prelude = {load},
      .workgroups = ceil_div(form.batches * form.states * form.channels, kWorkgroup),
  };
  if (first) carry.operands.push_back(LowerSite::named(*first, "first", Access::read));
  steps.add(std::move(carry));
  return steps;
}

namespace {

Types infer(const InferSite& site) {
  const DType wide = check_scan(site, kScanState);
  const TensorType& x = site.in(kScanX);
  return {x, {wide, {x.shape[0], x.shape[2], site.in(kScanA).shape[1]}}};
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(kScanX), &delta = site.in(kScanDelta), &a = site.in(kScanA),
               &b = site.in(kScanB), &c = site.in(kScanC);
  const ConcreteScan form(x, a, b);
  std::vector<double> h(static_cast<size_t>(form.states));
  for (int64_t batch = 0; batch < form.batches; ++batch)
    for (int64_t channel = 0; channel < form.channels; ++channel) {
      const int64_t first = (batch * form.channels + channel) * form.states;
      for (int64_t n = 0; n < form.states; ++n)
        h[size_t(n)] = site.has(kScanState) ? site.in(kScanState).at(first + n) : 0;
      for (int64_t t = 0; t < form.steps; ++t) {
        const int64_t at = form.x(batch, t, channel);
        double y = 0;
        for (int64_t n = 0; n < form.states; ++n) {
          const int64_t of_state = form.b(batch, t, channel, n);
          double& state = h[size_t(n)];
          state = std::exp(delta.at(at) * a.at(channel * form.states + n)) * state +
                  delta.at(at) * b.at(of_state) * x.at(at);
          y += c.at(of_state) * state;
        }
        site.out().set(at, y);
      }
      for (int64_t n = 0; n < form.states; ++n) site.out(1).set(first + n, h[size_t(n)]);
    }
}

enum Variant : int64_t { in_turn = 0, in_chunks = 1 };

// A lane for all steps of a channel, which keeps the state in the result.
Dispatch scan_in_turn(const LowerSite& site, const ScanForm& form) {
  Dispatch scan{
      .kernel = kernel("selective_scan", {"numbers", "functions", "selective_scan"}),
      .operands = {site.read("x", kScanX), site.read("delta", kScanDelta), site.read("a", kScanA),
                   site.read("b", kScanB), site.read("c", kScanC), site.update("next", 1),
                   site.write("y")},
      .constants = {{"CHUNK", ScanForm::kChunk}, {"IN_TURN", true}},
      .params = form.params(),
      .workgroups = ceil_div(form.batches * form.channels, 64),
  };
  if (site.has(kScanState)) scan.operands.push_back(site.read("state", kScanState));
  scan.prelude = {text("fn first_state(i: u32) -> f32 { return ",
                       site.has(kScanState) ? "load_state(i)" : "0.0", "; }"),
                  "fn before_chunk(batch: u32, chunk: u32, channel: u32, n: u32) -> f32 {\n"
                  "  let i = (batch * params.channels + channel) * params.states + n;\n"
                  "  if (chunk == 0u) { return first_state(i); }\n"
                  "  return load_next(i);\n"
                  "}",
                  "fn put_next(i: u32, h: f32) { store_next(i, h); }"};
  return scan;
}

Steps lower(const LowerSite& site) {
  const ScanForm form(site.in(kScanX).shape, site.in(kScanA).shape, site.in(kScanB).shape);
  const bool is_short = form.steps.is_number() && form.steps.number() <= ScanForm::kChunk;
  const bool software = site.traits.device_class == DeviceClass::software;
  const int64_t variant =
      site.choices.get("selective_scan.variant", is_short || software ? in_turn : in_chunks);
  if (variant == in_turn) return scan_in_turn(site, form);

  const Operand ends = site.temporary("ends", f32({2, form.carried()}));
  std::optional<Operand> first;
  if (site.has(kScanState)) first = site.inputs[kScanState];
  Steps steps = scan_chunks(site, form, ends, 0, false, first, site.results[1]);
  steps.add(Dispatch{
      .kernel = kernel("selective_scan", {"numbers", "functions", "selective_scan"}),
      .operands = {site.read("x", kScanX), site.read("delta", kScanDelta), site.read("a", kScanA),
                   site.read("b", kScanB), site.read("c", kScanC),
                   LowerSite::named(ends, "ends", Access::read), site.write("y")},
      .constants = {{"CHUNK", ScanForm::kChunk}, {"IN_TURN", false}},
      .params = form.params(),
      .prelude = {"fn before_chunk(batch: u32, chunk: u32, channel: u32, n: u32) -> f32 {\n"
                  "  return load_ends(carried_at(batch, chunk, n, channel));\n"
                  "}",
                  "fn put_next(i: u32, h: f32) {}"},
      .workgroups = ceil_div(form.batches * form.chunks() * form.channels, 64),
  });
  return steps;
}

// The gradient of a comes chunk by chunk.
Gradients gradient(const GradientSite& site) {
  const Value x = site.in(kScanX);
  Values operands = site.inputs;
  operands.resize(kScanState + 1);
  operands.insert(operands.begin() + kScanDy,
                  site.result_gradients[0] ? site.dy(0) : zeros(x, x.shape()));
  if (site.result_gradients[1]) operands.push_back(site.dy(1));
  const Value first = x.apply(selective_scan_gradient_op(), operands);
  Gradients gradients(site.inputs.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!site.inputs[i].present()) continue;
    const Value dx = first.of(static_cast<int>(i));
    gradients[i] = cast(i == kScanA ? sum(dx, {0, 1}) : dx, site.in(i).dtype());
  }
  return gradients;
}

}  // namespace

const OpDef& selective_scan_op() {
  static const OpDef op{
      .name = "selective_scan",
      .family = "sequence layers",
      .inputs = {5, 6, {"x", "delta", "a", "b", "c", "state"}},
      .results = {2, 2, {"y", "next_state"}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .accuracy = {16},
      .variants = {{"selective_scan.variant", 2}},
  };
  return op;
}

Values selective_scan(Value x, Value delta, Value a, Value b, Value c,
                      const SelectiveScanOptions& options) {
  if (options.delta_bias.present()) delta = delta + options.delta_bias;
  if (options.delta_softplus) delta = delta.apply(elementwise_op("softplus"), {delta});
  Values operands{x, delta, a, b, c};
  if (options.state.present()) operands.push_back(options.state);
  const Value scanned = x.apply(selective_scan_op(), operands);
  Value y = scanned;
  if (options.skip.present()) y = y + options.skip * x;
  if (options.gate.present()) y = y * options.gate.apply(elementwise_op("silu"), {options.gate});
  return {y, scanned.of(1)};
}

}  // namespace rlx
