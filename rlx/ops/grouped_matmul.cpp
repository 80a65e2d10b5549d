// grouped_matmul(x, w, expert): row i is x[i] . w[expert[i]]. An expert out of range is an Error on
// the host, a row of zeros and a flag on a device.

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_linear.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &w = site.in(1), &expert = site.in(2);
  require(is_float(x.dtype) && rank(x) == 2, "grouped_matmul: x is ", x,
          ", it needs floats [M, K]");
  require(w.dtype == x.dtype && rank(w) == 3, "grouped_matmul: w is ", w, ", it needs to be ",
          x.dtype, "[E, K, N]");
  require(is_integer(expert.dtype) && rank(expert) == 1, "grouped_matmul: expert is ", expert,
          ", it needs integers [M]");
  site.equal(x.shape[1], w.shape[1], text("the inner dims of ", x, " and ", w, " differ"));
  site.equal(x.shape[0], expert.shape[0], text("rows of x ", x, " and experts ", expert));
  return {{x.dtype, {x.shape[0], w.shape[2]}}};
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &w = site.in(1), &expert = site.in(2);
  const int64_t experts = w.shape()[0], k = w.shape()[1], n = w.shape()[2];
  for (int64_t row = 0; row < x.shape()[0]; ++row) {
    const int64_t e = expert.integer_at(row);
    if (e < 0 || e >= experts)
      fail(ErrorKind::invalid_input, "grouped_matmul: expert ", e, " of row ", row,
           " is out of range for w ", w.type(), " (", experts, ")");
    for (int64_t column = 0; column < n; ++column) {
      double total = 0;
      for (int64_t i = 0; i < k; ++i) total += x.at(row * k + i) * w.at((e * k + i) * n + column);
      site.out().set(row * n + column, total);
    }
  }
}

constexpr int64_t kRows = 4, kColumns = 4;  // per invocation, of few rows
constexpr int64_t kFewRows = 8, kTile = 32;
enum Variant : int64_t { few_rows = 0, tiles = 1, as_counted = 2 };

// Where only a run counts the rows, as of a prompt and then of each token, both kernels are there.
Steps lower(const LowerSite& site) {
  const Dims& w = site.in(1).shape;
  const Dim rows = site.in(0).shape[0];
  const int64_t usual = !rows.is_number()          ? as_counted
                        : rows.number() > kFewRows ? tiles
                                                   : few_rows;
  const int64_t variant = site.choices.get("grouped_matmul.variant", usual);
  const int64_t lanes = site.traits.device_class == DeviceClass::software ? 8 : 64;
  const Alternative few{.guard = 1 - min(floor_div(rows, kFewRows + 1), 1),
                        .source = kernel("grouped_matmul").source,
                        .constants = {{"WORKGROUP", lanes}},
                        .workgroups = ceil_div(rows, kRows) * ceil_div(w[2], kColumns * lanes)};
  Dispatch dispatch{
      .kernel = kernel("grouped_matmul_tile"),
      .operands = {site.read("x", 0), site.read("w", 1), site.read("expert", 2), site.write("y")},
      .params = {{"m", rows}, {"experts", w[0]}, {"k", w[1]}, {"n", w[2]}},
      .workgroups = ceil_div(rows, kTile) * ceil_div(w[2], kTile),
      .flags_errors = true,
  };
  dispatch.kernel.name = site.node.op->name;
  if (variant == as_counted) dispatch.alternatives.push_back(few);
  if (variant != few_rows) return dispatch;
  dispatch.kernel.source = few.source;
  dispatch.constants = few.constants;
  dispatch.workgroups = few.workgroups;
  return dispatch;
}

// An expert's weights see the rows that went to it: the others are masked.
Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), w = site.in(1), expert = site.in(2), dy = site.dy();
  const Value numbers = counting(x, w.shape()[0]);
  const Value own = equal(unsqueeze(numbers, {1}), unsqueeze(cast(expert, DType::i64), {0}));
  const Value masked = unsqueeze(cast(own, x.dtype()), {2}) * x;
  return {grouped_matmul(dy, transpose(w, {0, 2, 1}), expert), matmul(masked, dy, true),
          std::nullopt};
}

}  // namespace

const OpDef& grouped_matmul_op() {
  static const OpDef op{
      .name = "grouped_matmul",
      .family = "linear",
      .inputs = {3, 3, {"x", "w", "expert"}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .variants = {{"grouped_matmul.variant", 2}},
  };
  return op;
}

Value grouped_matmul(Value x, Value w, Value expert) {
  return x.apply(grouped_matmul_op(), {x, w, expert});
}

}  // namespace rlx
