// One row is one way to call an op. It runs on every device against the reference, its gradient
// against finite differences, as a benchmark, and fills the support table.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "rlx/ir/graph.h"

namespace rlx {

// An operand of a case, and how to fill it; deterministic by the row.
struct CaseInput {
  enum class Fill {
    normal,    // floats about 0; integers in [-9, 9] ([0, 9] when unsigned); bools
    positive,  // floats in [0.1, 3]; integers in [1, 9]
    index,     // integers in [0, limit)
    special,   // normal, with NaN, infinities, zeros of both signs, subnormals and extremes strewn
               // in
    given,     // `tensor`
    absent,
  };
  TensorType type;
  Fill fill = Fill::normal;
  int64_t limit = 0;
  Tensor tensor = {};
};
CaseInput normal(TensorType type);
CaseInput positive(TensorType type);
CaseInput index(TensorType type, int64_t limit);
CaseInput special(TensorType type);
CaseInput given(const Tensor& tensor);
CaseInput absent();
CaseInput list(std::initializer_list<double> values);                 // given integers, i64[n]
Tensor rows_with(const std::vector<double>& values, int64_t length);  // f32[n, length]

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline TensorType type(DType dtype, Dims shape) { return {dtype, std::move(shape)}; }
inline TensorType u32(Dims shape) { return type(DType::u32, std::move(shape)); }
inline TensorType i8(Dims shape) { return type(DType::i8, std::move(shape)); }
inline TensorType u8(Dims shape) { return type(DType::u8, std::move(shape)); }
inline TensorType bf16(Dims shape) { return type(DType::bf16, std::move(shape)); }

struct OpCase {
  std::string op;
  std::vector<CaseInput> inputs;
  Attrs attrs = {};
  std::string why;            // this row: "longer than a workgroup"
  int64_t terms = 1;          // how many roundings a result accumulates: the length of a sum
  double slack = 1;           // more tolerance than computed, with the reason in `why`
  SymbolValues symbols = {};  // values of the symbols in the inputs' types
  bool gradient = true;       // check it too, where the op has one and the dtype is f32
  // For a function of ops.h that is made of other ops: `op` is then its name.
  std::function<Values(const Values& inputs)> compose = {};
};

OpCase with(OpCase row, SymbolValues symbols);

// The rows of one file, cases_<name>.cpp.
struct CaseFamily {
  const char* name;
  std::vector<OpCase> (*rows)();
};
std::span<const CaseFamily> case_families();
// All of them.
std::vector<OpCase> op_cases();

}  // namespace rlx
