#include "rlx/backend/cpu/fast_copies.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace rlx::detail {
namespace {

using image::Argument;

size_t axis_in(int64_t axis, const Shape& shape) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis);
}

// The places that the indices name; false where one is out of range.
template <class T>
bool places_of(const Tensor& indices, int64_t length, std::vector<int64_t>& places) {
  places.clear();
  for (const T index : indices.data<T>()) {
    const int64_t place = index < 0 ? index + length : index;
    if (place < 0 || place >= length) return false;
    places.push_back(place);
  }
  return true;
}

// Elements begin to end of the result, each at one of the places of its block of `length`.
template <class T>
void take(const std::byte* from, const std::vector<int64_t>& places, int64_t length, std::byte* to,
          int64_t begin, int64_t end) {
  const auto count = static_cast<int64_t>(places.size());
  const T* block = reinterpret_cast<const T*>(from) + begin / count * length;
  T* y = reinterpret_cast<T*>(to);
  int64_t at = begin % count;
  for (int64_t i = begin; i < end; block += length, at = 0) {
    const int64_t stop = std::min(end, i + count - at);
    const int64_t* place = places.data() + at;
    for (; i < stop; ++i) y[i] = block[*place++];
  }
}

class GatherKernel : public image::CallKernel {
 public:
  GatherKernel(CpuEnginePtr engine, int64_t axis, Behind behind)
      : engine_(std::move(engine)), axis_(axis), behind_(std::move(behind)) {}

  bool run(image::CallSite& site) override {
    std::optional<Argument> x_copy, indices_copy;
    const Argument &x = without_view(site.inputs[0], *engine_, x_copy),
                   &indices = without_view(site.inputs[1], *engine_, indices_copy);
    const size_t axis = axis_in(axis_, x.shape);
    const int64_t length = x.shape[axis];
    if (indices.tensor.dtype() == DType::i64) {
      if (!places_of<int64_t>(indices.tensor, length, places_)) return false;
    } else if (indices.tensor.dtype() == DType::i32) {
      if (!places_of<int32_t>(indices.tensor, length, places_)) return false;
    } else {
      return false;
    }
    Tensor& y = site.results[0];
    if (!behind_.place(site)) return false;
    if (y.count() == 0) return true;
    int64_t outer = 1, row = bytes_of(y.dtype());
    for (size_t d = 0; d < x.shape.size(); ++d) {
      if (d < axis) outer *= x.shape[d];
      if (d > axis) row *= x.shape[d];
    }
    const std::byte* from = bytes_of(x);
    std::byte* to = y.mutable_bytes().data();
    const auto count = static_cast<int64_t>(places_.size());
    engine_->team.run(
        outer * count, 4 * CpuEngine::kGrain / row + 1, [&](int64_t begin, int64_t end) {
          behind_.in_blocks(
              begin, end, row / bytes_of(y.dtype()), [&](int64_t first, int64_t last) {
                if (row == 4) return take<uint32_t>(from, places_, length, to, first, last);
                if (row == 8) return take<uint64_t>(from, places_, length, to, first, last);
                for (int64_t i = first; i < last; ++i)
                  std::memcpy(
                      to + i * row,
                      from + (i / count * length + places_[static_cast<size_t>(i % count)]) * row,
                      static_cast<size_t>(row));
              });
        });
    return true;
  }

 private:
  CpuEnginePtr engine_;
  int64_t axis_;
  Behind behind_;
  std::vector<int64_t> places_;
};

bool run_concat(const CpuEngine& engine, image::CallSite& site, int64_t axis_given) {
  const std::vector<Argument>& parts = site.inputs;
  Tensor& y = site.results[0];
  if (y.count() == 0) return true;
  const bool strided = !site.stored.empty();
  const Shape& shape = strided ? site.stored[0].shape : y.shape();
  const size_t axis = axis_in(axis_given, shape), rank = shape.size();
  if (rank > Steps::kMostAxes) return false;
  std::array<int64_t, Steps::kMostAxes> strides = {};
  int64_t step = 1;
  for (size_t d = rank; d-- > 0; step *= shape[d])
    strides[d] = strided ? site.stored[0].strides[d] : step;
  std::byte* to = y.mutable_bytes().data();
  for (const Argument& part : parts) {
    const Steps from(part);
    std::array<vector::Copy::Axis, Steps::kMostAxes> axes;
    for (size_t d = 0; d < rank; ++d) axes[d] = {part.shape[d], from[d], strides[d]};
    vector::Copy copy;
    if (!copy.make(axes.data(), rank, bytes_of(y.dtype()))) return false;
    if (count(part.shape) > 0) run_copy(engine, copy, bytes_of(part), to);
    to += part.shape[axis] * strides[axis] * bytes_of(y.dtype());
  }
  return true;
}

}  // namespace

vector::Copy make_copy(const Shape& shape, const Shape& from, const Shape& to, DType dtype) {
  std::vector<vector::Copy::Axis> axes;
  for (size_t d = 0; d < shape.size(); ++d) axes.push_back({shape[d], from[d], to[d]});
  vector::Copy copy;
  if (!copy.make(axes.data(), axes.size(), bytes_of(dtype)))
    fail(ErrorKind::unsupported, "a copy of ", TensorType{dtype, shape}, " has more than ",
         vector::Copy::kMostAxes, " axes");
  return copy;
}

void run_copy(const CpuEngine& engine, const vector::Copy& copy, const std::byte* from,
              std::byte* to) {
  engine.team.run(copy.units(), CpuEngine::kGrain / copy.unit_elements() + 1,
                  [&](int64_t begin, int64_t end) {
                    copy.run(from, to, {begin, end});
                  });
}

image::Argument without_view(const image::Argument& x, const CpuEngine& engine) {
  if (!x.is_view) return x;
  image::Argument copied;
  copied.present = true;
  copied.shape = x.shape;
  copied.tensor = Tensor(x.tensor.dtype(), x.shape);
  if (copied.tensor.count() > 0)
    run_copy(engine, make_copy(x.shape, x.strides, strides_of(x.shape), x.tensor.dtype()),
             bytes_of(x), copied.tensor.mutable_bytes().data());
  return copied;
}

std::unique_ptr<image::CallKernel> gather_kernel(CpuEnginePtr engine, int64_t axis, Behind behind) {
  return std::make_unique<GatherKernel>(std::move(engine), axis, std::move(behind));
}

std::unique_ptr<image::CallKernel> concat_kernel(CpuEnginePtr engine, int64_t axis) {
  return make_kernel([engine = std::move(engine), axis](image::CallSite& site) {
    return run_concat(*engine, site, axis);
  });
}

}  // namespace rlx::detail
