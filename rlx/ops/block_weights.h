// Weights in blocks, as the ops that decode them see them: bytes [.., rows, bytes of a row] in a
// format of tensor/blocks, named by the attributes `format` and `block`.
#pragma once

#include <string>
#include <vector>

#include "rlx/lower/site.h"
#include "rlx/tensor/blocks/format.h"

namespace rlx {

BlockFormat format_of(const Attrs& attrs);

// The elements of a row of w; an Error where its bytes are no whole blocks.
Dim row_elements(const InferSite& site, const TensorType& w);
Dim row_elements(const Attrs& attrs, const TensorType& w);

// Rows of w for a kernel that calls weights4 (ops/lib/blocks*.wgsl).
struct WeightRows {
  Operand words;                        // "w"
  std::vector<Operand> beside = {};     // "scales" and "zeros", where they are tensors of their own
  Dim count = 0, row_bytes = 0, k = 0;  // rows in all
  std::vector<std::string> includes = {};
  std::vector<Constant> constants = {};
  std::vector<Param> params = {};
};
// Of operand i; `before` gets a copy where it is a view.
WeightRows weight_rows(const LowerSite& site, size_t i, Steps& before);
// The same of bytes [N, K] with scales [N or 1, K / block] behind it, and perhaps zero points.
WeightRows apart_rows(const LowerSite& site, size_t i, Steps& before);

// What one dispatch covers: rows of x and y, rows of w. Expressions over the shard.
struct RowsPart {
  Dim m_first = 0, m_end = 0, w_first = 0, w_end = 0;
  Dim repeat = 1;
  bool cuts_w = false;
};
// Cuts rows so that all can be bound, and gives the operands their windows. `m_operands` have `m`
// rows.
struct RowsOperand {
  Operand* operand;
  Dim row;  // its elements
};
RowsPart cut_rows(const LowerSite& site, const Dim& m, const std::vector<RowsOperand>& m_operands,
                  WeightRows& w);

// Puts the operands, constants, params and includes of the rows in.
void add_weights(Dispatch& dispatch, const WeightRows& w, const RowsPart& part);

}  // namespace rlx
