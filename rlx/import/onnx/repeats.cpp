#include "rlx/import/onnx/repeats.h"

#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_cumulative.h"
#include "rlx/ops/ops_rearrange.h"

namespace rlx::onnx {
namespace {

// The one axis along which `repeats` has more than `x`, if there is one.
std::optional<size_t> grown_axis(const Dims& x, const Dims& repeats) {
  if (x.size() != repeats.size()) return std::nullopt;
  std::optional<size_t> grown;
  for (size_t d = 0; d < x.size(); ++d) {
    if (x[d] == repeats[d]) continue;
    if (grown || !x[d].is(1)) return std::nullopt;
    grown = d;
  }
  return grown;
}

}  // namespace

std::optional<RepeatedRow> repeated_row(Value row) {
  const Node& reshape = row.producer();
  if (reshape.op->name != "reshape") return std::nullopt;
  const Value large = reshape.inputs[0];
  const Node& expand = large.producer();
  if (expand.op->name != "expand" || expand.inputs.size() < 2 || !expand.inputs[1].present())
    return std::nullopt;
  const Value small = expand.inputs[0], target = expand.inputs[1];
  const auto at = grown_axis(small.shape(), large.shape());
  if (!at || *at == 0 || !large.shape()[*at - 1].is(1)) return std::nullopt;
  Dims merged = large.shape();  // the axis and the one of extent 1 before it are one
  merged.erase(merged.begin() + static_cast<int64_t>(*at) - 1);
  const size_t unnamed = large.shape().size() - static_cast<size_t>(target.shape()[0].number());
  if (!(merged == row.shape()) || *at < unnamed) return std::nullopt;
  const auto axis = static_cast<int64_t>(*at), named = static_cast<int64_t>(*at - unnamed);
  return RepeatedRow{squeeze(small, {axis}), squeeze(slice(target, {named}, {named + 1}, {0}), {0}),
                     axis - 1};
}

// Place j of the result is of the element behind as many as have ended by then.
Value repeated(Value x, Value counts, int64_t axis) {
  const auto number = [&](DType dtype, double value) {
    return constant_beside(x, Tensor::scalar(dtype, value));
  };
  constexpr double kNoExtent = -1e9;
  const Value least = reduce_min(counts, {0}), total = sum(counts, {0});
  const Value extent = where(less(least, number(DType::i64, 0)), number(DType::i64, kNoExtent),
                             total + number(DType::i64, 1));
  const Value none = expand(number(DType::i32, 0), reshape(extent, Dims{1}));
  const Value one = expand(number(DType::i32, 1), counts.shape());
  const Value ended = cumsum(scatter(none, cumsum(counts, 0), one, 0, "add"), 0);
  return gather(x, slice(ended, {0}, {-1}, {0}), axis);
}

}  // namespace rlx::onnx
