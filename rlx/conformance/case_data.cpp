#include "rlx/conformance/case_data.h"

#include <limits>

#include "rlx/base/text.h"

namespace rlx {
namespace {

using Fill = CaseInput::Fill;

double smallest_normal(DType dtype) { return dtype == DType::f16 ? 0x1p-14 : 0x1p-126; }
double largest(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 65504;
    case DType::bf16:
      return 0x1.fep127;
    default:
      return std::numeric_limits<float>::max();
  }
}

// The numbers that arithmetic treats apart. Extremes stay away from sums, where it is the order of
// addition that decides whether they overflow.
std::vector<double> special_floats(DType dtype, bool extremes) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> numbers{std::numeric_limits<double>::quiet_NaN(),
                              infinity,
                              -infinity,
                              0.0,
                              -0.0,
                              1,
                              -1,
                              smallest_normal(dtype) / 4};
  if (extremes)
    for (const double number : {largest(dtype), -largest(dtype), smallest_normal(dtype)})
      numbers.push_back(number);
  return numbers;
}

// 64-bit integers are 32 bits wide on a device, so the extremes are those of 32 bits.
std::vector<double> special_integers(DType dtype) {
  const int64_t bits = std::min<int64_t>(bytes_of(dtype) * 8, 32);
  if (is_signed_integer(dtype)) {
    const double half = std::exp2(static_cast<double>(bits - 1));
    return {0, 1, -1, half - 1, -half};
  }
  return {0, 1, std::exp2(static_cast<double>(bits)) - 1};
}

double integer(DType dtype, Fill fill, int64_t limit, Random& random) {
  if (fill == Fill::index) return limit > 0 ? static_cast<double>(random.between(0, limit - 1)) : 0;
  if (fill == Fill::positive) return static_cast<double>(random.between(1, 9));
  const int64_t low = is_signed_integer(dtype) ? -9 : 0;
  return static_cast<double>(random.between(low, 9));
}

double ordinary(DType dtype, Fill fill, int64_t limit, Random& random) {
  if (dtype == DType::boolean) return random.chance(0.5) ? 1 : 0;
  if (is_integer(dtype)) return integer(dtype, fill, limit, random);
  if (fill == Fill::index) return integer(dtype, fill, limit, random);
  return fill == Fill::positive ? 0.1 + 2.9 * random.uniform() : random.normal();
}

}  // namespace

Tensor random_tensor(DType dtype, const Shape& shape, Fill fill, int64_t limit, bool extremes,
                     Random& random) {
  Tensor tensor(dtype, shape);
  if (dtype == DType::c64) {
    for (auto& z : tensor.mutable_data<float[2]>())
      for (float& part : z) part = static_cast<float>(ordinary(DType::f32, fill, limit, random));
    return tensor;
  }
  std::vector<double> specials;
  if (fill == Fill::special && dtype != DType::boolean)
    specials = is_integer(dtype) ? special_integers(dtype) : special_floats(dtype, extremes);
  // Sums keep some rows free of them, so that not everything is NaN; the first two always come.
  const double share = extremes ? 0.3 : 0.04;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const bool take = !specials.empty() && random.chance(share);
    tensor.set(i, take ? random.pick(specials) : ordinary(dtype, fill, limit, random));
  }
  for (size_t k = 0; k < std::min<size_t>(specials.size(), 2); ++k)
    if (tensor.count() > 2)
      tensor.set((static_cast<int64_t>(k) + 1) * tensor.count() / 3, specials[k]);
  return tensor;
}

std::string describe(const OpCase& row) {
  std::vector<std::string> parts;
  for (const CaseInput& input : row.inputs)
    parts.push_back(input.fill == Fill::absent ? "none" : text(input.type));
  std::string name = row.op + "(" + joined(parts) + ")";
  return row.why.empty() ? name : name + ": " + row.why;
}

std::vector<std::optional<Tensor>> case_data(const OpCase& row) {
  std::vector<std::optional<Tensor>> data;
  for (size_t i = 0; i < row.inputs.size(); ++i) {
    const CaseInput& input = row.inputs[i];
    if (input.fill == Fill::absent) {
      data.emplace_back();
    } else if (input.fill == Fill::given) {
      data.emplace_back(input.tensor);
    } else {
      Random random(text(describe(row), '#', i));
      data.emplace_back(random_tensor(input.type.dtype, bound(input.type.shape, row.symbols),
                                      input.fill, input.limit, row.terms == 1, random));
    }
  }
  return data;
}

Tensor without_subnormals(const Tensor& tensor) {
  if (!is_float(tensor.dtype()) || tensor.dtype() == DType::f64) return tensor;
  Tensor flushed = tensor.copy();
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double x = tensor.at(i);
    if (std::abs(x) < smallest_normal(tensor.dtype())) flushed.set(i, std::copysign(0.0, x));
  }
  return flushed;
}

}  // namespace rlx
