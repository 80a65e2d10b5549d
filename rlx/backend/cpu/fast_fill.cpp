#include "rlx/backend/cpu/fast_fill.h"

#include <algorithm>
#include <cstring>

#include "rlx/backend/cpu/fast_copies.h"

namespace rlx::detail {
namespace {

bool run_copy_of(const CpuEngine& engine, image::CallSite& site) {
  const image::Argument& x = site.inputs[0];
  Tensor& y = site.results[0];
  if (count(x.shape) != y.count() || x.tensor.dtype() != y.dtype()) return false;  // for a message
  if (y.count() == 0) return true;
  std::byte* to = y.mutable_bytes().data();
  if (x.is_view)
    run_copy(engine, make_copy(x.shape, x.strides, strides_of(x.shape), y.dtype()), bytes_of(x),
             to);
  else if (to != x.tensor.bytes().data())
    std::memmove(to, x.tensor.bytes().data(), y.bytes().size());
  return true;
}

bool tell_extents(image::CallSite& site) {
  const Shape& shape = site.inputs[0].shape;
  Tensor& y = site.results[0];
  if (y.dtype() != DType::i64) return false;
  if (y.shape().empty())
    y.mutable_data<int64_t>()[0] = count(shape);
  else
    std::copy(shape.begin(), shape.end(), y.mutable_data<int64_t>().begin());
  return true;
}

template <class T>
void count_up(T* y, int64_t count, int64_t first, int64_t step) {
  for (int64_t i = 0; i < count; ++i)
    y[i] = static_cast<T>(static_cast<uint64_t>(first) +
                          static_cast<uint64_t>(i) * static_cast<uint64_t>(step));
}
bool run_range(const Dims& bounds, image::CallSite& site) {
  Tensor& y = site.results[0];
  const auto number = [&](size_t i) {
    return site.in(i) ? site.in(i)->integer_at(0) : bounds[i].value(site.symbols);
  };
  if ((bounds.size() < 3 && !site.in(2)) || number(2) == 0) return false;
  if (y.dtype() == DType::i64)
    count_up(y.mutable_data<int64_t>().data(), y.count(), number(0), number(2));
  else if (y.dtype() == DType::i32)
    count_up(y.mutable_data<int32_t>().data(), y.count(), number(0), number(2));
  else
    return false;
  return true;
}

bool run_triangle(const CpuEngine& engine, bool upper, int64_t given, image::CallSite& site) {
  const Tensor& x = *site.in(0);
  Tensor& y = site.results[0];
  const int64_t k = site.in(1) ? site.in(1)->integer_at(0) : given;
  if (y.count() == 0) return true;
  const int64_t rows = x.shape()[x.shape().size() - 2], columns = x.shape().back(),
                width = bytes_of(x.dtype());
  const std::byte* from = x.bytes().data();
  std::byte* to = y.mutable_bytes().data();
  const int64_t near = std::clamp(k, -rows - 1, columns + 1);
  engine.team.run(
      x.count() / columns, CpuEngine::kGrain / columns + 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const int64_t edge =
              std::clamp<int64_t>(row % rows + near + (upper ? 0 : 1), 0, columns) * width;
          const int64_t first = row * columns * width, all = columns * width;
          const auto copy = [&](int64_t a, int64_t b) {
            std::memmove(to + first + a, from + first + a, static_cast<size_t>(b - a));
          };
          const auto clear = [&](int64_t a, int64_t b) {
            std::memset(to + first + a, 0, static_cast<size_t>(b - a));
          };
          upper ? clear(0, edge) : copy(0, edge);
          upper ? copy(edge, all) : clear(edge, all);
        }
      });
  return true;
}

template <class T>
void one_hot_rows(const std::vector<int64_t>& hot, int64_t depth, int64_t inner, T off, T on,
                  T* y) {
  std::fill(y, y + static_cast<int64_t>(hot.size()) * depth, off);
  for (size_t n = 0; n < hot.size(); ++n) {
    const auto at = static_cast<int64_t>(n);
    if (hot[n] >= 0 && hot[n] < depth)
      y[at / inner * inner * depth + at % inner + hot[n] * inner] = on;
  }
}
bool run_one_hot(int64_t axis_given, std::vector<int64_t>& hot, image::CallSite& site) {
  const Tensor &indices = *site.in(0), *values = site.in(2);
  Tensor& y = site.results[0];
  if (indices.dtype() != DType::i64 && indices.dtype() != DType::i32) return false;
  if (values && values->dtype() != y.dtype()) return false;
  if (y.count() == 0) return true;
  const auto rank = static_cast<int64_t>(y.shape().size());
  const auto axis = static_cast<size_t>(axis_given < 0 ? axis_given + rank : axis_given);
  const int64_t depth = y.shape()[axis];
  int64_t inner = 1;
  for (size_t d = axis + 1; d < y.shape().size(); ++d) inner *= y.shape()[d];
  hot.clear();
  for (int64_t n = 0; n < indices.count(); ++n) {
    const int64_t index = indices.integer_at(n);
    hot.push_back(index < 0 ? index + depth : index);
  }
  const auto fill = [&](auto off, auto on) {
    using T = decltype(off);
    if (values) off = values->data<T>()[0], on = values->data<T>()[1];
    one_hot_rows<T>(hot, depth, inner, off, on, y.mutable_data<T>().data());
  };
  if (y.dtype() == DType::f32)
    fill(0.0f, 1.0f);
  else if (y.dtype() == DType::i64)
    fill(int64_t{0}, int64_t{1});
  else if (y.dtype() == DType::i32)
    fill(int32_t{0}, int32_t{1});
  else if (y.dtype() == DType::boolean)
    fill(uint8_t{0}, uint8_t{1});
  else
    return false;
  return true;
}

bool run_write_slice(image::CallSite& site) {
  const Tensor &x = *site.in(0), &update = *site.in(1), &starts = *site.in(2);
  Tensor& y = site.results[0];
  if (y.shape() != x.shape() || update.shape().size() != x.shape().size()) return false;
  const Shape strides = strides_of(x.shape()), rows = strides_of(update.shape());
  int64_t offset = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    const int64_t start = starts.integer_at(static_cast<int64_t>(d));
    if (start < 0 || start > x.shape()[d] - update.shape()[d]) return false;  // for its message
    offset += start * strides[d];
  }
  if (y.count() == 0) return true;
  std::byte* to = y.mutable_bytes().data();
  if (to != x.bytes().data()) std::memcpy(to, x.bytes().data(), x.bytes().size());
  image::StridedCopy(update.shape(), {0, rows}, {offset, strides}, bytes_of(x.dtype()))
      .run(update.bytes().data(), to);
  return true;
}

// One position of one head: pairs side by side, or half a row apart.
void turn(const float* x, const float* cosines, const float* sines, int64_t pairs, bool interleaved,
          float* y) {
  for (int64_t pair = 0; pair < pairs; ++pair) {
    const int64_t first = interleaved ? 2 * pair : pair, second = first + (interleaved ? 1 : pairs);
    const float a = x[first], b = x[second], c = cosines[pair], s = sines[pair];
    y[first] = a * c - b * s;
    y[second] = b * c + a * s;
  }
}
bool run_rope(const CpuEngine& engine, const RopeOptions& options, image::CallSite& site) {
  const Tensor &x = *site.in(0), &cosines = *site.in(1), &sines = *site.in(2);
  Tensor& y = site.results[0];
  for (const Tensor* each : {&x, &cosines, &sines})
    if (each->dtype() != DType::f32) return false;
  if (y.count() == 0) return true;
  const int64_t size = x.shape().back(), pairs = cosines.shape().back();
  const size_t axis = x.shape().size() - (options.heads_inside ? 3 : 2);
  const int64_t positions = x.shape()[axis];
  int64_t inner = 1;
  for (size_t d = axis + 1; d < x.shape().size(); ++d) inner *= x.shape()[d];
  const int64_t each_batch = cosines.shape().size() == 3 ? x.count() / x.shape()[0] : x.count();
  const float *from = x.data<float>().data(), *c = cosines.data<float>().data(),
              *s = sines.data<float>().data();
  float* to = y.mutable_data<float>().data();
  engine.team.run(
      x.count() / size, CpuEngine::kGrain / 2 / size + 1, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin * size; at < end * size; at += size) {
          const int64_t table = (at / each_batch * positions + at / inner % positions) * pairs;
          turn(from + at, c + table, s + table, pairs, options.interleaved, to + at);
          std::copy(from + at + 2 * pairs, from + at + size, to + at + 2 * pairs);
        }
      });
  return true;
}

}  // namespace

std::unique_ptr<image::CallKernel> copy_kernel(CpuEnginePtr engine) {
  return make_kernel(
      [engine = std::move(engine)](image::CallSite& site) { return run_copy_of(*engine, site); });
}
std::unique_ptr<image::CallKernel> extents_kernel(CpuEnginePtr /*engine*/) {
  return make_kernel(tell_extents);
}
std::unique_ptr<image::CallKernel> range_kernel(CpuEnginePtr /*engine*/, Dims bounds) {
  return make_kernel(
      [bounds = std::move(bounds)](image::CallSite& site) { return run_range(bounds, site); });
}
std::unique_ptr<image::CallKernel> triangle_kernel(CpuEnginePtr engine, bool upper, int64_t k) {
  return make_kernel([engine = std::move(engine), upper, k](image::CallSite& site) {
    return run_triangle(*engine, upper, k, site);
  });
}
std::unique_ptr<image::CallKernel> one_hot_kernel(CpuEnginePtr /*engine*/, int64_t axis) {
  return make_kernel([axis, hot = std::vector<int64_t>()](image::CallSite& site) mutable {
    return run_one_hot(axis, hot, site);
  });
}
std::unique_ptr<image::CallKernel> write_slice_kernel(CpuEnginePtr /*engine*/) {
  return make_kernel(run_write_slice);
}
std::unique_ptr<image::CallKernel> rope_kernel(CpuEnginePtr engine, RopeOptions options) {
  return make_kernel([engine = std::move(engine), options](image::CallSite& site) {
    return run_rope(*engine, options, site);
  });
}

}  // namespace rlx::detail
