// The gradient of selective_scan. With g the gradient of a state, which goes backwards as the state
// went forwards (g = exp(delta * a) of the next step * g + c * dy), those of the operands are sums
// of products of g and h. Neither is kept for all steps: chunks begin with what is carried into
// them.

#include <cmath>

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/selective_scan.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

// dx, d_delta, a part of da for each chunk, db, dc, d_state.
Types infer(const InferSite& site) {
  const DType wide = check_scan(site, kScanGradientState);
  const TensorType &x = site.in(kScanX), &a = site.in(kScanA), &b = site.in(kScanB),
                   &dy = site.in(kScanDy);
  const ScanForm form(x.shape, a.shape, b.shape);
  require(is_float(dy.dtype) && rank(dy) == 3, site.op.name, ": dy is ", dy,
          ", it needs to be like x ", x);
  for (size_t d = 0; d < 3; ++d)
    site.equal(dy.shape[d], x.shape[d], text("dy ", dy, " is not like x ", x));
  if (site.has(kScanDNext)) {
    const TensorType& d_next = site.in(kScanDNext);
    require(is_float(d_next.dtype) && rank(d_next) == 3, site.op.name, ": d_next is ", d_next,
            ", it needs to be like the state");
    for (size_t d = 0; d < 3; ++d)
      site.equal(d_next.shape[d], form.state()[d],
                 text("d_next ", d_next, " is not like the state"));
  }
  return {{wide, x.shape},
          {wide, x.shape},
          {wide, {form.batches, form.chunks(), form.channels, form.states}},
          {wide, b.shape},
          {wide, b.shape},
          {wide, form.state()}};
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(kScanX), &delta = site.in(kScanDelta), &a = site.in(kScanA),
               &b = site.in(kScanB), &c = site.in(kScanC), &dy = site.in(kScanDy);
  const ConcreteScan form(x, a, b);
  const int64_t chunk = ScanForm::kChunk, chunks = (form.steps + chunk - 1) / chunk;
  std::vector<double> sums[5];  // by result
  for (size_t i = 0; i < 5; ++i) sums[i].resize(static_cast<size_t>(site.out(i).count()));
  std::vector<double> h(static_cast<size_t>(form.steps + 1));
  for (int64_t batch = 0; batch < form.batches; ++batch)
    for (int64_t channel = 0; channel < form.channels; ++channel)
      for (int64_t n = 0; n < form.states; ++n) {
        const int64_t state = (batch * form.channels + channel) * form.states + n;
        const double rate = a.at(channel * form.states + n);
        h[0] = site.has(kScanGradientState) ? site.in(kScanGradientState).at(state) : 0;
        for (int64_t t = 0; t < form.steps; ++t) {
          const int64_t at = form.x(batch, t, channel);
          h[size_t(t) + 1] = std::exp(delta.at(at) * rate) * h[size_t(t)] +
                             delta.at(at) * b.at(form.b(batch, t, channel, n)) * x.at(at);
        }
        double g = site.has(kScanDNext) ? site.in(kScanDNext).at(state) : 0;
        for (int64_t t = form.steps; t-- > 0;) {
          const int64_t at = form.x(batch, t, channel), of_state = form.b(batch, t, channel, n),
                        part =
                            ((batch * chunks + t / chunk) * form.channels + channel) * form.states +
                            n;
          const double step = delta.at(at), left = std::exp(step * rate);
          g += c.at(of_state) * dy.at(at);
          const double of_exponent = g * left * h[size_t(t)];
          sums[0][size_t(at)] += g * b.at(of_state) * step;
          sums[1][size_t(at)] += of_exponent * rate + g * b.at(of_state) * x.at(at);
          sums[2][size_t(part)] += of_exponent * step;
          sums[3][size_t(of_state)] += g * step * x.at(at);
          sums[4][size_t(of_state)] += dy.at(at) * h[size_t(t) + 1];
          g *= left;
        }
        site.out(5).set(state, g);
      }
  for (size_t i = 0; i < 5; ++i)
    for (int64_t at = 0; at < site.out(i).count(); ++at) site.out(i).set(at, sums[i][size_t(at)]);
}

// A result is a part of what a kernel gave, from `first` on.
Steps take(const LowerSite& site, Operand from, const Dim& first, size_t result) {
  from = LowerSite::named(from, "x", Access::read);
  from.shape = site.out(result).shape;
  from.layout = Layout::row_major(from.shape);
  from.layout.offset = first;
  return copy_view(from, site.results[result], site.traits);
}

Steps lower(const LowerSite& site) {
  const ScanForm form(site.in(kScanX).shape, site.in(kScanA).shape, site.in(kScanB).shape);
  const Dim elements = count(site.in(kScanX).shape), of_states = count(site.in(kScanB).shape);
  const Operand ends = site.temporary("ends", f32({3, form.carried()})),
                last = site.temporary("last", f32(form.state())),
                by_channel = site.temporary("out", f32({elements * Dim(2) + form.carried()})),
                by_state = site.temporary("out", f32({of_states * Dim(2)}));
  const auto given = [&](size_t i) {
    return site.has(i) ? std::optional(site.inputs[i]) : std::nullopt;
  };
  Steps steps = scan_chunks(site, form, ends, 0, false, given(kScanGradientState), last);
  steps.append(scan_chunks(site, form, ends, 2, true, given(kScanDNext), site.results[5]));
  const auto add = [&](const char* name, const Operand& out, const Dim& lanes) {
    steps.add(Dispatch{
        .kernel = kernel(name, {"numbers", "functions", "selective_scan"}),
        .operands = {site.read("x", kScanX), site.read("delta", kScanDelta), site.read("a", kScanA),
                     site.read("b", kScanB), site.read("c", kScanC), site.read("dy", kScanDy),
                     LowerSite::named(ends, "ends", Access::read), out},
        .constants = {{"CHUNK", ScanForm::kChunk}},
        .params = form.params(),
        .workgroups = ceil_div(lanes, 64),
    });
  };
  add("selective_scan_dx", by_channel, form.batches * form.chunks() * form.channels);
  add("selective_scan_db", by_state, form.batches * form.chunks() * form.groups * form.states);
  const Operand* const sources[] = {&by_channel, &by_channel, &by_channel, &by_state, &by_state};
  const Dim firsts[] = {0, elements, elements * Dim(2), 0, of_states};
  for (size_t i = 0; i < 5; ++i) steps.append(take(site, *sources[i], firsts[i], i));
  return steps;
}

}  // namespace

const OpDef& selective_scan_gradient_op() {
  static const OpDef op{
      .name = "selective_scan_gradient",
      .family = "sequence layers",
      .inputs = {6, 8, {"x", "delta", "a", "b", "c", "dy", "state", "d_next_state"}},
      .results = {6, 6, {"dx", "d_delta", "da_of_chunks", "db", "dc", "d_state"}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .never_fails = true,
      .accuracy = {16},
      .gradient_reason = "it is a gradient itself, and only first derivatives are needed to train",
  };
  return op;
}

}  // namespace rlx
