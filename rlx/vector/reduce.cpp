#include "rlx/vector/reduce.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/reduce.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/load_elements.h"
#include "rlx/vector/math.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

// How a fold takes one more element, and how two totals become one. `start` changes nothing.
struct Add {
  static constexpr float start = 0;
  static HWY_INLINE F more(F total, F x) { return total + x; }
  static HWY_INLINE F both(F a, F b) { return a + b; }
  static HWY_INLINE double both(double a, double b) { return a + b; }
  static HWY_INLINE double map(double x) { return x; }
  static HWY_INLINE double lanes(F x) { return static_cast<double>(sum(x)); }
};
struct AddMagnitude : Add {
  static HWY_INLINE F more(F total, F x) { return total + abs(x); }
  static HWY_INLINE double map(double x) { return std::abs(x); }
};
struct AddSquare : Add {
  static HWY_INLINE F more(F total, F x) { return mul_add(x, x, total); }
  static HWY_INLINE double map(double x) { return x * x; }
};
template <class How>
double fold_lanes(F x) {
  alignas(64) float lanes[kLanes];
  store(x, lanes);
  double total = static_cast<double>(How::start);
  for (const float lane : lanes) total = How::both(total, static_cast<double>(lane));
  return total;
}
struct Multiply : Add {
  static constexpr float start = 1;
  static HWY_INLINE F more(F total, F x) { return total * x; }
  static HWY_INLINE F both(F a, F b) { return a * b; }
  static HWY_INLINE double both(double a, double b) { return a * b; }
  static double lanes(F x) { return fold_lanes<Multiply>(x); }
};
// What is no number stays.
struct Highest : Add {
  static constexpr float start = -kInfinity;
  static HWY_INLINE F more(F total, F x) { return select(equal(x, x), max(x, total), x); }
  static HWY_INLINE F both(F a, F b) { return more(a, b); }
  static HWY_INLINE double both(double a, double b) { return a >= b || a != a ? a : b; }
  static double lanes(F x) { return fold_lanes<Highest>(x); }
};
struct Lowest : Add {
  static constexpr float start = kInfinity;
  static HWY_INLINE F more(F total, F x) { return select(equal(x, x), min(x, total), x); }
  static HWY_INLINE F both(F a, F b) { return more(a, b); }
  static HWY_INLINE double both(double a, double b) { return a <= b || a != a ? a : b; }
  static double lanes(F x) { return fold_lanes<Lowest>(x); }
};

double finished(Fold fold, double total, int64_t length) {
  if (fold == Fold::mean || fold == Fold::mean_square) return total / static_cast<double>(length);
  return fold == Fold::l2 ? std::sqrt(total) : total;
}
// A sum, square or product may be beyond f32 where the result is not.
bool is_doubtful(Fold fold, double total) {
  const double magnitude = std::abs(total);
  const bool may_vanish = fold == Fold::product || fold == Fold::l2;
  return !(magnitude < 1e37) || (magnitude < 1e-30 && (magnitude > 0 || may_vanish));
}

double to_double(float x) { return static_cast<double>(x); }
template <class T>
double to_double(T x) {
  alignas(64) float numbers[kLanes];
  store(load_part(&x, 1), numbers);
  return static_cast<double>(numbers[0]);
}
template <class T>
T from_double(double x) {
  T y[1];
  store_part(set(static_cast<float>(x)), y, 1);
  return y[0];
}
template <class How, class T>
double in_doubles(const T* x, int64_t step, int64_t length) {
  double total = static_cast<double>(How::start);
  for (int64_t i = 0; i < length; ++i) total = How::both(total, How::map(to_double(x[i * step])));
  return total;
}

// Sums of no more than this many are f32.
constexpr int64_t kBlock = 4 * 64;

template <class How, class T>
void rows_of(const Reduce& r, Range rows) {
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const T* x = static_cast<const T*>(r.x) + row * r.x_row;
    double total = static_cast<double>(How::start);
    for (int64_t begin = 0; begin < r.length; begin += kBlock * kLanes) {
      const int64_t end = std::min(begin + kBlock * kLanes, r.length);
      F parts[4];
      for (F& part : parts) part = set(How::start);
      int64_t i = begin;
      for (; i + 4 * kLanes <= end; i += 4 * kLanes)
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) parts[v] = How::more(parts[v], load(x + i + v * kLanes));
      for (; i < end; i += kLanes) {
        const F more = How::more(parts[0], load_some(x + i, end - i));
        parts[0] = end - i < kLanes ? select(first(end - i), more, parts[0]) : more;
      }
      const F part = How::both(How::both(parts[0], parts[1]), How::both(parts[2], parts[3]));
      total = How::both(total, How::lanes(part));
    }
    if (is_doubtful(r.fold, total)) total = in_doubles<How>(x, 1, r.length);
    static_cast<T*>(r.y)[row] = from_double<T>(finished(r.fold, total, r.length));
  }
}

constexpr int64_t kWidth = 4 * kLanes, kRows = 64;  // of a block of columns

// Few rows, so that totals stay f32; false where one of them is doubtful.
template <class How, class T>
bool short_columns(const Reduce& r, const T* x, T* y, int64_t width) {
  const F count = set(static_cast<float>(r.length));
  const bool averages = r.fold == Fold::mean || r.fold == Fold::mean_square;
  const bool may_vanish = r.fold == Fold::product || r.fold == Fold::l2;
  for (int64_t j = 0; j < width; j += kLanes) {
    F total = set(How::start);
    for (int64_t i = 0; i < r.length; ++i)
      total = How::more(total, load_some(x + i * r.x_row + j, width - j));
    const F magnitude = abs(total);
    const F sure = select(less(magnitude, set(1e37f)),
                          select(less(magnitude, set(1e-30f)), set(0.0f), set(1.0f)), set(0.0f));
    const M vanishes = equal(magnitude, set(may_vanish ? -1.0f : 0.0f));
    if (any(equal(select(vanishes, set(1.0f), sure), set(0.0f)))) return false;
    if (averages) total = total / count;
    if (r.fold == Fold::l2) total = sqrt(total);
    store_some(total, y + j, width - j);
  }
  return true;
}

template <class How, class T>
void columns_of(const Reduce& r, Range columns) {
  for (int64_t column = columns.begin; column < columns.end; column += kWidth) {
    const int64_t width = std::min(kWidth, columns.end - column);
    const T* x = static_cast<const T*>(r.x) + column;
    if (r.length <= kRows && short_columns<How>(r, x, static_cast<T*>(r.y) + column, width))
      continue;
    double totals[kWidth];
    std::fill(totals, totals + kWidth, static_cast<double>(How::start));
    for (int64_t begin = 0; begin < r.length; begin += kRows) {
      const int64_t end = std::min(begin + kRows, r.length);
      F parts[4];
      for (F& part : parts) part = set(How::start);
      if (width == kWidth)
        for (int64_t i = begin; i < end; ++i)
#pragma GCC unroll 4
          for (int v = 0; v < 4; ++v)
            parts[v] = How::more(parts[v], load(x + i * r.x_row + v * kLanes));
      else
        for (int64_t i = begin; i < end; ++i)
          for (int v = 0; v * kLanes < width; ++v)
            parts[v] =
                How::more(parts[v], load_some(x + i * r.x_row + v * kLanes, width - v * kLanes));
      alignas(64) float lanes[kWidth];
      for (int v = 0; v < 4; ++v) store(parts[v], lanes + v * kLanes);
      for (int64_t j = 0; j < width; ++j)
        totals[j] = How::both(totals[j], static_cast<double>(lanes[j]));
    }
    for (int64_t j = 0; j < width; ++j) {
      if (is_doubtful(r.fold, totals[j])) totals[j] = in_doubles<How>(x + j, r.x_row, r.length);
      static_cast<T*>(r.y)[column + j] = from_double<T>(finished(r.fold, totals[j], r.length));
    }
  }
}

template <class How>
void reduce(const Reduce& r, Range range, bool along) {
  const auto run = [&](auto element) {
    using T = decltype(element);
    along ? rows_of<How, T>(r, range) : columns_of<How, T>(r, range);
  };
  if (r.element == Element::f32) return run(float{});
  if (r.element == Element::f16) return run(Float16{});
  run(BFloat16{});
}
void reduce(const Reduce& r, Range range, bool along) {
  switch (r.fold) {
    case Fold::sum:
    case Fold::mean:
      return reduce<Add>(r, range, along);
    case Fold::highest:
      return reduce<Highest>(r, range, along);
    case Fold::lowest:
      return reduce<Lowest>(r, range, along);
    case Fold::product:
      return reduce<Multiply>(r, range, along);
    case Fold::l1:
      return reduce<AddMagnitude>(r, range, along);
    case Fold::l2:
    case Fold::sum_square:
    case Fold::mean_square:
      return reduce<AddSquare>(r, range, along);
  }
}

void rows(const Reduce& r, Range range) { reduce(r, range, true); }
void columns(const Reduce& r, Range range) { reduce(r, range, false); }

Reductions make() { return {.rows = rows, .columns = columns}; }

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
Reductions reductions(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
