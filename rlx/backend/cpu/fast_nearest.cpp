#include "rlx/backend/cpu/fast_nearest.h"

#include "rlx/backend/cpu/scratch.h"

namespace rlx::detail {
namespace {

class NearestKernel : public image::CallKernel {
 public:
  NearestKernel(CpuEnginePtr engine, bool products, bool skips_self)
      : engine_(std::move(engine)),
        products_(products),
        skips_self_(skips_self),
        scratch_(engine_->team.threads()) {}

  bool run(image::CallSite& site) override {
    const Tensor &queries = *site.in(0), &points = *site.in(1);
    if (queries.dtype() != DType::f32) return false;
    Tensor &distances = site.results[0], &indices = site.results[1];
    if (distances.count() == 0) return true;
    const vector::Nearest nearest{.queries = queries.data<float>().data(),
                                  .points = points.data<float>().data(),
                                  .point_count = points.shape()[0],
                                  .dims = points.shape()[1],
                                  .k = distances.shape()[1],
                                  .products = products_,
                                  .skips_self = skips_self_,
                                  .distances = distances.mutable_data<float>().data(),
                                  .indices = indices.mutable_data<int64_t>().data()};
    scratch_.resize(engine_->nearest.scratch(nearest.dims));
    // Each part turns all points for itself: as many queries as share the cost of that.
    engine_->team.run(queries.shape()[0], 64, [&](int64_t begin, int64_t end) {
      const Scratch::Part scratch(scratch_);
      engine_->nearest.find(nearest, {begin, end}, scratch.data());
    });
    return true;
  }

 private:
  CpuEnginePtr engine_;
  bool products_, skips_self_;
  Scratch scratch_;
};

}  // namespace

std::unique_ptr<image::CallKernel> nearest_kernel(CpuEnginePtr engine, bool products,
                                                  bool skips_self) {
  return std::make_unique<NearestKernel>(std::move(engine), products, skips_self);
}

}  // namespace rlx::detail
