#include "rlx/backend/cpu/fast_fft.h"

#include <algorithm>

#include "rlx/backend/cpu/scratch.h"
#include "rlx/base/fourier.h"

namespace rlx::detail {
namespace {

// How lines lie in x: `inner` of them `line` apart, and those again along other axes.
struct Lines {
  int64_t inner = 1, line = 0, step = 1;  // in complex numbers
  size_t outer = 0;                       // axes before the inner ones

  // False where parts of numbers are not side by side.
  bool make(const image::Argument& x, const Steps& strides) {
    const size_t rank = x.shape.size();
    for (size_t d = 0; d + 1 < rank; ++d)
      if (x.shape[d] != 1 && strides[d] % 2 != 0) return false;
    if (strides[rank - 1] != 1) return false;
    step = strides[rank - 2] / 2;
    outer = rank - 2;
    int64_t next = 0;
    for (; outer > 0; --outer) {
      const size_t d = outer - 1;
      if (x.shape[d] == 1) continue;
      if (inner == 1)
        line = strides[d] / 2;
      else if (strides[d] / 2 != next)
        break;
      inner *= x.shape[d];
      next = line * inner;
    }
    return true;
  }
};

class FourierKernel : public image::CallKernel {
 public:
  FourierKernel(CpuEnginePtr engine, bool inverse, double scale)
      : engine_(std::move(engine)),
        inverse_(inverse),
        scale_(static_cast<float>(scale)),
        scratch_(engine_->team.threads()) {}

  bool run(image::CallSite& site) override {
    const image::Argument& given = site.inputs[0];
    if (!is_f32(given) || !has_few_axes(given)) return false;
    Tensor& y = site.results[0];
    if (y.count() == 0) return true;
    Lines lines;
    std::optional<image::Argument> copy;
    const bool as_it_is = lines.make(given, Steps(given));
    const image::Argument& x = as_it_is ? given : without_view(given, *engine_, copy);
    if (!as_it_is) {
      lines = {};
      lines.make(x, Steps(x));
    }
    const int64_t n = x.shape[x.shape.size() - 2], lanes = engine_->fft.lanes;
    const bool few = lines.inner < lanes;
    if (plan_.length != n || few_ != few || !ready_) {
      plan_ = vector::FftPlan(n, lines.inner, lanes);
      few_ = few;
      ready_ = true;
    }
    scratch_.resize(engine_->fft.scratch(std::max(plan_.first.length, plan_.second.length)));
    if (plan_.second.length > 1 && middle_.size() < static_cast<size_t>(2 * n))
      middle_.resize(static_cast<size_t>(2 * n));
    const Steps strides(x);
    const int64_t blocks = y.count() / (2 * n * lines.inner);
    float* to = y.mutable_data<float>().data();
    for (int64_t block = 0; block < blocks; ++block) {
      int64_t offset = 0, rest = block;
      for (size_t d = lines.outer; d-- > 0; rest /= x.shape[d])
        offset += rest % x.shape[d] * strides[d];
      transform(lines, floats_of(x) + offset, to + block * 2 * n * lines.inner);
    }
    return true;
  }

 private:
  void transform(const Lines& lines, const float* x, float* y) {
    const int64_t n = plan_.length, rows = plan_.first.length, columns = plan_.second.length;
    if (columns == 1) {
      in_parts({.length = &plan_.first,
                .x = x,
                .y = y,
                .x_step = lines.step,
                .x_line = lines.line,
                .y_line = n,
                .swaps_in = inverse_,
                .swaps_out = inverse_,
                .scale = scale_},
               lines.inner);
      return;
    }
    for (int64_t line = 0; line < lines.inner; ++line) {
      // Parts are swapped once in front of both and once behind them.
      in_parts({.length = &plan_.first,
                .x = x + 2 * line * lines.line,
                .y = middle_.data(),
                .x_step = columns * lines.step,
                .x_line = lines.step,
                .y_step = columns,
                .y_line = 1,
                .swaps_in = inverse_,
                .between = plan_.between.data()},
               columns);
      in_parts({.length = &plan_.second,
                .x = middle_.data(),
                .y = y + 2 * line * n,
                .x_line = columns,
                .y_step = rows,
                .y_line = 1,
                .swaps_out = inverse_,
                .scale = scale_},
               rows);
    }
  }
  void in_parts(const vector::FftLines& lines, int64_t count) {
    const int64_t lanes = engine_->fft.lanes, group = lanes * lines.length->length;
    engine_->team.run(
        vector::divide_up(count, lanes), CpuEngine::kGrain / 2 / group + 1,
        [&](int64_t begin, int64_t end) {
          const Scratch::Part scratch(scratch_);
          engine_->fft.lines(lines, {begin * lanes, std::min(end * lanes, count)}, scratch.data());
        });
  }

  CpuEnginePtr engine_;
  bool inverse_;
  float scale_;
  Scratch scratch_;
  vector::FftPlan plan_;
  bool few_ = false, ready_ = false;
  std::vector<float> middle_;
};

// What is real at both ends of a spectrum, in one line of h numbers and one of h + 1.
void half_ends(const float* x, int64_t h, bool inverse, float ends, float* y) {
  if (inverse) {
    const float first = x[0], last = x[2 * h];
    y[0] = (first + last) * ends;
    y[1] = (first - last) * ends;
  } else {
    const float a = x[0], b = x[1];
    y[0] = 2 * (a + b) * ends;
    y[2 * h] = 2 * (a - b) * ends;
    y[1] = y[2 * h + 1] = 0;
  }
}

}  // namespace

std::unique_ptr<image::CallKernel> half_spectrum_kernel(CpuEnginePtr engine, bool inverse,
                                                        double ends) {
  return make_kernel([engine = std::move(engine), inverse,
                      ends = static_cast<float>(ends)](image::CallSite& site) {
    const image::Argument &given = site.inputs[0], &turns = site.inputs[1];
    Tensor& y = site.results[0];
    if (!is_f32(given) || !is_f32(turns) || turns.is_view) return false;
    if (y.count() == 0) return true;
    std::optional<image::Argument> copy;
    const image::Argument& x = without_view(given, *engine, copy);
    const int64_t h = turns.shape[0] - 1, in = 2 * (inverse ? h + 1 : h),
                  out = 2 * (inverse ? h : h + 1);
    const float *from = floats_of(x), *table = floats_of(turns);
    float* to = y.mutable_data<float>().data();
    engine->team.run(y.count() / out, CpuEngine::kGrain / out + 1, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        half_ends(from + line * in, h, inverse, ends, to + line * out);
        engine->fft.half(from + line * in, table, h, inverse, to + line * out);
      }
    });
    return true;
  });
}

std::unique_ptr<image::CallKernel> fourier_kernel(CpuEnginePtr engine, bool inverse, double scale) {
  return std::make_unique<FourierKernel>(std::move(engine), inverse, scale);
}

}  // namespace rlx::detail
