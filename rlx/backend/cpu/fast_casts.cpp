#include "rlx/backend/cpu/fast_casts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "rlx/backend/cpu/fast_quantised.h"
#include "rlx/backend/cpu/nest_rows.h"

namespace rlx::detail {
namespace {

struct Truth {
  uint8_t value;  // 0 or 1
};
double number_of(Truth x) { return x.value; }
template <class T>
T number_of(T x) {
  return x;
}

template <class To, class From>
To cast_to(From x) {
  if constexpr (std::is_same_v<To, Truth>) {
    return {static_cast<uint8_t>(x != 0)};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr To low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
    const double number = static_cast<double>(x);
    if (!(number > static_cast<double>(low))) return std::isnan(number) ? To{0} : low;
    return number >= static_cast<double>(high) ? high : static_cast<To>(number);
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(static_cast<double>(x));
  } else {
    return static_cast<To>(x);
  }
}

using Convert = void (*)(const void* x, int64_t step, void* y, int64_t count);
template <class From, class To>
void convert(const void* x, int64_t step, void* y, int64_t count) {
  const auto* from = static_cast<const From*>(x);
  auto* to = static_cast<To*>(y);
  for (int64_t i = 0; i < count; ++i) to[i] = cast_to<To>(number_of(from[i * step]));
}

// The function for a dtype that is known here, or null.
template <template <class> class Choose>
Convert of_dtype(DType dtype, DType other) {
  switch (dtype) {
    case DType::f32:
      return Choose<float>::of(other);
    case DType::f64:
      return Choose<double>::of(other);
    case DType::i8:
      return Choose<int8_t>::of(other);
    case DType::u8:
      return Choose<uint8_t>::of(other);
    case DType::i16:
      return Choose<int16_t>::of(other);
    case DType::u16:
      return Choose<uint16_t>::of(other);
    case DType::i32:
      return Choose<int32_t>::of(other);
    case DType::u32:
      return Choose<uint32_t>::of(other);
    case DType::i64:
      return Choose<int64_t>::of(other);
    case DType::u64:
      return Choose<uint64_t>::of(other);
    case DType::boolean:
      return Choose<Truth>::of(other);
    default:
      return nullptr;
  }
}
template <class From>
struct FromType {
  template <class To>
  struct ToType {
    static Convert of(DType) { return convert<From, To>; }
  };
  static Convert of(DType to) { return of_dtype<ToType>(to, to); }
};
Convert conversion(DType from, DType to) { return of_dtype<FromType>(from, to); }

}  // namespace

bool cast_elements(const CpuEngine& engine, DType from, const void* x, int64_t step, DType to,
                   void* y, int64_t count) {
  const auto integer = to == DType::f32 ? integer_of(from) : std::nullopt;
  if (integer && step == 1) {
    engine.bytes.dequantise(*integer, x, {}, static_cast<float*>(y), count);
    return true;
  }
  const Convert scalar = conversion(from, to);
  if (scalar) scalar(x, step, y, count);
  return scalar != nullptr;
}

namespace {

class CastKernel : public image::CallKernel {
 public:
  explicit CastKernel(CpuEnginePtr engine) : engine_(std::move(engine)) {}
  bool hold(const image::CallSite& site, image::Holdings& /*holdings*/) override {
    Nest nest;
    return takes(site, nest);
  }
  bool run(image::CallSite& site) override;

 private:
  // Halves from f32 and to it; others by way of f32.
  static std::optional<vector::Element> half_in(const image::CallSite& site) {
    const DType from = site.inputs[0].tensor.dtype(), to = site.results[0].dtype();
    return to == DType::f32 ? half_of(from) : from == DType::f32 ? half_of(to) : std::nullopt;
  }
  bool takes(const image::CallSite& site, Nest& nest) const {
    const DType from = site.inputs[0].tensor.dtype(), to = site.results[0].dtype();
    const bool half = half_in(site).has_value();
    return nest.make(site.inputs, site.results[0].shape()) &&
           (half || cast_elements(*engine_, from, nullptr, 0, to, nullptr, 0)) &&
           !(half && nest.inner().steps[0] != 1 && nest.inner().extent > 1);
  }

  CpuEnginePtr engine_;
};

bool CastKernel::run(image::CallSite& site) {
  const image::Argument& x = site.inputs[0];
  Tensor& y = site.results[0];
  const DType from = x.tensor.dtype(), to = y.dtype();
  const auto half = half_in(site);
  const CpuEngine& engine = *engine_;
  Nest nest;
  if (!takes(site, nest)) return false;
  const int64_t step = nest.inner().steps[0];
  if (y.count() == 0) return true;
  const std::byte* source = bytes_of(x);
  std::byte* target = y.mutable_bytes().data();
  const int64_t width = bytes_of(from), wide = bytes_of(to);
  each_row(engine, nest, [&](const auto& at, int64_t element, int64_t count) {
    const void* here = source + at[0] * width;
    void* there = target + element * wide;
    if (half && to == DType::f32)
      engine.elementwise.widen(*half, here, static_cast<float*>(there), count);
    else if (half)
      engine.elementwise.narrow(static_cast<const float*>(here), *half, there, count);
    else
      cast_elements(engine, from, here, step, to, there, count);
  });
  return true;
}

}  // namespace

std::unique_ptr<image::CallKernel> cast_kernel(CpuEnginePtr engine) {
  return std::make_unique<CastKernel>(std::move(engine));
}

}  // namespace rlx::detail
