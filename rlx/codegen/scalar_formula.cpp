#include "rlx/codegen/scalar_formula.h"

#include "rlx/ops/lib/library.h"

namespace rlx {
namespace {

// A parameter of the operands' own type: next to integers it is one, within their range.
Param scalar_param(const std::string& name, double value, DType dtype) {
  if (!is_integer(dtype)) return Param(name, value);
  Tensor whole(is_signed_integer(dtype) ? DType::i32 : DType::u32, {});
  whole.set(0, value);
  const Dim number = whole.integer_at(0);
  return is_signed_integer(dtype) ? Param::signed_number(name, number) : Param(name, number);
}

const std::string* expression_of(const Elementwise& scalar, DType dtype) {
  const std::string* formulas[] = {&scalar.floating_wgsl, &scalar.signed_wgsl,
                                   &scalar.unsigned_wgsl, &scalar.boolean_wgsl};
  const auto dtype_class = static_cast<size_t>(info(dtype).dtype_class);
  return dtype_class > 3 || formulas[dtype_class]->empty() ? nullptr : formulas[dtype_class];
}

// What conversions call of the library.
std::vector<KernelText> called_by(const std::string& expression) {
  std::vector<KernelText> found;
  constexpr std::pair<const char*, const char*> kFiles[] = {{"truncate_to_", "truncate"},
                                                            {"quantise_f32", "steps"}};
  for (const auto& [function, file] : kFiles)
    if (expression.find(function) != std::string::npos) found.push_back(library(file));
  if (!found.empty()) found.insert(found.begin(), library("numbers"));
  return found;
}

}  // namespace

std::string scalar_host_reason(const Node& node) {
  if (!node.op->elementwise) return "";
  const DType dtype = node.inputs.back().dtype();
  if (is_wide_integer(dtype) && !node.op->elementwise->safe_i64)
    return text(node.op->name, " of ", dtype, " may leave the 32 bits a device has");
  if (!expression_of(*node.op->elementwise, dtype))
    return text(node.op->name, " of ", dtype, " has no kernel");
  return "";
}

std::optional<ScalarFormula> scalar_formula(const Node& node) {
  if (node.op->conversion) {
    const std::optional<std::string> expression = node.op->conversion(node);
    if (!expression) return std::nullopt;
    return ScalarFormula{*expression, {}, called_by(*expression)};
  }
  if (!node.op->elementwise) return std::nullopt;
  const Elementwise& scalar = *node.op->elementwise;
  const DType dtype = node.inputs.back().dtype();
  const std::string* expression = expression_of(scalar, dtype);
  if (!expression) return std::nullopt;
  ScalarFormula formula{*expression};
  for (const std::string& name : scalar.params)
    formula.params.push_back(scalar_param(name, node.attrs.get<double>(name), dtype));
  for (const std::string& name : scalar.includes) formula.includes.push_back(library(name));
  return formula;
}

}  // namespace rlx
