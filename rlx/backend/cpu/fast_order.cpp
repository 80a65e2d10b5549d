#include "rlx/backend/cpu/fast_order.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <utility>

#include "rlx/backend/cpu/radix_order.h"
#include "rlx/backend/cpu/scratch.h"

namespace rlx::detail {
namespace {

// Rows along an axis, whose elements are `stride` apart.
struct Rows {
  int64_t count = 1, length = 1, stride = 1;
  Rows(const Shape& shape, int64_t axis_given) {
    const auto axis = static_cast<size_t>(
        axis_given < 0 ? axis_given + static_cast<int64_t>(shape.size()) : axis_given);
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d == axis)
        length = shape[d];
      else
        count *= shape[d];
      if (d > axis) stride *= shape[d];
    }
  }
  int64_t first(int64_t row) const { return row / stride * stride * length + row % stride; }
};
int64_t grain_of(const Rows& rows) {
  return CpuEngine::kGrain / 4 / std::max<int64_t>(rows.length, 1) + 1;
}

// Calls f with a null pointer of the element's type; false for dtypes that are not ours.
template <class F>
bool by_type(DType dtype, const F& f) {
  switch (dtype) {
    case DType::f32:
      f(static_cast<float*>(nullptr));
      return true;
    case DType::i32:
      f(static_cast<int32_t*>(nullptr));
      return true;
    case DType::i64:
      f(static_cast<int64_t*>(nullptr));
      return true;
    case DType::u32:
      f(static_cast<uint32_t*>(nullptr));
      return true;
    case DType::i8:
      f(static_cast<int8_t*>(nullptr));
      return true;
    case DType::u8:
      f(static_cast<uint8_t*>(nullptr));
      return true;
    default:
      return false;
  }
}

template <class T>
bool is_nan(T x) {
  return x != x;
}

// What is no number comes before all others, and the first such before the rest.
template <class T, bool highest>
int64_t extreme_of(const T* x, int64_t length, int64_t stride, bool last) {
  int64_t best = 0;
  T champion = x[0];
  for (int64_t i = 1; i < length; ++i) {
    const T v = x[i * stride];
    const bool further = highest ? v > champion : v < champion;
    if (!further && !(last && v == champion) && !is_nan(v)) continue;
    if (is_nan(champion) && !(last && is_nan(v))) continue;
    best = i;
    champion = v;
  }
  return best;
}

bool run_extreme(const CpuEngine& engine, const ExtremeOptions& options, image::CallSite& site) {
  const Tensor& x = *site.in(0);
  Tensor& y = site.results[0];
  const Rows rows(x.shape(), options.axis);
  if (rows.length == 0) return false;
  return by_type(x.dtype(), [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if (y.count() == 0) return;
    const T* from = x.data<T>().data();
    int64_t* to = y.mutable_data<int64_t>().data();
    engine.team.run(rows.count, grain_of(rows), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* first = from + rows.first(row);
        to[row] = options.highest
                      ? extreme_of<T, true>(first, rows.length, rows.stride, options.last)
                      : extreme_of<T, false>(first, rows.length, rows.stride, options.last);
      }
    });
  });
}

class OrderKernel : public image::CallKernel {
 public:
  OrderKernel(CpuEnginePtr engine, OrderOptions options)
      : engine_(std::move(engine)), options_(options), scratch_(engine_->team.threads()) {}

  bool run(image::CallSite& site) override {
    const Tensor& x = *site.in(0);
    Tensor &values = site.results[0], &indices = site.results[1];
    const Rows from(x.shape(), options_.axis), to(values.shape(), options_.axis);
    if (from.length >= int64_t{1} << 31) return false;
    return by_type(x.dtype(), [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      if (values.count() == 0) return;
      const T* source = x.data<T>().data();
      T* sorted = values.mutable_data<T>().data();
      int64_t* places = indices.mutable_data<int64_t>().data();
      const auto keys_length = static_cast<int64_t>(sizeof(T) * size_t(from.length) + 3) / 4;
      const int64_t keyed_at = (keys_length + from.length + 1) / 2 * 2;
      const bool by_digits = sorts_by_digits<T>(from.length, to.length);
      scratch_.resize(by_digits ? keyed_at + 4 * from.length : keyed_at);
      engine_->team.run(from.count, grain_of(from), [&](int64_t begin, int64_t end) {
        const Scratch::Part scratch(scratch_);
        T* keys = reinterpret_cast<T*>(scratch.data());
        auto* order = reinterpret_cast<int32_t*>(scratch.data() + keys_length);
        for (int64_t row = begin; row < end; ++row) {
          const T* first = source + from.first(row);
          for (int64_t i = 0; i < from.length; ++i) keys[i] = first[i * from.stride];
          if (by_digits)
            find_by_digits(keys, scratch.data() + keyed_at, order, from.length);
          else
            find_order(keys, order, from.length, to.length);
          const int64_t place = to.first(row);
          for (int64_t i = 0; i < to.length; ++i) {
            sorted[place + i * to.stride] = keys[order[i]];
            places[place + i * to.stride] = order[i];
          }
        }
      });
    });
  }

 private:
  template <class T>
  static bool sorts_by_digits(int64_t length, int64_t wanted) {
    constexpr int64_t kFew = 256;  // which are compared as fast
    return sizeof(T) == 4 && length > kFew && wanted >= length / 8;
  }
  // All of them; the memory is two words for each, twice.
  template <class T>
  void find_by_digits(const T* keys, float* memory, int32_t* order, int64_t length) const {
    if constexpr (sizeof(T) == 4) {
      auto* keyed = reinterpret_cast<uint64_t*>(memory);
      for (int64_t i = 0; i < length; ++i) {
        const uint32_t key = order_key(keys[i]);
        keyed[i] = static_cast<uint64_t>(options_.descending ? ~key : key) << 32 |
                   static_cast<uint64_t>(i);
      }
      order_by_digits(keyed, keyed + length, length, order);
    }
  }
  // The first `wanted`; of equals the first one comes first.
  template <class T>
  void find_order(const T* keys, int32_t* order, int64_t length, int64_t wanted) const {
    std::iota(order, order + length, 0);
    const auto less = [](T a, T b) { return is_nan(b) ? !is_nan(a) : a < b; };
    const auto before = [&](int32_t a, int32_t b) {
      const T x = options_.descending ? keys[b] : keys[a],
              y = options_.descending ? keys[a] : keys[b];
      return less(x, y) || (!less(y, x) && a < b);
    };
    if (wanted < length / 8)
      std::partial_sort(order, order + wanted, order + length, before);
    else
      std::sort(order, order + length, before);
  }

  CpuEnginePtr engine_;
  OrderOptions options_;
  Scratch scratch_;
};

// A scan takes a row in chunks: what has come before a chunk joins each of its running totals, on
// one thread as on many, so that their number decides no bit. Products of floats are one chunk:
// what is in one may overflow where the whole does not.
template <class T, bool multiplies>
struct Scan {
  using Total = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  static constexpr int64_t kChunk =
      multiplies && std::is_floating_point_v<T> ? std::numeric_limits<int64_t>::max() : 4096;

  const T* x;
  T* y;
  const Rows& rows;
  const ScanOptions& options;

  static Total nothing() { return multiplies ? 1 : 0; }
  static Total joined(Total a, Total b) { return multiplies ? a * b : a + b; }
  int64_t chunks() const { return (rows.length - 1) / kChunk + 1; }

  // Calls f with each place of a chunk, in order.
  template <class F>
  void each(int64_t row, int64_t chunk, const F& f) const {
    const int64_t end = std::min(rows.length - chunk * kChunk, kChunk) + chunk * kChunk;
    for (int64_t i = chunk * kChunk; i < end; ++i)
      f(rows.first(row) + (options.reverse ? rows.length - 1 - i : i) * rows.stride);
  }
  Total total(int64_t row, int64_t chunk) const {
    Total inside = nothing();
    each(row, chunk, [&](int64_t at) { inside = joined(inside, static_cast<Total>(x[at])); });
    return inside;
  }
  // Writes what becomes of a chunk; what comes before the next one.
  Total write(int64_t row, int64_t chunk, Total before) const {
    Total inside = nothing();
    each(row, chunk, [&](int64_t at) {
      const Total last = inside;
      inside = joined(inside, static_cast<Total>(x[at]));
      y[at] = static_cast<T>(joined(before, options.exclusive ? last : inside));
    });
    return joined(before, inside);
  }
};

class ScanKernel : public image::CallKernel {
 public:
  ScanKernel(CpuEnginePtr engine, ScanOptions options)
      : engine_(std::move(engine)), options_(options) {}

  bool run(image::CallSite& site) override {
    const Tensor& x = *site.in(0);
    Tensor& y = site.results[0];
    const Rows rows(x.shape(), options_.axis);
    return by_type(x.dtype(), [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      if (y.count() == 0) return;
      const T* from = x.data<T>().data();
      T* to = y.mutable_data<T>().data();
      if (options_.multiplies)
        run(Scan<T, true>{from, to, rows, options_});
      else
        run(Scan<T, false>{from, to, rows, options_});
    });
  }

 private:
  template <class T, bool multiplies>
  void run(const Scan<T, multiplies>& scan) {
    using Total = typename Scan<T, multiplies>::Total;
    const int64_t count = scan.rows.count, chunks = scan.chunks();
    vector::Team& team = engine_->team;
    if (count >= team.threads() || chunks == 1) {
      team.run(count, grain_of(scan.rows), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          Total before = scan.nothing();
          for (int64_t c = 0; c < chunks; ++c) before = scan.write(row, c, before);
        }
      });
      return;
    }
    // Fewer rows than threads, and long ones: they are read twice.
    auto& all = std::get<std::vector<Total>>(befores_);
    all.resize(static_cast<size_t>(count * chunks));
    Total* befores = all.data();
    const auto each_chunk = [&](const auto& f) {
      team.run(count * chunks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) f(i / chunks, i % chunks, befores[i]);
      });
    };
    each_chunk([&](int64_t row, int64_t c, Total& total) { total = scan.total(row, c); });
    for (int64_t row = 0; row < count; ++row) {
      Total before = scan.nothing();
      for (int64_t i = row * chunks; i < (row + 1) * chunks; ++i)
        before = scan.joined(before, std::exchange(befores[i], before));
    }
    each_chunk([&](int64_t row, int64_t c, Total& before) { scan.write(row, c, before); });
  }

  CpuEnginePtr engine_;
  ScanOptions options_;
  std::tuple<std::vector<double>, std::vector<uint64_t>> befores_;
};

}  // namespace

std::unique_ptr<image::CallKernel> extreme_kernel(CpuEnginePtr engine, ExtremeOptions options) {
  return make_kernel([engine = std::move(engine), options](image::CallSite& site) {
    return run_extreme(*engine, options, site);
  });
}
std::unique_ptr<image::CallKernel> order_kernel(CpuEnginePtr engine, OrderOptions options) {
  return std::make_unique<OrderKernel>(std::move(engine), options);
}
std::unique_ptr<image::CallKernel> scan_kernel(CpuEnginePtr engine, ScanOptions options) {
  return std::make_unique<ScanKernel>(std::move(engine), options);
}

}  // namespace rlx::detail
