// The matrix product that matmul and linear lower to.
#pragma once

#include <string>
#include <vector>

#include "rlx/lower/site.h"

namespace rlx {

// A stack of matrices in a buffer: where element (batch, row, column) lies.
struct MatrixView {
  Operand operand;  // flat
  Dim offset = 0;
  Dims batch_strides;  // one per batch dim of the product, 0 where the matrix is repeated
  Dim row_stride = 0, column_stride = 0;
};

// The last two dims of an operand as matrices, the others as batch dims that broadcast to `batch`.
MatrixView matrix_view(const Operand& operand, const Dims& batch, bool transposed);

// y[batch.., m, n] = finish(a[batch.., m, k] . b[batch.., k, n])
struct Product {
  Dims batch;
  Dim m = 1, n = 1, k = 1;
  MatrixView a, b;
  Operand y;
  // What becomes of a sum `v` in column `column`, as WGSL, and what that reads, calls and includes.
  std::string finish = "v";
  std::vector<Operand> finish_operands = {};
  std::vector<std::string> finish_functions = {};
  std::vector<KernelText> finish_includes = {};
};

// Its steps, in shards where an operand is beyond the binding limit.
Steps lower_product(const LowerSite& site, Product product);

}  // namespace rlx
