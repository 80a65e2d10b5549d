#include "rlx/backend/cpu/fast_rows.h"

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>

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
                 int64_t axis_given, bool logarithm, const Behind& behind) {
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
      behind.in_blocks(begin, end, length, [&](int64_t first, int64_t last) {
        engine.rows.softmax(softmax, {first, last});
      });
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
      const int64_t end_column = std::min(column + kColumns, inner);
      engine.rows.softmax_columns(part, {column, end_column});
      for (int64_t k = 0; behind && k < length; ++k) {
        const int64_t row = (i / blocks * length + k) * inner;
        behind.run(row + column, row + end_column);
      }
    }
  });
  return true;
}

bool run_norm(const CpuEngine& engine, const std::vector<image::Argument>& inputs, Tensor& y,
              int64_t axis_given, double epsilon, bool is_centred, const Behind& behind) {
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
    const bool given = i < behind.own(inputs) && inputs[i].present;
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
    behind.in_blocks(begin, end, length, [&](int64_t first, int64_t last) {
      engine.rows.norm(norm, {first, last});
    });
  });
  return true;
}

using AxisFlags = std::array<bool, Steps::kMostAxes>;

// A shape as runs of axes that are all reduced or all kept, in turn: at most kept, reduced, kept.
struct Runs {
  int64_t outer = 1, length = 1, inner = 1;
  bool make(const Shape& shape, const AxisFlags& reduced) {
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
  // Of a view in the order of memory, where it is all of a dense tensor and the axes that are kept
  // do not change places. False otherwise.
  bool make_of_view(const image::Argument& x, const AxisFlags& reduced) {
    std::array<size_t, Steps::kMostAxes> order = {};
    size_t count = 0;
    for (size_t d = 0; d < x.shape.size(); ++d)
      if (x.shape[d] != 1) order[count++] = d;
    std::sort(order.begin(), order.begin() + static_cast<int64_t>(count),
              [&](size_t a, size_t b) { return x.strides[a] > x.strides[b]; });
    int64_t step = 1;
    size_t last = SIZE_MAX;
    for (size_t i = count; i-- > 0; step *= x.shape[order[i]]) {
      if (x.strides[order[i]] != step) return false;
      if (reduced[order[i]]) continue;
      if (order[i] > last) return false;
      last = order[i];
    }
    Shape shape;
    AxisFlags which = {};
    for (size_t i = 0; i < count; ++i) {
      shape.push_back(x.shape[order[i]]);
      which[i] = reduced[order[i]];
    }
    return make(shape, which);
  }
};

// x with the axes that are reduced behind those that are kept.
image::Argument reduced_last(const image::Argument& x, const AxisFlags& reduced,
                             const CpuEngine& engine) {
  image::Argument turned = x;
  const Steps strides(x);
  turned.is_view = true;
  turned.offset = x.is_view ? x.offset : 0;
  turned.shape.clear();
  turned.strides.clear();
  for (const bool last : {false, true})
    for (size_t d = 0; d < x.shape.size(); ++d)
      if (reduced[d] == last) {
        turned.shape.push_back(x.shape[d]);
        turned.strides.push_back(strides[d]);
      }
  return without_view(turned, engine);
}

// Integers wrap. Only of sums and extremes.
template <class T>
bool reduce_integers(const CpuEngine& engine, const T* x, const Runs& runs, vector::Fold fold,
                     T* y) {
  using U = std::make_unsigned_t<T>;
  if (fold != vector::Fold::sum && fold != vector::Fold::highest && fold != vector::Fold::lowest)
    return false;
  engine.team.run(runs.outer * runs.inner, row_grain(runs.length), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* row = x + i / runs.inner * runs.length * runs.inner + i % runs.inner;
      T total = fold == vector::Fold::sum ? T{0} : row[0];
      for (int64_t k = 0; k < runs.length; ++k) {
        const T next = row[k * runs.inner];
        total = fold == vector::Fold::sum
                    ? static_cast<T>(static_cast<U>(total) + static_cast<U>(next))
                : fold == vector::Fold::highest ? std::max(total, next)
                                                : std::min(total, next);
      }
      y[i] = total;
    }
  });
  return true;
}

bool run_reduce(const CpuEngine& engine, const image::Argument& given, Tensor& y,
                const std::vector<int64_t>& axes, vector::Fold fold, const Behind& behind) {
  const DType dtype = given.tensor.dtype();
  const auto element = element_of(dtype);
  const bool is_integer = dtype == DType::i32 || dtype == DType::i64;
  if ((!element && !is_integer) || count(given.shape) == 0 || !has_few_axes(given)) return false;
  AxisFlags reduced = {};
  for (size_t d = 0; d < given.shape.size(); ++d) reduced[d] = axes.empty();
  for (const int64_t axis : axes) reduced[axis_in(axis, given.shape)] = true;
  Runs runs;
  std::optional<image::Argument> copy;
  const bool in_place = given.is_view && runs.make_of_view(given, reduced);
  if (!in_place) runs = {};
  if (!in_place && !runs.make(given.shape, reduced)) {
    copy.emplace(reduced_last(given, reduced, engine));
    runs = {};
    for (size_t d = 0; d < given.shape.size(); ++d)
      (reduced[d] ? runs.length : runs.outer) *= given.shape[d];
  }
  const image::Argument& x = in_place ? given : copy ? *copy : without_view(given, engine, copy);
  if (dtype == DType::i32)
    return reduce_integers(engine, reinterpret_cast<const int32_t*>(bytes_of(x)), runs, fold,
                           y.mutable_data<int32_t>().data());
  if (dtype == DType::i64)
    return reduce_integers(engine, reinterpret_cast<const int64_t*>(bytes_of(x)), runs, fold,
                           y.mutable_data<int64_t>().data());
  vector::Reduce reduce{.fold = fold,
                        .element = *element,
                        .x = bytes_of(x),
                        .y = y.mutable_bytes().data(),
                        .length = runs.length};
  if (runs.inner == 1) {
    reduce.x_row = runs.length;
    engine.team.run(runs.outer, row_grain(runs.length), [&](int64_t begin, int64_t end) {
      behind.in_blocks(begin, end, 1, [&](int64_t first, int64_t last) {
        engine.reductions.rows(reduce, {first, last});
      });
    });
    return true;
  }
  reduce.x_row = runs.inner;
  constexpr int64_t kColumns = 256;
  const int64_t blocks = (runs.inner + kColumns - 1) / kColumns, bytes = bytes_of(y.dtype());
  engine.team.run(runs.outer * blocks, row_grain(runs.length * std::min(kColumns, runs.inner)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      vector::Reduce part = reduce;
                      part.x = static_cast<const std::byte*>(part.x) +
                               i / blocks * runs.length * runs.inner * bytes;
                      part.y = static_cast<std::byte*>(part.y) + i / blocks * runs.inner * bytes;
                      const int64_t column = i % blocks * kColumns;
                      const int64_t end_column = std::min(column + kColumns, runs.inner);
                      engine.reductions.columns(part, {column, end_column});
                      const int64_t row = i / blocks * runs.inner;
                      behind.run(row + column, row + end_column);
                    }
                  });
  return true;
}

}  // namespace

std::unique_ptr<image::CallKernel> softmax_kernel(CpuEnginePtr engine, int64_t axis, bool logarithm,
                                                  Behind behind) {
  return make_kernel([engine = std::move(engine), axis, logarithm,
                      behind = std::move(behind)](image::CallSite& site) {
    return behind.place(site) &&
           run_softmax(*engine, site.inputs[0], site.results[0], axis, logarithm, behind);
  });
}

std::unique_ptr<image::CallKernel> norm_kernel(CpuEnginePtr engine, int64_t axis, double epsilon,
                                               bool is_centred, Behind behind) {
  return make_kernel([engine = std::move(engine), axis, epsilon, is_centred,
                      behind = std::move(behind)](image::CallSite& site) {
    return behind.place(site) &&
           run_norm(*engine, site.inputs, site.results[0], axis, epsilon, is_centred, behind);
  });
}

std::unique_ptr<image::CallKernel> reduce_kernel(CpuEnginePtr engine, std::vector<int64_t> axes,
                                                 vector::Fold fold, Behind behind) {
  return make_kernel([engine = std::move(engine), axes = std::move(axes), fold,
                      behind = std::move(behind)](image::CallSite& site) {
    return behind.place(site) &&
           run_reduce(*engine, site.inputs[0], site.results[0], axes, fold, behind);
  });
}

}  // namespace rlx::detail
