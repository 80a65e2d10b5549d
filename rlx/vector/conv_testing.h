// Convolutions as plain loops over doubles, for the tests of the fast ones.
#pragma once

#include <ostream>

#include "rlx/vector/conv.h"
#include "rlx/vector/team.h"
#include "rlx/vector/testing.h"

namespace rlx::vector {

inline Windows::Axis axis(int64_t in, int64_t window, int64_t stride = 1, int64_t dilation = 1,
                          int64_t before = 0, int64_t after = 0) {
  const int64_t out = (in + before + after - (window - 1) * dilation - 1) / stride + 1;
  return {in, out, window, stride, dilation, before};
}
inline Windows::Axis same(int64_t in, int64_t window, int64_t stride = 1) {
  return axis(in, window, stride, 1, window / 2, window / 2);
}

inline std::ostream& operator<<(std::ostream& out, const ConvSize& s) {
  const auto print = [&](const Windows::Axis& a) {
    out << a.in << ">" << a.out << " window " << a.window << " stride " << a.stride << " dilation "
        << a.dilation << " before " << a.before << ", ";
  };
  out << s.batch << " of " << s.inputs << ">" << s.outputs << " in " << s.groups << ": ";
  print(s.windows.y);
  print(s.windows.x);
  return out;
}

// A picture [batch, height, width, channels], weights [outputs, inputs / groups, height, width], a
// bias, and what they give.
struct ConvExample {
  ConvSize size;
  std::vector<float> x, weights, bias;
  std::vector<double> y, magnitude;  // and the sums of absolute products

  explicit ConvExample(const ConvSize& s)
      : size(s),
        x(random_floats(s.batch * s.windows.y.in * s.windows.x.in * s.inputs)),
        weights(random_floats(s.outputs * s.inner(), -1, 1, 2)),
        bias(random_floats(s.outputs, -1, 1, 3)) {
    x.reserve(1);  // an address, where there is nothing too
    const Windows::Axis &ys = s.windows.y, &xs = s.windows.x;
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t row = 0; row < ys.out; ++row)
        for (int64_t pixel = 0; pixel < xs.out; ++pixel)
          for (int64_t o = 0; o < s.outputs; ++o) add(n, row, pixel, o);
  }

  Conv conv() const {
    const Windows& w = size.windows;
    return {.size = size,
            .x = x.data(),
            .x_batch = w.y.in * w.x.in * size.inputs,
            .x_row = w.x.in * size.inputs,
            .x_pixel = size.inputs};
  }
  // The largest error of pixels of `step` floats, in units of the sum of absolute products.
  double error_of(const float* got, int64_t step) const {
    double worst = 0;
    for (int64_t i = 0; i < size.pixels(); ++i)
      for (int64_t o = 0; o < size.outputs; ++o) {
        const auto at = static_cast<size_t>(i * size.outputs + o);
        worst = std::max(
            worst, std::abs(y[at] - static_cast<double>(got[i * step + o])) / (1 + magnitude[at]));
        if (std::isnan(got[i * step + o])) return INFINITY;
      }
    return worst;
  }

 private:
  void add(int64_t n, int64_t row, int64_t pixel, int64_t o) {
    const Windows::Axis &ys = size.windows.y, &xs = size.windows.x;
    const int64_t inputs = size.inputs / size.groups, group = o / (size.outputs / size.groups);
    double sum = static_cast<double>(bias[static_cast<size_t>(o)]), absolute = 0;
    for (int64_t i = 0; i < ys.window; ++i)
      for (int64_t j = 0; j < xs.window; ++j) {
        const int64_t at_y = row * ys.stride - ys.before + i * ys.dilation,
                      at_x = pixel * xs.stride - xs.before + j * xs.dilation;
        if (at_y < 0 || at_y >= ys.in || at_x < 0 || at_x >= xs.in) continue;
        for (int64_t c = 0; c < inputs; ++c) {
          const int64_t from =
                            ((n * ys.in + at_y) * xs.in + at_x) * size.inputs + group * inputs + c,
                        weight = ((o * inputs + c) * ys.window + i) * xs.window + j;
          const double product = static_cast<double>(x[static_cast<size_t>(from)]) *
                                 static_cast<double>(weights[static_cast<size_t>(weight)]);
          sum += product;
          absolute += std::abs(product);
        }
      }
    y.push_back(sum);
    magnitude.push_back(absolute);
  }
};

constexpr int64_t kBeyond = 3;  // channels of y that are not the convolution's

struct ConvResult {
  std::vector<float> y;
  bool is_within = true;  // nothing beyond the channels was written
};
inline ConvResult convolve(const Conv& with_x, const ConvExample& example,
                           const ConvFunctions& code, int threads, Conv::Finish finish = nullptr) {
  const ConvSize& size = example.size;
  const int64_t panels = code.panels(size), step = size.outputs + kBeyond;
  std::vector<float> packed(static_cast<size_t>(code.packed_size(size)), NAN);
  code.pack(size, example.weights.data(), {0, panels / 2}, packed.data());
  code.pack(size, example.weights.data(), {panels / 2, panels}, packed.data());
  ConvResult result;
  result.y.assign(static_cast<size_t>(size.pixels() * step), 77);
  Conv each = with_x;
  each.weights = packed.data();
  each.y = result.y.data();
  each.y_pixel = step;
  each.start = example.bias.data();
  each.finish = finish;
  each.context = &each;
  const ConvBlocks blocks = code.blocks(each, threads);
  Team team(threads);
  team.run(blocks.count(), 1, [&](int64_t begin, int64_t end) {
    std::vector<float> scratch(static_cast<size_t>(blocks.scratch_size), NAN);
    for (int64_t i = begin; i < end; ++i) code.run(each, blocks, i, scratch.data());
  });
  for (int64_t i = 0; i < size.pixels(); ++i)
    for (int64_t c = size.outputs; c < step; ++c)
      if (result.y[static_cast<size_t>(i * step + c)] != 77) result.is_within = false;
  return result;
}

// A finish that shows whether it came once: the context is the Conv.
struct Negate {
  static void finish(const void* context, Range pixels, Range channels) {
    const Conv& conv = *static_cast<const Conv*>(context);
    for (int64_t i = pixels.begin; i < pixels.end; ++i)
      for (int64_t c = channels.begin; c < channels.end; ++c)
        conv.y[i * conv.y_pixel + c] = -3 * conv.y[i * conv.y_pixel + c];
  }
  static void negate(std::vector<float>& y) {
    for (float& x : y) x = x == 77 ? 77 : -3 * x;
  }
};

}  // namespace rlx::vector
