#include "rlx/backend/cpu/fast_elementwise.h"

#include <algorithm>

#include "rlx/backend/cpu/nest.h"

namespace rlx::detail {
namespace {

template <class Function>
bool run_unary(const CpuEngine& engine, const image::Argument& given, Tensor& result,
               const Function& function) {
  if (!is_f32(given) || result.dtype() != DType::f32) return false;
  if (result.count() == 0) return true;
  std::optional<image::Argument> copy;
  const image::Argument& x = without_view(given, engine, copy);
  const float* from = floats_of(x);
  float* to = result.mutable_data<float>().data();
  engine.team.run(result.count(), CpuEngine::kGrain, [&](int64_t begin, int64_t end) {
    function(from + begin, to + begin, end - begin);
  });
  return true;
}

bool run_binary(const CpuEngine& engine, vector::Binary how, image::CallSite& site) {
  Tensor& result = site.results[0];
  Nest nest;
  if (!is_f32(site.inputs[0]) || !is_f32(site.inputs[1]) || result.dtype() != DType::f32 ||
      !nest.make(site.inputs, result.shape()))
    return false;
  if (result.count() == 0) return true;
  const float *a = floats_of(site.inputs[0]), *b = floats_of(site.inputs[1]);
  float* y = result.mutable_data<float>().data();
  const Nest::Loop& inner = nest.inner();
  const auto row = [&](int64_t index, int64_t begin, int64_t end) {
    const auto at = nest.at(index);
    engine.elementwise.combine(how, a + at[0] + begin * inner.steps[0], inner.steps[0],
                               b + at[1] + begin * inner.steps[1], inner.steps[1],
                               y + index * inner.extent + begin, end - begin);
  };
  if (nest.rows() == 1)
    engine.team.run(inner.extent, CpuEngine::kGrain,
                    [&](int64_t begin, int64_t end) { row(0, begin, end); });
  else
    engine.team.run(nest.rows(), CpuEngine::kGrain / inner.extent + 1,
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) row(i, 0, inner.extent);
                    });
  return true;
}

}  // namespace

std::unique_ptr<image::CallKernel> unary_kernel(
    CpuEnginePtr engine, vector::Elementwise::Function vector::Elementwise::*function) {
  return make_kernel([engine = std::move(engine), function](image::CallSite& site) {
    return run_unary(*engine, site.inputs[0], site.results[0], engine->elementwise.*function);
  });
}

std::unique_ptr<image::CallKernel> binary_kernel(CpuEnginePtr engine, vector::Binary how) {
  return make_kernel([engine = std::move(engine), how](image::CallSite& site) {
    return run_binary(*engine, how, site);
  });
}

std::unique_ptr<image::CallKernel> clamp_kernel(CpuEnginePtr engine, float low, float high) {
  return make_kernel([engine = std::move(engine), low, high](image::CallSite& site) {
    return run_unary(*engine, site.inputs[0], site.results[0],
                     [&](const float* x, float* y, int64_t count) {
                       engine->elementwise.clamp(x, low, high, y, count);
                     });
  });
}

std::unique_ptr<image::CallKernel> power_kernel(CpuEnginePtr engine) {
  return make_kernel([engine = std::move(engine)](image::CallSite& site) {
    const image::Argument& power = site.inputs[1];
    if (!is_f32(power) || count(power.shape) != 1 ||
        site.inputs[0].shape != site.results[0].shape())
      return false;
    return *floats_of(power) == 2.0f &&
           run_unary(*engine, site.inputs[0], site.results[0], engine->elementwise.square);
  });
}

}  // namespace rlx::detail
