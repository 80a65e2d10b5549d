// What programs other than rlx expect of some rows: the reference is compared with them, since on
// the CPU a row compares it with itself. tools/make-oracle writes tests/oracle/*.txt.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rlx/conformance/op_cases.h"

namespace rlx {

struct OracleRow {
  std::string op;
  std::string source;       // who computed it: tests/oracle/README.md
  std::string row;          // as describe() has it
  std::string fingerprint;  // of the row when it was computed
  std::vector<Tensor> results;
};

// The rows of one file; an Error that names the line where it is none.
std::vector<OracleRow> parse_oracle(std::string_view source, const std::string& file);

// Of all that decides a row's results: the op with its attributes, and the operands.
std::string fingerprint(const OpCase& row, const OpSet& ops);

}  // namespace rlx
