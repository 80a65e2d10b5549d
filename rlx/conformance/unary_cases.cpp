#include "rlx/conformance/unary_cases.h"

namespace rlx {
namespace {

// Evenly spread over (-1, 1), or from 1 on.
CaseInput spread(const TensorType& type, const SymbolValues& symbols, bool unit) {
  Tensor tensor(type.dtype, bound(type.shape, symbols));
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(tensor.count());
    tensor.set(i, unit ? 1.96 * share - 0.98 : 1.05 + 4 * share);
  }
  CaseInput input = given(tensor);
  input.type = type;
  return input;
}

CaseInput operand(Domain domain, const TensorType& type, const SymbolValues& symbols = {}) {
  switch (domain) {
    case Domain::all:
      return normal(type);
    case Domain::positive:
      return positive(type);
    default:
      return spread(type, symbols, domain == Domain::unit);
  }
}

}  // namespace

void add_unary_rows(const UnaryCase& op, std::vector<OpCase>& cases) {
  const auto row = [&](CaseInput input, const char* why, bool gradient = false) {
    cases.push_back({.op = op.op,
                     .inputs = {std::move(input)},
                     .attrs = op.attrs,
                     .why = why,
                     .gradient = gradient});
  };
  const Domain domain = op.domain;
  row(operand(domain, f32({3, 65})), "not a whole number of workgroups", op.gradient);
  row(operand(domain, f16({257})), "an odd number of halves, which are packed");
  row(operand(domain, {DType::bf16, {63}}), "bf16 is packed everywhere");
  row(special(f32({1031})), "NaN, infinities and the ends of the range");
  row(special(f16({129})), "the ends of f16");
  row(operand(domain, f32({0, 3})), "nothing to do");
  row(operand(domain, f32({})), "rank 0", op.gradient);
  cases.push_back({.op = op.op,
                   .inputs = {operand(domain, f32({"n", 3}), {{"n", 23}})},
                   .attrs = op.attrs,
                   .why = "a symbolic extent",
                   .symbols = {{"n", 23}},
                   .gradient = false});
}

}  // namespace rlx
