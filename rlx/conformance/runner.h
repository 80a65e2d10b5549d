// Runs rows of op_cases on a device and compares with the reference.
#pragma once

#include <string>
#include <vector>

#include "rlx/conformance/op_cases.h"
#include "rlx/conformance/tolerance.h"
#include "rlx/runtime/program.h"

namespace rlx {

enum class Outcome {
  pass,
  fail,
  host,     // right, but an op ran on the host of a device
  refused,  // an Error of kind limit or unsupported
};
const char* name(Outcome outcome);

struct CaseResult {
  Outcome outcome = Outcome::pass;
  std::string detail = {};  // the worst element, the reason to run on the host, the Error
  bool limit = false;       // refused for a size

  bool right() const { return outcome == Outcome::pass || outcome == Outcome::host; }
};

// A row as a graph of one op. Every operand is an input, host operands too.
struct CaseGraph {
  Graph graph;
  TensorMap inputs;
  Values operands;  // absent where the row's is
  Values results;
};
CaseGraph case_graph(const OpCase& row, const OpSet& ops);

// How far a row's results may be off: what its op says, over its terms.
Tolerance tolerance_of(const OpCase& row, const OpSet& ops);

CaseResult run_case(const OpCase& row, const OpSet& ops, const Device& device,
                    bool optimise = true);

// Compares the gradient of sum(y * seed) on the device with central differences of the reference in
// f64, at some elements of each operand.
CaseResult check_gradient(const OpCase& row, const OpSet& ops, const Device& device);
// Whether check_gradient makes sense: an f32 row of an op with a gradient, of ordinary numbers.
bool has_gradient_check(const OpCase& row, const OpSet& ops);

}  // namespace rlx
