#include "rlx/backend/cpu/fast_groups.h"

namespace rlx::detail {
namespace {

using image::Argument;

struct Finish {
  const Behind& behind;
  int64_t first_row;
  static void run(const void* context, vector::Range rows, vector::Range columns) {
    const auto& self = *static_cast<const Finish*>(context);
    self.behind.run({self.first_row + rows.begin, self.first_row + rows.end}, columns);
  }
};

// Neighbours that name one expert go together: all of them, where rows are sorted.
bool multiply_groups(const CpuEngine& engine, const Behind& behind, image::CallSite& site) {
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
    const Finish finish{behind, first};
    const vector::Product product{
        .rows = end - first,
        .columns = columns,
        .inner = inner,
        .a = {floats_of(x) + first * x_strides[0], x_strides[0], x_strides[1]},
        .b = {floats_of(w) + e * w_strides[0], w_strides[1], w_strides[2]},
        .c = to + first * columns,
        .c_row = columns,
        .finish = behind ? Finish::run : nullptr,
        .context = &finish};
    vector::multiply(product, engine.gemm, engine.team);
  }
  return true;
}

}  // namespace

std::unique_ptr<image::CallKernel> grouped_product_kernel(CpuEnginePtr engine, Behind behind) {
  return make_kernel(
      [engine = std::move(engine), behind = std::move(behind)](image::CallSite& site) {
        return behind.place(site) && multiply_groups(*engine, behind, site);
      });
}

}  // namespace rlx::detail
