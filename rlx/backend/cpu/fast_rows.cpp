#include "rlx/backend/cpu/fast_rows.h"

#include <algorithm>
#include <optional>

namespace rlx::detail {
namespace {

std::optional<vector::Element> element_of(DType dtype) {
  if (dtype == DType::f32) return vector::Element::f32;
  if (dtype == DType::f16) return vector::Element::f16;
  if (dtype == DType::bf16) return vector::Element::bf16;
  return std::nullopt;
}

size_t axis_in(int64_t axis, const Shape& shape) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis);
}

int64_t product(const Shape& shape, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t d = begin; d < end; ++d) product *= shape[d];
  return product;
}

// From row to row, where the axes before `axis` run through memory with one step and those from it
// on lie side by side; none where they do not.
std::optional<int64_t> row_step(const image::Argument& x, size_t axis) {
  const Steps strides(x);
  int64_t expected = 1, step = 0;
  bool first = true;
  for (size_t d = x.shape.size(); d-- > 0;) {
    if (x.shape[d] == 1) continue;
    if (d < axis && first) {
      step = expected = strides[d];
      first = false;
    }
    if (strides[d] != expected) return std::nullopt;
    expected *= x.shape[d];
  }
  return step;
}

// Rows of so many elements that are worth a thread.
int64_t row_grain(int64_t length) {
  return CpuEngine::kGrain / 4 / std::max<int64_t>(length, 1) + 1;
}

bool run_softmax(const CpuEngine& engine, const image::Argument& given, Tensor& y,
                 int64_t axis_given, bool logarithm) {
  const auto element = element_of(given.tensor.dtype());
  if (!element || !has_few_axes(given)) return false;
  if (y.count() == 0) return true;
  const size_t axis = axis_in(axis_given, given.shape);
  const int64_t length = given.shape[axis],
                inner = product(given.shape, axis + 1, given.shape.size()),
                outer = product(given.shape, 0, axis);
  std::optional<int64_t> step = inner == 1 ? row_step(given, axis) : std::nullopt;
  std::optional<image::Argument> copy;
  const image::Argument& x = step ? given : without_view(given, engine, copy);
  vector::Softmax softmax{.element = *element,
                          .x = bytes_of(x),
                          .y = y.mutable_bytes().data(),
                          .length = length,
                          .logarithm = logarithm};
  if (inner == 1) {
    softmax.x_row = step.value_or(length);
    softmax.y_row = length;
    engine.team.run(outer, row_grain(length), [&](int64_t begin, int64_t end) {
      engine.rows.softmax(softmax, {begin, end});
    });
    return true;
  }
  softmax.x_row = softmax.y_row = inner;
  constexpr int64_t kColumns = 64;  // a line of the cache or more
  const int64_t blocks = (inner + kColumns - 1) / kColumns,
                plane = length * inner * bytes_of(y.dtype());
  engine.team.run(outer * blocks, row_grain(length * kColumns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      vector::Softmax part = softmax;
      part.x = static_cast<const std::byte*>(part.x) + i / blocks * plane;
      part.y = static_cast<std::byte*>(part.y) + i / blocks * plane;
      const int64_t column = i % blocks * kColumns;
      engine.rows.softmax_columns(part, {column, std::min(column + kColumns, inner)});
    }
  });
  return true;
}

bool run_norm(const CpuEngine& engine, const std::vector<image::Argument>& inputs, Tensor& y,
              int64_t axis_given, double epsilon, bool is_centred) {
  const auto element = element_of(inputs[0].tensor.dtype());
  if (!element || !has_few_axes(inputs[0])) return false;
  if (y.count() == 0) return true;
  const size_t axis = axis_in(axis_given, inputs[0].shape);
  const int64_t length = product(inputs[0].shape, axis, inputs[0].shape.size()),
                rows = y.count() / length;
  const std::optional<int64_t> step = row_step(inputs[0], axis);
  std::optional<image::Argument> copy;
  const image::Argument& x = step ? inputs[0] : without_view(inputs[0], engine, copy);
  std::optional<image::Argument> copies[2];  // of gamma and beta
  const auto row = [&](size_t i) {
    const bool given = i < inputs.size() && inputs[i].present;
    return given ? bytes_of(without_view(inputs[i], engine, copies[i - 1])) : nullptr;
  };
  const vector::Norm norm{.element = *element,
                          .x = bytes_of(x),
                          .y = y.mutable_bytes().data(),
                          .gamma = row(1),
                          .beta = row(2),
                          .length = length,
                          .x_row = step.value_or(length),
                          .y_row = length,
                          .epsilon = epsilon,
                          .is_centred = is_centred};
  engine.team.run(rows, row_grain(length), [&](int64_t begin, int64_t end) {
    engine.rows.norm(norm, {begin, end});
  });
  return true;
}

// A shape as runs of axes that are all reduced or all kept, in turn: at most kept, reduced, kept.
struct Runs {
  int64_t outer = 1, length = 1, inner = 1;
  bool make(const Shape& shape, const std::vector<bool>& reduced) {
    int at = 0;  // in outer, length, inner
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) continue;
      if (reduced[d] && at == 0) at = 1;
      if (!reduced[d] && at == 1) at = 2;
      if (reduced[d] && at == 2) return false;
      (at == 0 ? outer : at == 1 ? length : inner) *= shape[d];
    }
    return true;
  }
};

// The axes of a view in the order of memory, where it is all of a dense tensor and the axes that
// are kept do not change places; none otherwise.
std::optional<std::vector<size_t>> memory_order(const image::Argument& x,
                                                const std::vector<bool>& reduced) {
  std::vector<size_t> order;
  for (size_t d = 0; d < x.shape.size(); ++d)
    if (x.shape[d] != 1) order.push_back(d);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return x.strides[a] > x.strides[b]; });
  int64_t step = 1;
  size_t last = SIZE_MAX;
  for (size_t i = order.size(); i-- > 0; step *= x.shape[order[i]]) {
    if (x.strides[order[i]] != step) return std::nullopt;
    if (reduced[order[i]]) continue;
    if (order[i] > last) return std::nullopt;
    last = order[i];
  }
  return order;
}

bool run_reduce(const CpuEngine& engine, const image::Argument& given, Tensor& y,
                const std::vector<int64_t>& axes, vector::Fold fold) {
  const auto element = element_of(given.tensor.dtype());
  if (!element || count(given.shape) == 0) return false;
  std::vector<bool> reduced(given.shape.size(), axes.empty());
  for (const int64_t axis : axes) reduced[axis_in(axis, given.shape)] = true;
  const auto order = given.is_view ? memory_order(given, reduced) : std::nullopt;
  Runs runs;
  if (order) {
    Shape shape;
    std::vector<bool> which;
    for (const size_t d : *order) shape.push_back(given.shape[d]), which.push_back(reduced[d]);
    if (!runs.make(shape, which)) return false;
  } else if (!runs.make(given.shape, reduced)) {
    return false;
  }
  std::optional<image::Argument> copy;
  const image::Argument& x = order ? given : without_view(given, engine, copy);
  vector::Reduce reduce{.fold = fold,
                        .element = *element,
                        .x = bytes_of(x),
                        .y = y.mutable_bytes().data(),
                        .length = runs.length};
  if (runs.inner == 1) {
    reduce.x_row = runs.length;
    engine.team.run(runs.outer, row_grain(runs.length), [&](int64_t begin, int64_t end) {
      engine.reductions.rows(reduce, {begin, end});
    });
    return true;
  }
  reduce.x_row = runs.inner;
  constexpr int64_t kColumns = 256;
  const int64_t blocks = (runs.inner + kColumns - 1) / kColumns, bytes = bytes_of(y.dtype());
  engine.team.run(
      runs.outer * blocks, row_grain(runs.length * std::min(kColumns, runs.inner)),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          vector::Reduce part = reduce;
          part.x =
              static_cast<const std::byte*>(part.x) + i / blocks * runs.length * runs.inner * bytes;
          part.y = static_cast<std::byte*>(part.y) + i / blocks * runs.inner * bytes;
          const int64_t column = i % blocks * kColumns;
          engine.reductions.columns(part, {column, std::min(column + kColumns, runs.inner)});
        }
      });
  return true;
}

}  // namespace

std::unique_ptr<image::CallKernel> softmax_kernel(CpuEnginePtr engine, int64_t axis,
                                                  bool logarithm) {
  return make_kernel([engine = std::move(engine), axis, logarithm](image::CallSite& site) {
    return run_softmax(*engine, site.inputs[0], site.results[0], axis, logarithm);
  });
}

std::unique_ptr<image::CallKernel> norm_kernel(CpuEnginePtr engine, int64_t axis, double epsilon,
                                               bool is_centred) {
  return make_kernel(
      [engine = std::move(engine), axis, epsilon, is_centred](image::CallSite& site) {
        return run_norm(*engine, site.inputs, site.results[0], axis, epsilon, is_centred);
      });
}

std::unique_ptr<image::CallKernel> reduce_kernel(CpuEnginePtr engine, std::vector<int64_t> axes,
                                                 vector::Fold fold) {
  return make_kernel(
      [engine = std::move(engine), axes = std::move(axes), fold](image::CallSite& site) {
        return run_reduce(*engine, site.inputs[0], site.results[0], axes, fold);
      });
}

}  // namespace rlx::detail
