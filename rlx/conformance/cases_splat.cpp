// Rows for pictures of Gaussians: splat_raster, its gradient, gaussian_splat.

#include <cmath>

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_splat.h"

namespace rlx {
namespace {

// Numbers between `low` and `high` that are the same everywhere.
class Spread {
 public:
  explicit Spread(uint64_t seed) : state_(seed * 2654435761u + 12345) {}
  double operator()(double low, double high) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * static_cast<double>(state_ >> 40) / 16777216.0;
  }

 private:
  uint64_t state_;
};

// Gaussians before a camera at the origin that looks along z, from the front to the back.
Tensor gaussians(int64_t count) {
  Tensor rows(DType::f32, {count, 17});
  Spread spread(static_cast<uint64_t>(count));
  for (int64_t n = 0; n < count; ++n) {
    const double z = 2 + 3 * static_cast<double>(n) / static_cast<double>(count);
    const double middle[3] = {spread(-0.5, 0.5) * z, spread(-0.5, 0.5) * z, z};
    for (int64_t i = 0; i < 3; ++i) {
      const double scale = 1 / spread(0.15, 0.6);
      double along = 0;
      for (int64_t j = 0; j < 3; ++j) {
        const double w = scale * ((i == j ? 1 : 0) + spread(-0.3, 0.3));
        rows.set(n * 17 + 3 * i + j, w);
        along += w * middle[j];
      }
      rows.set(n * 17 + 9 + i, -along);
    }
    rows.set(n * 17 + 12, spread(0.2, 0.8));
    for (int64_t c = 13; c < 16; ++c) rows.set(n * 17 + c, spread(0, 1));
    rows.set(n * 17 + 16, z);
  }
  return rows;
}

Tensor bounds(int64_t count, double width, double height, bool narrow) {
  Tensor rows(DType::f32, {count, 4});
  Spread spread(static_cast<uint64_t>(count) + 7);
  for (int64_t n = 0; n < count; ++n) {
    const double x = narrow ? spread(0, width) : 0, y = narrow ? spread(0, height) : 0;
    const double values[] = {x, y, narrow ? x + spread(0, width / 2) : width,
                             narrow ? y + spread(0, height / 2) : height};
    for (int64_t i = 0; i < 4; ++i) rows.set(n * 4 + i, values[i]);
  }
  return rows;
}

// None of these is seen by a pixel.
void hide_some(Tensor& bounds) {
  bounds.set(4 * 3, NAN);
  bounds.set(4 * 5 + 3, NAN);
  bounds.set(4 * 7, 1e30), bounds.set(4 * 7 + 2, INFINITY);
  bounds.set(4 * 9 + 2, -1);
  bounds.set(4 * 11 + 1, 14), bounds.set(4 * 11 + 3, 2);
}

Tensor rays(int64_t width, int64_t height) {
  return Tensor::of(DType::f32, {3, 3},
                    {-0.5, -0.5, 1, 1.0 / static_cast<double>(width), 0, 0, 0,
                     1.0 / static_cast<double>(height), 0});
}

Attrs attrs(int64_t width, int64_t height, double cutoff = 0, double threshold = 0) {
  return {{"width", width}, {"height", height}, {"cutoff", cutoff}, {"threshold", threshold}};
}

OpCase raster(int64_t count, int64_t width, int64_t height, const std::string& why,
              bool narrow = false) {
  return {"splat_raster",
          {given(gaussians(count)),
           given(bounds(count, static_cast<double>(width), static_cast<double>(height), narrow)),
           given(rays(width, height)), given(Tensor::of(DType::f32, {3}, {0.1, 0.6, 0.3}))},
          attrs(width, height),
          why,
          std::max<int64_t>(count, 1)};
}

OpCase raster_gradient(int64_t count, int64_t width, int64_t height, const std::string& why,
                       bool deterministic = false, bool narrow = false) {
  OpCase row = raster(count, width, height, why, narrow);
  row.op = "splat_raster_gradient";
  row.inputs.pop_back();
  Tensor y(DType::f32, {height, width, 5}), dy(DType::f32, {height, width, 5});
  Spread spread(3);
  for (int64_t i = 0; i < y.count(); ++i) y.set(i, spread(0, 1)), dy.set(i, spread(-1, 1));
  row.inputs.push_back(given(y));
  row.inputs.push_back(given(dy));
  row.attrs.set("deterministic", deterministic);
  if (deterministic) row.attrs.set("most_alpha", 0.4);
  row.terms = std::max<int64_t>(width * height, 1);
  return row;
}

std::vector<CaseInput> scene(int64_t count, int64_t harmonics) {
  Tensor position(DType::f32, {count, 3}), scale(DType::f32, {count, 3}),
      rotation(DType::f32, {count, 4}), opacity(DType::f32, {count}),
      colour(DType::f32, {count, harmonics, 3});
  Spread spread(static_cast<uint64_t>(count + harmonics));
  for (int64_t i = 0; i < 3 * count; ++i) {
    position.set(i, spread(-1, 1));
    scale.set(i, spread(-1.6, -0.7));
  }
  for (int64_t i = 0; i < 4 * count; ++i) rotation.set(i, spread(-1, 1));
  for (int64_t i = 0; i < count; ++i) opacity.set(i, spread(-1, 1.5));
  for (int64_t i = 0; i < colour.count(); ++i) colour.set(i, spread(-0.1, 0.5));
  return {given(position),
          given(scale),
          given(rotation),
          given(opacity),
          given(colour),
          given(Tensor::of(DType::f32, {12}, {0.3, 0.4, -4, 0, 0, 0, 0, 1, 0, 0.8, 0.1, 100})),
          given(Tensor::of(DType::f32, {3}, {0.2, 0.1, 0.4}))};
}

OpCase splat(int64_t count, int64_t harmonics, const SplatOptions& options,
             const std::string& why) {
  OpCase row{"gaussian_splat", scene(count, harmonics), {}, why, 4 * std::max<int64_t>(count, 1)};
  row.compose = [options](const Values& in) -> Values {
    return {gaussian_splat({in[0], in[1], in[2], in[3], in[4]}, in[5], in[6], options)};
  };
  return row;
}

}  // namespace

std::vector<OpCase> splat_cases() {
  std::vector<OpCase> cases{
      raster(5, 9, 7, "a few"),
      raster(70, 17, 11, "more than a chunk, edges of tiles"),
      raster(129, 16, 8, "whole tiles, three chunks", true),
      raster(1, 1, 1, "one of each"),
      raster(2, 3, 2, "gradients in one order"),
      raster(0, 5, 3, "nothing but the background"),
      raster_gradient(5, 9, 7, "a few"),
      raster_gradient(70, 17, 11, "more than a chunk"),
      raster_gradient(70, 17, 11, "more than a chunk, one tile after the other", true),
      raster_gradient(3, 5, 4, "a few, one tile after the other", true),
      raster_gradient(0, 5, 3, "of nothing"),
      splat(0, 4, {.width = 5, .height = 3}, "an empty scene"),
      splat(6, 1, {.width = 9, .height = 7, .cutoff = 0, .threshold = 0}, "one colour each"),
      splat(5, 4, {.width = 7, .height = 9, .cutoff = 0, .threshold = 0}, "degree 1"),
      splat(5, 9, {.width = 8, .height = 8, .cutoff = 0, .threshold = 0}, "degree 2"),
      splat(7, 16, {.width = 8, .height = 5, .cutoff = 0, .threshold = 0}, "degree 3"),
  };
  for (OpCase& row : cases)
    if (row.why == "gradients in one order") row.attrs.set("deterministic", true);
  OpCase empty = raster(3, 0, 4, "no pixels");
  OpCase cut = raster(40, 13, 9, "what covers little is left out, and light ends");
  cut.attrs = attrs(13, 9, 1.0 / 255, 0.05);
  cut.attrs.set("most_alpha", 0.5);
  cut.gradient = false;  // it jumps where a Gaussian is left out
  OpCase bounded = splat(40, 4, {.width = 31, .height = 23}, "cut off within its bounds");
  bounded.gradient = false;
  OpCase all{"splat_raster",
             {given(gaussians(33)), given(bounds(33, 9, 9, true)), given(rays(9, 9)),
              given(Tensor(DType::f32, {3}))},
             attrs(9, 9),
             "a symbolic number of them",
             33};
  all.inputs[0].type.shape[0] = "n", all.inputs[1].type.shape[0] = "n";
  all.symbols = {{"n", 33}};
  for (OpCase* row : {&empty, &cut, &bounded, &all}) cases.push_back(*row);
  // Tiles have lists of those that reach them where there are many, and where tests ask for it.
  for (OpCase row : {raster(60, 29, 15, "two bins", true),
                     raster(80, 70, 37, "more pairs of bins and Gaussians than are listed", true),
                     raster(1100, 70, 9, "listed by bins", true)}) {
    row.gradient = false;
    if (row.why == "two bins") hide_some(row.inputs[1].tensor);
    cases.push_back(row);
  }
  cases.push_back(raster_gradient(60, 29, 15, "two bins", true, true));
  cases.push_back(raster_gradient(80, 70, 37, "more than are listed", false, true));
  cases.push_back(raster_gradient(1100, 70, 9, "listed by bins", false, true));
  return cases;
}

}  // namespace rlx
