// The matrix product that matmul, linear, pointwise conv and matmul_integer lower to.
#pragma once

#include <optional>
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
  // Where the operand is a view that its loads follow, all strides being those of its shape: the
  // elements of the buffer behind each entry of the batch.
  std::optional<Dim> behind = {};
};

// The last two dims of an operand as matrices, the others as batch dims that broadcast to `batch`.
MatrixView matrix_view(const Operand& operand, const Dims& batch, bool transposed);

// y[batch.., m, n] = finish(a[batch.., m, k] . b[batch.., k, n])
struct Product {
  Dims batch;
  Dim m = 1, n = 1, k = 1;
  MatrixView a, b;
  Operand y;
  // WGSL: element i of a, in a row of y; of b, in a column of a matrix of y (both counted through
  // the batch); what becomes of a sum `v` in that row, in column `column`.
  std::string a_value = "load_a(i)", b_value = "load_b(i)", finish = "v";
  // What these read, call and include.
  std::vector<Operand> finish_operands = {};
  bool merges_rows = true;  // a batch with one b may become rows; b_value then sees one matrix
};

// Its steps, in shards where an operand is beyond the binding limit.
Steps lower_product(const LowerSite& site, Product product);

}  // namespace rlx
