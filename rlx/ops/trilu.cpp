// trilu(x, upper, k): x with zeros below (or, where it keeps the lower part, above) the k-th
// diagonal of its last two dims.

#include <algorithm>

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/ops_fill.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& trilu_op();

namespace {

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  require(rank(x) >= 2, "trilu: ", x, " is not a matrix (rank ", rank(x), ")");
  require(!site.has(1) || (is_integer(site.in(1).dtype) && count(site.in(1).shape).is(1)),
          "trilu: k must be one integer, got ", site.has(1) ? site.in(1) : x);
  return {x};
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(0), zero(x.dtype(), {});
  const int64_t k = site.has(1) ? site.in(1).integer_at(0) : site.attrs.get<int64_t>("k");
  const bool upper = site.attrs.get<bool>("upper");
  const int64_t rows = x.shape()[x.shape().size() - 2], columns = x.shape().back();
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t right = i % columns - i / columns % rows;  // of the main diagonal
    const bool kept = upper ? right >= k : right <= k;
    copy_elements(kept ? x : zero, kept ? i : 0, site.out(), i, 1);
  }
}

// Any diagonal this far away is the same, and counts in 32 bits.
Dim near(const Dim& k) {
  constexpr int64_t kFar = int64_t{1} << 30;
  if (k.is_number()) return std::clamp(k.number(), -kFar, kFar);
  return smaller(larger(k, -kFar), kFar);
}

Steps lower(const LowerSite& site) {
  const Dims& shape = site.in(0).shape;
  const bool operand = site.node.inputs.size() > 1 && site.node.inputs[1].present();
  const Dim k = operand ? site.host(1).elements[0] : Dim(site.attrs().get<int64_t>("k"));
  const std::string type = site.compute_type(site.out().dtype);
  return generate(
      {.name = "trilu",
       .operands = {site.read("x", 0)},
       .result = site.results[0],
       .expression = text("select(", type, "(), x, i32(i % columns) - i32(i / columns % rows) ",
                          site.attrs().get<bool>("upper") ? ">= k" : "<= k", ")"),
       .params = {{"rows", shape[shape.size() - 2]},
                  {"columns", shape.back()},
                  Param::signed_number("k", near(k))}},
      site.traits);
}

Gradients gradient(const GradientSite& site) {
  Values operands = site.inputs;
  operands[0] = site.dy();
  Gradients gradients(site.inputs.size());
  gradients[0] = site.dy().apply(trilu_op(), operands, site.attrs());
  return gradients;
}

}  // namespace

const OpDef& trilu_op() {
  static const OpDef op{
      .name = "trilu",
      .family = "shape",
      .inputs = {1, 2, {"x", "k"}},
      .attrs = {{"upper", true}, {"k", 0}},
      .host_inputs = {1},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .onnx = "Trilu",
  };
  return op;
}

Value trilu(Value x, bool upper, int64_t k) {
  return x.apply(trilu_op(), {x}, {{"upper", upper}, {"k", k}});
}
Value trilu(Value x, bool upper, Value k) {
  return x.apply(trilu_op(), {x, k}, {{"upper", upper}});
}

}  // namespace rlx
