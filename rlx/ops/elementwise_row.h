// How a row of the elementwise table is written: a function in C++, a formula in WGSL, a gradient.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "rlx/ops/elementwise.h"
#include "rlx/ops/ops_core.h"

namespace rlx::rows {

// The classes of dtypes an op takes.
enum : unsigned {
  kFloats = 1,
  kSigned = 2,
  kUnsigned = 4,
  kBools = 8,
  kIntegers = 6,
  kNumbers = 7,
  kAll = 15
};

struct Params {  // those of the row, in order
  const double* values;
  double operator[](size_t i) const { return values[i]; }
};

template <class F, class T>
constexpr size_t arity() {
  if constexpr (std::is_invocable_v<F, T>)
    return 1;
  else if constexpr (std::is_invocable_v<F, T, T>)
    return 2;
  else if constexpr (std::is_invocable_v<F, T, T, T>)
    return 3;
  else
    return 0;  // one operand, and params
}

template <class F, class T>
T call(const T* x, const double* params) {
  if constexpr (arity<F, T>() == 1)
    return static_cast<T>(F{}(x[0]));
  else if constexpr (arity<F, T>() == 2)
    return static_cast<T>(F{}(x[0], x[1]));
  else if constexpr (arity<F, T>() == 3)
    return static_cast<T>(F{}(x[0], x[1], x[2]));
  else
    return static_cast<T>(F{}(x[0], Params{params}));
}

// One formula for all classes of dtypes, or one for each.
struct Wgsl {
  std::string floating, signed_integer, unsigned_integer, boolean;

  Wgsl(const char* all) : Wgsl(all, all, all, all) {}  // NOLINT(google-explicit-constructor)
  Wgsl(std::string f, std::string i, std::string u, std::string b = "")
      : floating(std::move(f)),
        signed_integer(std::move(i)),
        unsigned_integer(std::move(u)),
        boolean(std::move(b)) {}
};

// Shape arithmetic: the function of elements that may be expressions, one of each operand. None
// where only a binding can tell.
using OnDims = std::optional<Dim> (*)(const Dim* x);

struct Row {
  std::string name;
  Wgsl wgsl;
  Gradients (*gradient)(const GradientSite&) = nullptr;
  std::string onnx = {};
  std::vector<std::string> includes = {};  // of lib/; numbers always is
  double ulps = 1, absolute_error = 0;
  std::vector<AttrSpec> params = {};
  bool comparison = false, safe_i64 = false;
  OnDims on_dims = nullptr;
};

// What all rows share: broadcasting, the checks of dtypes, the reference, the kernel.
OpDef elementwise_def(const Row& row, Elementwise scalar, size_t operands);

// An op on the dtypes of kClasses, computed by the function object F.
template <unsigned kClasses, class F>
OpDef op(const Row& row, F) {
  Elementwise scalar;
  if constexpr ((kClasses & kFloats) != 0) {
    scalar.floating = call<F, double>;
    scalar.floating_wgsl = row.wgsl.floating;
  }
  if constexpr ((kClasses & kSigned) != 0) {
    scalar.signed_integer = call<F, int64_t>;
    scalar.signed_wgsl = row.wgsl.signed_integer;
  }
  if constexpr ((kClasses & kUnsigned) != 0) {
    scalar.unsigned_integer = call<F, uint64_t>;
    scalar.unsigned_wgsl = row.wgsl.unsigned_integer;
  }
  if constexpr ((kClasses & kBools) != 0) {
    scalar.boolean = call<F, uint64_t>;
    scalar.boolean_wgsl = row.wgsl.boolean;
  }
  using First = std::conditional_t<(kClasses & kFloats) != 0, double, uint64_t>;
  return elementwise_def(row, std::move(scalar), std::max<size_t>(arity<F, First>(), 1));
}

// The rows, in the file of their theme.
std::vector<OpDef> math_rows();
std::vector<OpDef> trig_rows();
std::vector<OpDef> activation_rows();
std::vector<OpDef> binary_rows();
std::vector<OpDef> logic_rows();
std::vector<OpDef> loss_rows();

// An op of the table, applied.
Value apply(std::string_view name, const Values& inputs, const Attrs& attrs = {});

// ---- What formulas and gradients are written with ----

// Integers compute as unsigned ones, which wrap.
inline double wide(double x) { return x; }
inline uint64_t wide(int64_t x) { return static_cast<uint64_t>(x); }
inline uint64_t wide(uint64_t x) { return x; }

using Site = const GradientSite&;
inline Gradients flat(Site) { return {std::nullopt}; }  // almost everywhere

inline Value if_true(Value mask, Value dy) { return where(mask, dy, scalar(dy, 0)); }
inline Value if_false(Value mask, Value dy) { return where(mask, scalar(dy, 0), dy); }

}  // namespace rlx::rows
