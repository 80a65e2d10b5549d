#include "rlx/backend/cpu/fast_pad.h"

#include <algorithm>
#include <cstring>

namespace rlx::detail {
namespace {

using Mode = PadOptions::Mode;

int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

// The coordinate in x that is seen at c, or -1.
int64_t seen_at(int64_t c, int64_t extent, Mode mode) {
  if (mode == Mode::constant) return c >= 0 && c < extent ? c : -1;
  if (mode == Mode::edge) return std::clamp<int64_t>(c, 0, extent - 1);
  if (mode == Mode::wrap) return floor_mod(c, extent);
  const int64_t period = std::max<int64_t>(2 * (extent - 1), 1), at = floor_mod(c, period);
  return at < extent ? at : period - at;
}

class PadKernel : public image::CallKernel {
 public:
  PadKernel(CpuEnginePtr engine, PadOptions options)
      : engine_(std::move(engine)), options_(std::move(options)) {}

  bool run(image::CallSite& site) override {
    const Tensor& x = *site.in(0);
    Tensor& y = site.results[0];
    if (x.shape().empty() || x.shape().size() > Steps::kMostAxes) return false;
    if (y.count() == 0) return true;
    if (options_.mode != Mode::constant && x.count() == 0) return false;
    if (!find_places(site, x.shape(), y.shape()) || !take_value(site, x.dtype())) return false;
    switch (bytes_of(x.dtype())) {
      case 1:
        copy_rows<uint8_t>(x, y);
        return true;
      case 2:
        copy_rows<uint16_t>(x, y);
        return true;
      case 4:
        copy_rows<uint32_t>(x, y);
        return true;
      case 8:
        copy_rows<uint64_t>(x, y);
        return true;
      default:
        return false;
    }
  }

  bool hold(const image::CallSite& site, image::Holdings& /*holdings*/) override {
    return takes_value(site, site.in(0)->dtype());
  }

 private:
  // Where in x each coordinate of each axis of y is seen.
  bool find_places(const image::CallSite& site, const Shape& x, const Shape& y) {
    before_.assign(x.size(), 0);
    const Tensor* operand = site.in(1);
    const size_t axes = options_.axes.empty() ? x.size() : options_.axes.size();
    const size_t given = operand ? static_cast<size_t>(operand->count()) : options_.pads.size();
    if (given != 2 * axes && given != 0) return false;
    for (size_t i = 0; given != 0 && i < axes; ++i) {
      const int64_t named = options_.axes.empty() ? static_cast<int64_t>(i) : options_.axes[i];
      const int64_t axis = named < 0 ? named + static_cast<int64_t>(x.size()) : named;
      before_[static_cast<size_t>(axis)] = operand ? operand->integer_at(static_cast<int64_t>(i))
                                                   : options_.pads[i].value(site.symbols);
    }
    places_.resize(x.size());
    for (size_t d = 0; d < x.size(); ++d) {
      places_[d].resize(static_cast<size_t>(y[d]));
      for (int64_t c = 0; c < y[d]; ++c)
        places_[d][static_cast<size_t>(c)] = seen_at(c - before_[d], x[d], options_.mode);
    }
    return true;
  }
  bool takes_value(const image::CallSite& site, DType dtype) const {
    return site.in(2) || options_.value == 0 || options_.mode != Mode::constant ||
           dtype == DType::f32;
  }
  bool take_value(const image::CallSite& site, DType dtype) {
    if (site.in(2)) {
      std::memcpy(&value_, site.in(2)->bytes().data(), static_cast<size_t>(bytes_of(dtype)));
      return true;
    }
    value_ = 0;
    if (options_.value == 0 || options_.mode != Mode::constant) return true;
    if (!takes_value(site, dtype)) return false;
    const auto value = static_cast<float>(options_.value);
    std::memcpy(&value_, &value, sizeof(value));
    return true;
  }

  template <class T>
  void copy_rows(const Tensor& x, Tensor& y) const {
    const size_t last = x.shape().size() - 1;
    const int64_t length = x.shape()[last], width = y.shape()[last];
    const auto* from = reinterpret_cast<const T*>(x.bytes().data());
    auto* to = reinterpret_cast<T*>(y.mutable_bytes().data());
    T fill;
    std::memcpy(&fill, &value_, sizeof(T));
    // The part of a row that is copied as it is.
    const int64_t begin = std::clamp<int64_t>(before_[last], 0, width),
                  end = std::clamp<int64_t>(before_[last] + length, begin, width);
    const auto& places = places_[last];
    engine_->team.run(y.count() / width, CpuEngine::kGrain / width + 1,
                      [&](int64_t first, int64_t beyond) {
                        for (int64_t row = first; row < beyond; ++row) {
                          const int64_t source = row_of(row, x.shape(), y.shape());
                          T* out = to + row * width;
                          if (source < 0) {
                            std::fill(out, out + width, fill);
                            continue;
                          }
                          const T* in = from + source * length;
                          const auto other = [&](int64_t c) {
                            const int64_t place = places[static_cast<size_t>(c)];
                            out[c] = place < 0 ? fill : in[place];
                          };
                          for (int64_t c = 0; c < begin; ++c) other(c);
                          if (begin < end)
                            std::memcpy(out + begin, in + (begin - before_[last]),
                                        static_cast<size_t>(end - begin) * sizeof(T));
                          for (int64_t c = end; c < width; ++c) other(c);
                        }
                      });
  }
  // The row of x that a row of y sees, or -1.
  int64_t row_of(int64_t row, const Shape& x, const Shape& y) const {
    int64_t at = 0, stride = 1;
    for (size_t d = x.size() - 1; d-- > 0; row /= y[d], stride *= x[d]) {
      const int64_t place = places_[d][static_cast<size_t>(row % y[d])];
      if (place < 0) return -1;
      at += place * stride;
    }
    return at;
  }

  CpuEnginePtr engine_;
  PadOptions options_;
  uint64_t value_ = 0;  // its bytes, the first ones
  std::vector<int64_t> before_;
  std::vector<std::vector<int64_t>> places_;
};

}  // namespace

std::unique_ptr<image::CallKernel> pad_kernel(CpuEnginePtr engine, PadOptions options) {
  return std::make_unique<PadKernel>(std::move(engine), std::move(options));
}

}  // namespace rlx::detail
