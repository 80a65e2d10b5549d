#include "rlx/backend/cpu/fast_places.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace rlx::detail {
namespace {

using Kind = PlaceOptions::Kind;

// The blocks of x that indices name, by where they begin.
class Places {
 public:
  explicit Places(PlaceOptions options) : options_(options) {}
  std::vector<int64_t> at;
  int64_t block = 1;  // elements

  // False where an index is out of range or of a dtype that is not ours.
  bool find(const Tensor& x, const Tensor& indices) {
    if (indices.dtype() == DType::i64) return find_of(x, indices.data<int64_t>(), indices.shape());
    if (indices.dtype() == DType::i32) return find_of(x, indices.data<int32_t>(), indices.shape());
    return false;
  }

 private:
  template <class T>
  bool find_of(const Tensor& x, std::span<const T> indices, const Shape& shape) {
    at.clear();
    strides_ = strides_of(x.shape());
    if (options_.kind == Kind::elements) return elements(x.shape(), indices, shape);
    if (options_.kind == Kind::rows) return rows(x.shape(), indices);
    return tuples(x, indices, shape);
  }
  static bool within(int64_t& index, int64_t extent) {
    if (index < 0) index += extent;
    return index >= 0 && index < extent;
  }

  template <class T>
  bool elements(const Shape& x, std::span<const T> indices, const Shape& shape) {
    const size_t axis = axis_of(x);
    block = 1;
    counts_.assign(shape.size(), 0);
    int64_t other = 0;  // where the coordinates but the axis' are
    for (const T given : indices) {
      int64_t index = given;
      if (!within(index, x[axis])) return false;
      at.push_back(other + index * strides_[axis]);
      for (size_t d = shape.size(); d-- > 0;) {
        const int64_t step = d == axis ? 0 : strides_[d];
        other += step;
        if (++counts_[d] < shape[d]) break;
        other -= counts_[d] * step;
        counts_[d] = 0;
      }
    }
    return true;
  }
  template <class T>
  bool rows(const Shape& x, std::span<const T> indices) {
    const size_t axis = axis_of(x);
    block = strides_[axis];
    int64_t outer = 1;
    for (size_t d = 0; d < axis; ++d) outer *= x[d];
    for (int64_t o = 0; o < outer; ++o)
      for (const T given : indices) {
        int64_t index = given;
        if (!within(index, x[axis])) return false;
        at.push_back((o * x[axis] + index) * block);
      }
    return true;
  }
  template <class T>
  bool tuples(const Tensor& x, std::span<const T> indices, const Shape& shape) {
    const auto along = static_cast<size_t>(options_.axis);
    const auto length = static_cast<size_t>(shape.back());
    int64_t batches = 1;
    for (size_t d = 0; d < along; ++d) batches *= x.shape()[d];
    block = strides_[along + length - 1];
    const size_t count = length == 0 ? 0 : indices.size() / length;
    for (size_t t = 0; t < count; ++t) {
      const auto batch =
          static_cast<int64_t>(t) / (static_cast<int64_t>(count) / std::max<int64_t>(batches, 1));
      int64_t place = batch * (x.count() / batches);
      for (size_t k = 0; k < length; ++k) {
        int64_t index = indices[t * length + k];
        if (!within(index, x.shape()[along + k])) return false;
        place += index * strides_[along + k];
      }
      at.push_back(place);
    }
    return true;
  }
  size_t axis_of(const Shape& x) const {
    return static_cast<size_t>(options_.axis < 0 ? options_.axis + static_cast<int64_t>(x.size())
                                                 : options_.axis);
  }

  PlaceOptions options_;
  Shape strides_;
  std::vector<int64_t> counts_;
};

class GatherPlacesKernel : public image::CallKernel {
 public:
  GatherPlacesKernel(CpuEnginePtr engine, PlaceOptions options)
      : engine_(std::move(engine)), places_(options) {}
  bool run(image::CallSite& site) override {
    const Tensor& x = *site.in(0);
    Tensor& y = site.results[0];
    if (x.shape().empty()) return false;
    if (y.count() == 0) return true;
    if (!places_.find(x, *site.in(1))) return false;
    const int64_t width = bytes_of(x.dtype()), row = places_.block * width;
    const std::byte* from = x.bytes().data();
    std::byte* to = y.mutable_bytes().data();
    engine_->team.run(static_cast<int64_t>(places_.at.size()), 4 * CpuEngine::kGrain / row + 1,
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i)
                          std::memcpy(to + i * row,
                                      from + places_.at[static_cast<size_t>(i)] * width,
                                      static_cast<size_t>(row));
                      });
    return true;
  }

 private:
  CpuEnginePtr engine_;
  Places places_;
};

template <class T>
T updated(Update update, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (update == Update::add) return a + b;
    if (update == Update::multiply) return a * b;
    if (update == Update::highest) return std::isnan(a) || a > b ? a : b;
    return std::isnan(a) || a < b ? a : b;
  } else {
    using U = std::make_unsigned_t<T>;
    if (update == Update::add) return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    if (update == Update::multiply) return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    return update == Update::highest ? std::max(a, b) : std::min(a, b);
  }
}

class ScatterKernel : public image::CallKernel {
 public:
  ScatterKernel(CpuEnginePtr engine, PlaceOptions options, Update update)
      : engine_(std::move(engine)), places_(options), update_(update) {}
  bool run(image::CallSite& site) override {
    const Tensor &x = *site.in(0), &updates = *site.in(2);
    Tensor& y = site.results[0];
    const bool is_float = x.dtype() == DType::f32;
    if (!takes(x)) return false;
    if (y.count() == 0) return true;
    if (!places_.find(x, *site.in(1))) return false;
    std::byte* to = y.mutable_bytes().data();
    if (to != x.bytes().data()) std::memcpy(to, x.bytes().data(), x.bytes().size());
    const int64_t width = bytes_of(x.dtype()), row = places_.block * width;
    if (update_ == Update::replace) {
      const std::byte* from = updates.bytes().data();
      for (size_t i = 0; i < places_.at.size(); ++i, from += row)
        std::memcpy(to + places_.at[i] * width, from, static_cast<size_t>(row));
      return true;
    }
    if (is_float)
      sum(updates.data<float>().data(), y.mutable_data<float>().data(), x.count());
    else if (x.dtype() == DType::i32)
      combine(updates.data<int32_t>().data(), y.mutable_data<int32_t>().data());
    else
      combine(updates.data<int64_t>().data(), y.mutable_data<int64_t>().data());
    return true;
  }

  bool hold(const image::CallSite& site, image::Holdings& /*holdings*/) override {
    return takes(*site.in(0));
  }

 private:
  bool takes(const Tensor& x) const {
    const DType dtype = x.dtype();
    return !x.shape().empty() && (update_ == Update::replace || dtype == DType::f32 ||
                                  dtype == DType::i32 || dtype == DType::i64);
  }
  template <class From, class To>
  void combine(const From* updates, To* y) const {
    for (const int64_t place : places_.at)
      for (int64_t k = 0; k < places_.block; ++k, ++updates)
        y[place + k] = updated<To>(update_, y[place + k], *updates);
  }
  // Floats are rounded once, at the end.
  void sum(const float* updates, float* y, int64_t count) {
    if (update_ == Update::highest || update_ == Update::lowest) return combine(updates, y);
    sums_.assign(y, y + count);
    combine(updates, sums_.data());
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(sums_[static_cast<size_t>(i)]);
  }

  CpuEnginePtr engine_;
  Places places_;
  Update update_;
  std::vector<double> sums_;
};

}  // namespace

std::unique_ptr<image::CallKernel> gather_places_kernel(CpuEnginePtr engine, PlaceOptions options) {
  return std::make_unique<GatherPlacesKernel>(std::move(engine), options);
}
std::unique_ptr<image::CallKernel> scatter_kernel(CpuEnginePtr engine, PlaceOptions options,
                                                  Update update) {
  return std::make_unique<ScatterKernel>(std::move(engine), options, update);
}

}  // namespace rlx::detail
