// eye_like(x, dtype, k): a matrix of x's shape with ones on the k-th diagonal, zeros elsewhere.

#include <algorithm>

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/ops_fill.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& eye_like_op();

namespace {

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  require(rank(x) == 2, "eye_like: ", x, " is not a matrix (rank ", rank(x), ")");
  return {{site.attrs.get_or<DType>("dtype", x.dtype), x.shape}};
}

void reference(const ReferenceSite& site) {
  const Shape& shape = site.out().shape();
  const int64_t k = site.attrs.get<int64_t>("k");
  const Tensor zero = Tensor::scalar(site.out().dtype(), 0), one = Tensor::scalar(zero.dtype(), 1);
  for (int64_t i = 0; i < site.out().count(); ++i)
    copy_elements(i % shape[1] - i / shape[1] == k ? one : zero, 0, site.out(), i, 1);
}

Steps lower(const LowerSite& site) {
  const Dims& shape = site.out().shape;
  constexpr int64_t kFar = int64_t{1} << 30;
  const Dim k = std::clamp(site.attrs().get<int64_t>("k"), -kFar, kFar);
  const std::string type = site.compute_type(site.out().dtype);
  const std::string one = type == "bool"        ? "true"
                          : type == "vec2<f32>" ? "vec2<f32>(1.0, 0.0)"
                                                : text(type, "(1)");
  return generate({.name = "eye_like",
                   .operands = {},
                   .result = site.results[0],
                   .expression = text("select(", type, "(), ", one,
                                      ", i32(i % columns) - i32(i / columns) == k)"),
                   .params = {{"columns", shape[1]}, Param::signed_number("k", k)}},
                  site.traits);
}

Gradients gradient(const GradientSite&) { return {std::nullopt}; }

}  // namespace

const OpDef& eye_like_op() {
  static const OpDef op{
      .name = "eye_like",
      .family = "shape",
      .inputs = {1, 1, {"x"}},
      .attrs = {{"dtype", {}, true}, {"k", 0}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .onnx = "EyeLike",
  };
  return op;
}

Value eye_like(Value x, DType dtype, int64_t k) {
  return x.apply(eye_like_op(), {x}, {{"dtype", dtype}, {"k", k}});
}

}  // namespace rlx
