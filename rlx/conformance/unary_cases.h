// The rows that every function of one float has: shapes, float types, special values.
#pragma once

#include "rlx/conformance/op_cases.h"

namespace rlx {

enum class Domain { all, positive, unit, above_one };

struct UnaryCase {
  const char* op;
  Domain domain = Domain::all;
  bool gradient = true;  // finite differences can tell it
  Attrs attrs = {};
};

void add_unary_rows(const UnaryCase& op, std::vector<OpCase>& cases);

}  // namespace rlx
