#include "rlx/tensor/interval.h"

#include <algorithm>

#include "rlx/base/error.h"

namespace rlx {

int64_t checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    fail(ErrorKind::limit, "a size of ", a, " + ", b, " does not fit 64 bits");
  return sum;
}

int64_t checked_mul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    fail(ErrorKind::limit, "a size of ", a, " * ", b, " does not fit 64 bits");
  return product;
}

int64_t mod_number(int64_t a, int64_t b) {
  if (b == 0) fail(ErrorKind::invalid_graph, "a dimension divides by zero");
  if (b == -1) return 0;  // the smallest number has no quotient
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t floor_div_number(int64_t a, int64_t b) {
  if (b == 0) fail(ErrorKind::invalid_graph, "a dimension divides by zero");
  if (b == -1) return checked_mul(a, -1);
  const int64_t quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}

namespace {

// Arithmetic on bounds that keeps "unbounded" unbounded.
int64_t bounded_add(int64_t a, int64_t b) {
  if (a == kUnbounded || b == kUnbounded) return kUnbounded;
  if (a == -kUnbounded || b == -kUnbounded) return -kUnbounded;
  return checked_add(a, b);
}
int64_t bounded_mul(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a == kUnbounded || b == kUnbounded || a == -kUnbounded || b == -kUnbounded)
    return ((a < 0) == (b < 0)) ? kUnbounded : -kUnbounded;
  return checked_mul(a, b);
}

}  // namespace

Interval interval_sum(Interval a, Interval b) {
  return {bounded_add(a.low, b.low), bounded_add(a.high, b.high)};
}

Interval interval_product(Interval a, Interval b) {
  const int64_t corners[] = {bounded_mul(a.low, b.low), bounded_mul(a.low, b.high),
                             bounded_mul(a.high, b.low), bounded_mul(a.high, b.high)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

Interval interval_floor_div(Interval a, Interval b) {
  if (b.low <= 0) return {-kUnbounded, kUnbounded};  // a divisor that may be zero says nothing
  const auto divide = [](int64_t x, int64_t y) {
    if (x == kUnbounded || x == -kUnbounded) return x;
    return y == kUnbounded ? int64_t{x < 0 ? -1 : 0} : floor_div_number(x, y);
  };
  return {std::min(divide(a.low, b.low), divide(a.low, b.high)),
          std::max(divide(a.high, b.low), divide(a.high, b.high))};
}

Interval interval_mod(Interval /*a*/, Interval b) {
  return {0, b.high == kUnbounded ? kUnbounded : std::max<int64_t>(b.high - 1, 0)};
}
Interval interval_min(Interval a, Interval b) {
  return {std::min(a.low, b.low), std::min(a.high, b.high)};
}
Interval interval_max(Interval a, Interval b) {
  return {std::max(a.low, b.low), std::max(a.high, b.high)};
}
// Where both are at least 1 the larger of them is it; 0 beside 1 is 0. One that is at least 2 is
// it, or the binding is an Error.
Interval interval_broadcast(Interval a, Interval b) {
  const int64_t least = std::min(a.low, b.low), most = std::max(a.low, b.low);
  Interval range{least >= 1 || most >= 2 ? most : least, std::max(a.high, b.high)};
  if (a.low >= 2) range.high = a.high;
  if (b.low >= 2) range.high = std::min(range.high, b.high);
  return range;
}

}  // namespace rlx
