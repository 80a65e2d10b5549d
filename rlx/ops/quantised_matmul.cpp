// quantised_matmul(x, w, scales): x[.., K] times w[N, K], kept as i8 in blocks along K with a scale
// each.

#include <algorithm>

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_linear.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &w = site.in(1), &scales = site.in(2);
  const int64_t block = site.attrs.get<int64_t>("block");
  require(is_float(x.dtype) && rank(x) > 0, "quantised_matmul: x is ", x,
          ", it needs floats of rank 1 or more");
  require(w.dtype == DType::i8 && rank(w) == 2, "quantised_matmul: w is ", w,
          ", it needs to be i8[N, K]");
  require(is_float(scales.dtype) && rank(scales) == 2, "quantised_matmul: scales are ", scales,
          ", they need to be floats [N, K / block]");
  require(block > 0, "quantised_matmul: block ", block, " is not positive");
  site.equal(x.shape.back(), w.shape[1], text("the inner dims of ", x, " and ", w, " differ"));
  site.equal(scales.shape[0], w.shape[0], text("scales ", scales, " do not fit w ", w));
  site.equal(scales.shape[1] * Dim(block), w.shape[1],
             text("blocks of ", block, " with scales ", scales, " do not fill w ", w));
  Dims shape = x.shape;
  shape.back() = w.shape[0];
  return {{x.dtype, shape}};
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &w = site.in(1), &scales = site.in(2);
  const int64_t block = site.attrs.get<int64_t>("block"), n = w.shape()[0], k = w.shape()[1];
  for (int64_t at = 0; at < site.out().count(); ++at) {
    const int64_t row = at / n, column = at % n;
    double total = 0;
    for (int64_t i = 0; i < k; ++i)
      total += x.at(row * k + i) * w.at(column * k + i) * scales.at((column * k + i) / block);
    site.out().set(at, total);
  }
}

Dim rows_of(const Dims& shape) { return count(Dims(shape.begin(), shape.end() - 1)); }

constexpr int64_t kRows = 4;  // of x, per invocation

Steps lower(const LowerSite& site) {
  const TensorType &w = site.in(1), &scales = site.in(2);
  const Dim n = w.shape[0], k = w.shape[1];
  const Dim m = rows_of(site.in(0).shape);
  Dispatch dispatch{
      .kernel = kernel("quantised_matmul"),
      .operands = {site.read("x", 0), site.read("w", 1), site.read("scales", 2), site.write("y")},
  };
  // Rows of x and y go together, those of w with those of the scales.
  const auto large = [&](const Operand& operand) {
    const DType dtype = operand.access == Access::write ? unpacked(operand.dtype) : operand.dtype;
    return !fits_binding(dtype, operand.shape, site.traits) && operand.contiguous();
  };
  const auto rows_that_fit = [&](const Operand& operand, const Dim& row) {
    const int64_t bytes =
        std::max<int64_t>(site.traits.max_binding_bytes - site.traits.storage_alignment, 4);
    const int64_t width =
        operand.access == Access::write ? 4 : device_storage(operand.dtype, site.traits).bytes;
    return max(floor_div(bytes / width, max(row, 1)), 1);
  };
  Operand &x_operand = dispatch.operands[0], &w_operand = dispatch.operands[1];
  Operand &scales_operand = dispatch.operands[2], &y_operand = dispatch.operands[3];
  Dim m_size = m, n_size = n;
  const bool cut_m = large(x_operand) || large(y_operand);
  const bool cut_n = large(w_operand) && n.is_number() && k.is_number();
  if (cut_m) m_size = min(rows_that_fit(x_operand, k), rows_that_fit(y_operand, n));
  if (cut_n) n_size = rows_that_fit(w_operand, k);
  const Dim n_shards = cut_n ? ceil_div(n, n_size) : Dim(1);
  const Dim m_first = cut_m ? floor_div(kShard, n_shards) * m_size : Dim(0),
            m_end = min(m, m_first + m_size);
  const Dim n_first = cut_n ? mod(kShard, n_shards) * n_size : Dim(0),
            n_end = min(n, n_first + n_size);
  dispatch.repeat = (cut_m ? ceil_div(m, m_size) : Dim(1)) * n_shards;
  if (cut_m) y_operand.window = {m_first * n, (m_end - m_first) * n};
  if (cut_m && x_operand.contiguous()) x_operand.window = {m_first * k, (m_end - m_first) * k};
  if (cut_n) w_operand.window = {n_first * k, (n_end - n_first) * k};
  const Dim blocks = scales.shape[1];
  if (cut_n && scales_operand.contiguous())
    scales_operand.window = {n_first * blocks, (n_end - n_first) * blocks};
  dispatch.params = {{"n", n},
                     {"k", k},
                     {"block", Dim(site.attrs().get<int64_t>("block"))},
                     {"m_first", m_first},
                     {"m_end", m_end},
                     {"n_first", n_first},
                     {"n_end", n_end}};
  dispatch.workgroups = ceil_div(m_end - m_first, kRows) * ceil_div(n_end - n_first, 64);
  return dispatch;
}

// w itself is not differentiable; x and the scales see it decoded.
Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), w = site.in(1), scales = site.in(2), dy = site.dy();
  const Dim n = w.shape()[0], k = w.shape()[1], block = site.attrs().get<int64_t>("block");
  const Dims blocks = {n, scales.shape()[1], block};
  const Value q = reshape(cast(w, x.dtype()), blocks);
  const Value decoded = reshape(q * unsqueeze(cast(scales, x.dtype()), {2}), Dims{n, k});
  const Dim rows = rows_of(x.shape());
  const Value dw = matmul(reshape(dy, Dims{rows, n}), reshape(x, Dims{rows, k}), true);
  return {matmul(dy, decoded), std::nullopt,
          cast(sum(reshape(dw, blocks) * q, {2}), scales.dtype())};
}

}  // namespace

const OpDef& quantised_matmul_op() {
  static const OpDef op{
      .name = "quantised_matmul",
      .family = "linear",
      .inputs = {3, 3, {"x", "w", "scales"}},
      .attrs = {{"block"}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .accuracy = {8},
  };
  return op;
}

Value quantised_matmul(Value x, Value w, Value scales, int64_t block) {
  return x.apply(quantised_matmul_op(), {x, w, scales}, {{"block", block}});
}

}  // namespace rlx
