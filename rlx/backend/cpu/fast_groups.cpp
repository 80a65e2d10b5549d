#include "rlx/backend/cpu/fast_groups.h"

namespace rlx::detail {
namespace {

using image::Argument;

// Neighbours that name one expert go together: all of them, where rows are sorted.
bool multiply_groups(const CpuEngine& engine, image::CallSite& site) {
  const Argument &x = site.inputs[0], &w = site.inputs[1], &expert = site.inputs[2];
  Tensor& y = site.results[0];
  if (!is_f32(x) || !is_f32(w) || y.dtype() != DType::f32 || expert.is_view) return false;
  const int64_t rows = x.shape[0], experts = w.shape[0], inner = w.shape[1], columns = w.shape[2];
  if (y.count() == 0 || inner == 0) return y.count() == 0;
  const Steps x_strides(x), w_strides(w);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t e = expert.tensor.integer_at(i);
    if (e < 0 || e >= experts) return false;  // the reference has a message for it
  }
  float* to = y.mutable_data<float>().data();
  for (int64_t first = 0, end = 0; first < rows; first = end) {
    const int64_t e = expert.tensor.integer_at(first);
    for (end = first + 1; end < rows && expert.tensor.integer_at(end) == e;) ++end;
    const vector::Product product{
        .rows = end - first,
        .columns = columns,
        .inner = inner,
        .a = {floats_of(x) + first * x_strides[0], x_strides[0], x_strides[1]},
        .b = {floats_of(w) + e * w_strides[0], w_strides[1], w_strides[2]},
        .c = to + first * columns,
        .c_row = columns};
    vector::multiply(product, engine.gemm, engine.team);
  }
  return true;
}

}  // namespace

std::unique_ptr<image::CallKernel> grouped_product_kernel(CpuEnginePtr engine) {
  return make_kernel([engine = std::move(engine)](image::CallSite& site) {
    return multiply_groups(*engine, site);
  });
}

}  // namespace rlx::detail
