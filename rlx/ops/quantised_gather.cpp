// quantised_gather(w, indices): rows of w, which is kept in blocks, decoded: an embedding table.

#include "rlx/ops/block_weights.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_blocks.h"
#include "rlx/ops/places.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) {
  const TensorType &w = site.in(0), &indices = site.in(1);
  const DType dtype = site.attrs.get<DType>("dtype");
  require(w.dtype == DType::u8 && rank(w) == 2, "quantised_gather: w is ", w,
          ", it needs to be u8[N, bytes of a row] in ", site.attrs.get<std::string>("format"));
  require(is_integer(indices.dtype), "quantised_gather: indices are ", indices,
          ", they need to be integers");
  require(is_float(dtype), "quantised_gather: decodes to floats, not to ", dtype);
  Dims shape = indices.shape;
  shape.push_back(row_elements(site, w));
  return {{dtype, shape}};
}

void reference(const ReferenceSite& site) {
  const Tensor &w = site.in(0), &indices = site.in(1);
  const BlockFormat format = format_of(site.attrs);
  const int64_t bytes = w.shape()[1];
  for (int64_t i = 0; i < indices.count(); ++i) {
    const int64_t row = checked_index(site, indices.integer_at(i), 0);
    const Tensor values = decode_blocks(w.part(row * bytes, {bytes}), format);
    for (int64_t k = 0; k < values.count(); ++k)
      site.out().set(i * values.count() + k, values.at(k));
  }
}

Steps lower(const LowerSite& site) {
  Steps steps;
  WeightRows w = weight_rows(site, 0, steps);
  Operand y = site.write("y");
  const RowsPart part = cut_rows(site, count(site.in(1).shape), {{&y, w.k}}, w);
  Dispatch dispatch{.kernel = kernel("quantised_gather", {"indices"}),
                    .operands = {site.read("indices", 1), y},
                    .params = {{"n", w.count}},
                    .flags_errors = true};
  add_weights(dispatch, w, part);
  dispatch.workgroups = ceil_div((part.m_end - part.m_first) * ceil_div(w.k, 4), 64);
  return steps.append(dispatch);
}

}  // namespace

const OpDef& quantised_gather_op() {
  static const OpDef op{
      .name = "quantised_gather",
      .family = "indexing",
      .inputs = {2, 2, {"w", "indices"}},
      .attrs = {{"format"}, {"block", 0}, {"dtype", DType::f32}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient_reason = "bytes have no gradient",
  };
  return op;
}

Value quantised_gather(Value w, Value indices, const std::string& format, int64_t block) {
  return w.apply(quantised_gather_op(), {w, indices}, {{"format", format}, {"block", block}});
}

}  // namespace rlx
