// Kernels made from scalar formulas: elementwise ops, casts, copies of views.
#pragma once

#include <string>

#include "rlx/codegen/shards.h"
#include "rlx/lower/site.h"

namespace rlx {

// What a generated kernel computes for element i of its result, from operands broadcast to its
// shape.
struct Formula {
  std::string name;               // for the report
  std::vector<Operand> operands;  // read; named as in the expression
  Operand result;
  std::string expression;          // over the operands' names, and i
  std::vector<Param> params = {};  // named as in the expression
  std::vector<KernelText> includes = {};
  // Of several ops: functions that the statements call, and statements before the expression.
  struct Another {
    Operand result;  // of as many elements
    std::string expression;
  };
  std::string functions = {}, statements = {};
  std::vector<Another> more_results = {};
  // Operands have been broadcast, and statements speak of params.<name>.
  bool is_region = false;
};

// One dispatch, or shards of it where a tensor is beyond what the device binds at once.
Dispatch generate(const Formula& formula, const DeviceTraits& traits);

// Lets the result take the place of operands of its dtype and layout, of a kernel that reads its
// operands only at the element that it stores.
void share_elements(Dispatch& dispatch, ValueId result);

// The lowering of an op that has a scalar form.
Steps lower_elementwise(const LowerSite& site);

// Copies operand `from`, seen as `x`, whatever its view, to the contiguous `to`, converting the
// dtype.
Formula copy_formula(const Operand& from, const Operand& to);
Dispatch copy_view(const Operand& from, const Operand& to, const DeviceTraits& traits);

// Writes host values into a device tensor.
Dispatch write_host_value(const HostValue& value, const Operand& to, const DeviceTraits& traits);

// The stride with which an axis of extent `from` is read for a result of extent `to`: 0 where it is
// broadcast. Where only the run knows that, an expression that is 0 if it is.
Dim repeating_stride(const Dim& stride, const Dim& from, const Dim& to);

// `operand` as seen by an op whose result has `shape`.
Operand broadcast(Operand operand, const Dims& shape);

// The expression that converts `v` between the compute types of two dtypes, as cast does.
std::string convert_expression(const std::string& v, DType from, DType to);

}  // namespace rlx
