// Reads the parts of a graph's text that stand for values: types, dimensions, attributes.
#pragma once

#include "rlx/ir/graph.h"
#include "rlx/ir/text.h"
#include "rlx/ir/text_scan.h"

namespace rlx {

Dim parse_dim(Scanner& in);          // 2*seq + floor_div(past, 2)
Dims parse_dims(Scanner& in);        // [2, seq]
TensorType parse_type(Scanner& in);  // f32[2, seq]
// An attribute of any kind but a graph.
Attr parse_literal(Scanner& in, const ParseOptions& options);

}  // namespace rlx
