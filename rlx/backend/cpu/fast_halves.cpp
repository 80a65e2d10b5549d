#include "rlx/backend/cpu/fast_halves.h"

#include <algorithm>

#include "rlx/backend/cpu/fast_products.h"

namespace rlx::detail {
namespace {

std::optional<vector::Element> half_of(DType dtype) {
  if (dtype == DType::f16) return vector::Element::f16;
  if (dtype == DType::bf16) return vector::Element::bf16;
  return std::nullopt;
}

class WideningKernel : public image::CallKernel {
 public:
  WideningKernel(CpuEnginePtr engine, std::unique_ptr<image::CallKernel> kernel,
                 std::vector<bool> kept)
      : engine_(std::move(engine)),
        kernel_(std::move(kernel)),
        kept_(std::move(kept)),
        marks_(kept_.size()) {}

  bool run(image::CallSite& site) override {
    wide_.inputs.resize(site.inputs.size());
    wide_.results.resize(site.results.size());
    wide_.symbols = site.symbols;
    for (size_t i = 0; i < site.inputs.size(); ++i) widen(site.inputs[i], wide_.inputs[i], i);
    for (size_t r = 0; r < site.results.size(); ++r) {
      Tensor &narrow = site.results[r], &wide = wide_.results[r];
      if (!half_of(narrow.dtype()))
        wide = narrow;
      else if (wide.dtype() != DType::f32 || wide.shape() != narrow.shape())
        wide = Tensor(DType::f32, narrow.shape());
    }
    if (!kernel_->run(wide_)) return false;
    for (size_t r = 0; r < site.results.size(); ++r) narrow(wide_.results[r], site.results[r]);
    return true;
  }

 private:
  void widen(const image::Argument& x, image::Argument& wide, size_t i) {
    const auto element = x.present ? half_of(x.tensor.dtype()) : std::nullopt;
    if (!element) {
      wide = x;
      return;
    }
    const Tensor::Mark mark = x.tensor.mark();
    const bool same = kept_[i] && mark == marks_[i] && wide.tensor.shape() == x.tensor.shape();
    Tensor kept = std::move(wide.tensor);
    wide = x;
    wide.tensor = std::move(kept);
    if (same) return;
    if (wide.tensor.dtype() != DType::f32 || wide.tensor.shape() != x.tensor.shape())
      wide.tensor = Tensor(DType::f32, x.tensor.shape());
    marks_[i] = mark;
    if (x.tensor.count() == 0) return;
    const std::byte* from = x.tensor.bytes().data();
    float* to = wide.tensor.mutable_data<float>().data();
    engine_->team.run(x.tensor.count(), CpuEngine::kGrain, [&](int64_t begin, int64_t end) {
      engine_->elementwise.widen(*element, from + 2 * begin, to + begin, end - begin);
    });
  }
  void narrow(const Tensor& wide, Tensor& y) const {
    const auto element = half_of(y.dtype());
    if (!element || y.count() == 0) return;
    const float* from = wide.data<float>().data();
    std::byte* to = y.mutable_bytes().data();
    engine_->team.run(y.count(), CpuEngine::kGrain, [&](int64_t begin, int64_t end) {
      engine_->elementwise.narrow(from + begin, *element, to + 2 * begin, end - begin);
    });
  }

  CpuEnginePtr engine_;
  std::unique_ptr<image::CallKernel> kernel_;
  std::vector<bool> kept_;  // by operand
  image::CallSite wide_;
  std::vector<Tensor::Mark> marks_;  // of the operands that wide_ has
};

bool has_halves(const image::Call& call, const image::Image& image) {
  const auto is_half = [&](image::ValueId value) {
    return value >= 0 && half_of(image.values[static_cast<size_t>(value)].dtype).has_value();
  };
  for (const image::Operand& input : call.inputs)
    if (is_half(input.value)) return true;
  return std::any_of(call.results.begin(), call.results.end(), is_half);
}

}  // namespace

image::Implementation widened(const image::Implementation& implementation, CpuEnginePtr engine) {
  return {implementation.name + " in f32", implementation.reads_views,
          [prepare = implementation.prepare, engine = std::move(engine)](
              const image::Call& call, const image::Image& image) {
            // Results whose extents only the call can tell have no place yet.
            if (!has_halves(call, image) || !call.told.empty())
              return std::unique_ptr<image::CallKernel>();
            std::unique_ptr<image::CallKernel> kernel = prepare(call, image);
            if (!kernel) return kernel;
            std::vector<bool> kept;
            for (size_t i = 0; i < call.inputs.size(); ++i) kept.push_back(is_kept(call, i, image));
            return std::unique_ptr<image::CallKernel>(
                std::make_unique<WideningKernel>(engine, std::move(kernel), std::move(kept)));
          }};
}

}  // namespace rlx::detail
