#include "rlx/vector/rows.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/rows.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/load_elements.h"
#include "rlx/vector/math.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

template <class T>
const T* at(const void* data, int64_t offset) {
  return static_cast<const T*>(data) + offset;
}
template <class T>
T* at(void* data, int64_t offset) {
  return static_cast<T*>(data) + offset;
}

constexpr int64_t kBlock = 128 * kLanes;  // elements whose sum is f32; longer sums are f64

template <class T>
float highest_of(const T* x, int64_t length) {
  F highest = set(-kInfinity), other = highest;
  int64_t i = 0;
  for (; i + 2 * kLanes <= length; i += 2 * kLanes) {
    highest = max(load(x + i), highest);  // what is no number is passed over
    other = max(load(x + i + kLanes), other);
  }
  for (; i < length; i += kLanes) highest = max(load_some(x + i, length - i, highest), highest);
  return largest(max(highest, other));
}

template <class T>
void softmax_row(const T* x, T* y, int64_t length, bool logarithm) {
  const float top = highest_of(x, length);
  const F highest = set(top);
  // f32 results keep the exponentials until they are divided; others would round them twice.
  constexpr bool keeps = std::is_same_v<T, float>;
  double all = 0;
  for (int64_t begin = 0; begin < length; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, length);
    F totals = set(0.0f);
    for (int64_t i = begin; i < end; i += kLanes) {
      const int64_t left = end - i;
      F e = exp_below_zero(load_some(x + i, left, set(-kInfinity)) - highest);
      if (left < kLanes) e = select(first(left), e, set(0.0f));
      if (keeps && !logarithm) store_some(e, y + i, left);
      totals = totals + e;
    }
    all += static_cast<double>(sum(totals));
  }
  const auto total = static_cast<float>(all);
  if (logarithm) {
    const F shift = set(std::log(total));
    for (int64_t i = 0; i < length; i += kLanes)
      store_some(load_some(x + i, length - i) - highest - shift, y + i, length - i);
    return;
  }
  const F factor = set(1 / total);
  for (int64_t i = 0; i < length; i += kLanes) {
    const int64_t left = length - i;
    const F e = keeps ? load_some(y + i, left) : exp_below_zero(load_some(x + i, left) - highest);
    store_some(e * factor, y + i, left);
  }
}

template <class T>
void softmax_rows(const Softmax& s, Range rows) {
  for (int64_t r = rows.begin; r < rows.end; ++r)
    softmax_row(at<T>(s.x, r * s.x_row), at<T>(s.y, r * s.y_row), s.length, s.logarithm);
}

template <class T>
void softmax_columns(const Softmax& s, Range columns) {
  for (int64_t j = columns.begin; j < columns.end; j += kLanes) {
    const int64_t left = columns.end - j;
    const T* x = at<T>(s.x, j);
    T* y = at<T>(s.y, j);
    F highest = set(-kInfinity), total = set(0.0f);
    for (int64_t i = 0; i < s.length; ++i) highest = max(load_some(x + i * s.x_row, left), highest);
    for (int64_t i = 0; i < s.length; ++i)
      total = total + exp_below_zero(load_some(x + i * s.x_row, left) - highest);
    const F shift = log(total), factor = set(1.0f) / total;
    for (int64_t i = 0; i < s.length; ++i) {
      const F shifted = load_some(x + i * s.x_row, left) - highest;
      store_some(s.logarithm ? shifted - shift : exp_below_zero(shifted) * factor, y + i * s.y_row,
                 left);
    }
  }
}

// A row of x, with the residual where there is one.
template <class T>
struct Sum {
  const T *x, *residual;
  HWY_INLINE F at(int64_t i, int64_t left) const {
    const F y = load_some(x + i, left);
    return residual ? y + load_some(residual + i, left) : y;
  }
};

// Two sums side by side, so that an addition need not wait for the one before it.
template <class T>
double total_of(const Sum<T>& x, int64_t length) {
  double total = 0;
  for (int64_t begin = 0; begin < length; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, length);
    F even = set(0.0f), odd = even;
    int64_t i = begin;
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      even = even + x.at(i, kLanes);
      odd = odd + x.at(i + kLanes, kLanes);
    }
    for (; i < end; i += kLanes) even = even + x.at(i, end - i);
    total += static_cast<double>(sum(even + odd));
  }
  return total;
}
template <class T>
double squares_of(const Sum<T>& x, F mean, F rest, int64_t length) {
  double total = 0;
  for (int64_t begin = 0; begin < length; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, length);
    F even = set(0.0f), odd = even;
    int64_t i = begin;
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      const F a = x.at(i, kLanes) - mean - rest, b = x.at(i + kLanes, kLanes) - mean - rest;
      even = mul_add(a, a, even);
      odd = mul_add(b, b, odd);
    }
    for (; i < end; i += kLanes) {
      F value = x.at(i, end - i) - mean - rest;
      if (end - i < kLanes) value = select(first(end - i), value, set(0.0f));
      even = mul_add(value, value, even);
    }
    total += static_cast<double>(sum(even + odd));
  }
  return total;
}

template <class T>
void norm_row(const Norm& n, int64_t row) {
  const Sum<T> x{at<T>(n.x, row * n.x_row),
                 n.residual ? at<T>(n.residual, row * n.residual_row) : nullptr};
  T* y = at<T>(n.y, row * n.y_row);
  const T *gamma = at<T>(n.gamma, 0), *beta = at<T>(n.beta, 0);
  if (n.sum) {
    T* kept = at<T>(n.sum, row * n.sum_row);
    for (int64_t i = 0; i < n.length; i += kLanes)
      store_some(x.at(i, n.length - i), kept + i, n.length - i);
  }
  const auto count = static_cast<double>(n.length);
  const double average = n.is_centred ? total_of(x, n.length) / count : 0;
  // In two parts, for values that lie far from 0 and near to each other.
  const auto near = static_cast<float>(average);
  const F mean = set(near), rest = set(static_cast<float>(average - static_cast<double>(near)));
  const F inverse = set(
      static_cast<float>(1 / std::sqrt(squares_of(x, mean, rest, n.length) / count + n.epsilon)));
  for (int64_t i = 0; i < n.length; i += kLanes) {
    const int64_t left = n.length - i;
    F value = (x.at(i, left) - mean - rest) * inverse;
    if (gamma) value = value * load_some(gamma + i, left);
    if (beta) value = value + load_some(beta + i, left);
    store_some(value, y + i, left);
  }
}
template <class T>
void norm_rows(const Norm& n, Range rows) {
  for (int64_t r = rows.begin; r < rows.end; ++r) norm_row<T>(n, r);
}

#define RLX_BY_ELEMENT(function, arguments, range) \
  switch ((arguments).element) {                   \
    case Element::f32:                             \
      return function<float>(arguments, range);    \
    case Element::f16:                             \
      return function<Float16>(arguments, range);  \
    case Element::bf16:                            \
      return function<BFloat16>(arguments, range); \
  }

void softmax_any(const Softmax& s, Range rows) { RLX_BY_ELEMENT(softmax_rows, s, rows); }
void softmax_columns_any(const Softmax& s, Range columns) {
  RLX_BY_ELEMENT(softmax_columns, s, columns);
}
void norm_any(const Norm& n, Range rows) { RLX_BY_ELEMENT(norm_rows, n, rows); }
#undef RLX_BY_ELEMENT

Rows make() {
  return {.softmax = softmax_any, .softmax_columns = softmax_columns_any, .norm = norm_any};
}

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
Rows rows(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
