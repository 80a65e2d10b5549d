// dropout(x, seed, ratio): elements become 0 with probability `ratio`, the others grow by 1 / (1 -
// ratio). Element i stays where the uniform number i of the seed is at least `ratio`: no mask is
// kept, and the gradient drops what the result dropped.

#include "rlx/ops/elementwise_row.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_random.h"
#include "rlx/ops/philox.h"

namespace rlx {

const OpDef& dropout_op();

namespace {

double ratio_of(const Attrs& attrs) { return attrs.get<double>("ratio"); }

Types infer(const InferSite& site) {
  require(is_float(site.in(0).dtype), "dropout: needs a float tensor, got ", site.in(0));
  require_seed("dropout", site.in(1));
  const double ratio = ratio_of(site.attrs);
  require(ratio >= 0 && ratio <= 1, "dropout: ratio ", ratio, " is not in [0, 1]");
  return {site.in(0)};
}

double scale_of(double ratio) { return ratio < 1 ? 1 / (1 - ratio) : 0; }

void reference(const ReferenceSite& site) {
  const PhiloxKey key = key_of(site.in(1));
  const auto ratio = static_cast<float>(ratio_of(site.attrs));  // as a device has it
  const double scale = scale_of(ratio_of(site.attrs));
  for (int64_t i = 0; i < site.out().count(); ++i) {
    const uint32_t word = philox({uint32_t(i / 4), 0, 0, 0}, key)[size_t(i % 4)];
    site.out().set(i, unit_uniform(word) >= double(ratio) ? site.in(0).at(i) * scale : 0);
  }
}

Steps lower(const LowerSite& site) {
  const Dim elements = count(site.out().shape);
  const double ratio = ratio_of(site.attrs());
  return Dispatch{
      .kernel = kernel("dropout", {"philox"}),
      .operands = {site.read("x", 0), site.read("seed", 1), site.write("y")},
      .params = {{"count", elements}, {"ratio", ratio}, {"scale", scale_of(ratio)}},
      .prelude = {key_function(site.in(1))},
      .workgroups = ceil_div(elements, 4 * 64),
  };
}

Gradients gradient(const GradientSite& site) {
  return {dropout(site.dy(), site.in(1), ratio_of(site.attrs())), std::nullopt};
}

}  // namespace

const OpDef& dropout_op() {
  static const OpDef op{
      .name = "dropout",
      .family = "random",
      .inputs = {2, 2, {"x", "seed"}},
      .attrs = {{"ratio", 0.5}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .accuracy = {2},
      .onnx = "Dropout",
  };
  return op;
}

Value dropout(Value x, Value seed, double ratio) {
  return x.apply(dropout_op(), {x, seed}, {{"ratio", ratio}});
}

Value dropout_mask(Value x, Value seed, double ratio) {
  const Value uniform = random_uniform(seed, x.shape());
  return greater_equal(uniform, scalar(uniform, ratio));
}

}  // namespace rlx
