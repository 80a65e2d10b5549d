#include "rlx/backend/cpu/fast_channels.h"

#include <algorithm>
#include <cmath>

namespace rlx::detail {
namespace {

bool all_f32(const image::CallSite& site, const Behind& behind) {
  const auto end = site.inputs.begin() + static_cast<int64_t>(behind.own(site.inputs));
  return std::all_of(site.inputs.begin(), end, is_f32);
}
const float* row_of(const image::CallSite& site, const Behind& behind, size_t i) {
  const Tensor* given = i < behind.own(site.inputs) ? site.in(i) : nullptr;
  return given ? given->data<float>().data() : nullptr;
}
int64_t plane_of(const Shape& shape) {
  int64_t plane = 1;
  for (size_t d = 2; d < shape.size(); ++d) plane *= shape[d];
  return plane;
}

bool run_batch_norm(const CpuEngine& engine, double epsilon, const Behind& behind,
                    image::CallSite& site) {
  Tensor& y = site.results[0];
  if (!all_f32(site, behind) || y.shape().size() < 2) return false;
  if (y.count() == 0) return true;
  const int64_t channels = y.shape()[1], plane = plane_of(y.shape());
  const float *gamma = row_of(site, behind, 1), *beta = row_of(site, behind, 2),
              *mean = row_of(site, behind, 3), *variance = row_of(site, behind, 4),
              *x = row_of(site, behind, 0);
  float* to = y.mutable_data<float>().data();
  engine.team.run(
      y.shape()[0] * channels, CpuEngine::kGrain / plane + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t c = i % channels;
          const double deviation = std::sqrt((variance ? double(variance[c]) : 1) + epsilon);
          engine.planes.scale(x + i * plane, mean ? mean[c] : 0,
                              static_cast<float>((gamma ? double(gamma[c]) : 1) / deviation),
                              beta ? beta[c] : 0, to + i * plane, plane);
          behind.run(i * plane, (i + 1) * plane);
        }
      });
  return true;
}

bool run_group_norm(const CpuEngine& engine, int64_t given, double epsilon, const Behind& behind,
                    image::CallSite& site) {
  Tensor& y = site.results[0];
  if (!all_f32(site, behind) || y.shape().size() < 2) return false;
  if (y.count() == 0) return true;
  const int64_t channels = y.shape()[1], plane = plane_of(y.shape()),
                groups = given == 0 ? channels : given, each = channels / groups,
                length = each * plane;
  const float *gamma = row_of(site, behind, 1), *beta = row_of(site, behind, 2);
  float* to = y.mutable_data<float>().data();
  const vector::Norm norm{.element = vector::Element::f32,
                          .x = row_of(site, behind, 0),
                          .y = to,
                          .length = length,
                          .x_row = length,
                          .y_row = length,
                          .epsilon = epsilon,
                          .is_centred = true};
  engine.team.run(
      y.shape()[0] * groups, CpuEngine::kGrain / 4 / length + 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          engine.rows.norm(norm, {row, row + 1});
          for (int64_t k = 0; k < each; ++k) {
            const int64_t c = row % groups * each + k, first = row * length + k * plane;
            float* at = to + first;
            if (gamma || beta)
              engine.planes.scale(at, 0, gamma ? gamma[c] : 1, beta ? beta[c] : 0, at, plane);
            behind.run(first, first + plane);
          }
        }
      });
  return true;
}

}  // namespace

std::unique_ptr<image::CallKernel> batch_norm_kernel(CpuEnginePtr engine, double epsilon,
                                                     Behind behind) {
  return make_kernel(
      [engine = std::move(engine), epsilon, behind = std::move(behind)](image::CallSite& site) {
        return behind.place(site) && run_batch_norm(*engine, epsilon, behind, site);
      });
}
std::unique_ptr<image::CallKernel> group_norm_kernel(CpuEnginePtr engine, int64_t groups,
                                                     double epsilon, Behind behind) {
  return make_kernel([engine = std::move(engine), groups, epsilon,
                      behind = std::move(behind)](image::CallSite& site) {
    return behind.place(site) && run_group_norm(*engine, groups, epsilon, behind, site);
  });
}

}  // namespace rlx::detail
