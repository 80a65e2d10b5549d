// The user's quantise and dequantise, per tensor, per index of an axis or per block of them, and
// dynamic_quantise: compositions over the ops of quantise.cpp, whose operands broadcast.

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_quantise.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& quantise_op();
const OpDef& dequantise_op();

namespace {

struct Operands {
  Value x, scale, zero_point;
};

// One element, or one for each index of an axis: seen so that it broadcasts to x.
Value along(std::string_view op, Value operand, Value x, int64_t axis) {
  if (!operand || operand.shape().empty()) return operand;
  if (operand.shape().size() == 1 && operand.shape()[0].is(1)) return reshape(operand, Dims{});
  require(operand.shape().size() == 1, op, ": ", operand.type(),
          " is neither one element nor one for each index of an axis");
  Dims shape(x.shape().size() - axis_of(op, axis, x.type()), Dim(1));
  shape[0] = operand.shape()[0];
  return reshape(operand, shape);
}

Value apply_op(const OpDef& op, const Operands& operands, const Attrs& attrs) {
  return operands.x.apply(op, {operands.x, operands.scale, operands.zero_point}, attrs);
}

// One for each block of an axis: repeated as often as the blocks are long, up to the length of x.
Value repeated(Value operand, size_t axis, const Dim& length, int64_t block) {
  if (!operand) return operand;
  const auto after = static_cast<int64_t>(axis) + 1;
  Dims wide = operand.shape(), flat = operand.shape();
  wide.insert(wide.begin() + after, Dim(block));
  flat[axis] = flat[axis] * Dim(block);
  return slice_axis(reshape(expand(unsqueeze(operand, {after}), wide), flat), axis, 0, length);
}

// The axis in two: blocks, and what is in a block.
Dims split(Dims shape, size_t axis, const Dim& blocks, const Dim& block) {
  shape[axis] = blocks;
  shape.insert(shape.begin() + static_cast<int64_t>(axis) + 1, block);
  return shape;
}

Value apply_blocks(const OpDef& op, Operands operands, const QuantiseOptions& options,
                   const Attrs& attrs) {
  const Dims shape = operands.x.shape();
  const size_t axis = axis_of(op.name, options.axis, operands.x.type());
  const Dim& length = shape[axis];
  const Dim blocks = ceil_div(length, options.block);
  for (const Value& operand : {operands.scale, operands.zero_point})
    if (operand)
      require(operand.shape().size() == shape.size() && operand.shape()[axis] == blocks, op.name,
              ": ", operand.type(), " does not hold one for each block of ", options.block,
              " along axis ", axis, " of ", operands.x.type());
  if (!(blocks * Dim(options.block) == length)) {
    for (Value* operand : {&operands.scale, &operands.zero_point})
      *operand = repeated(*operand, axis, length, options.block);
    return apply_op(op, operands, attrs);
  }
  operands.x = reshape(operands.x, split(shape, axis, blocks, options.block));
  for (Value* operand : {&operands.scale, &operands.zero_point})
    if (*operand) *operand = unsqueeze(*operand, {static_cast<int64_t>(axis) + 1});
  return reshape(apply_op(op, operands, attrs), shape);
}

Value apply_quantisation(const OpDef& op, Operands operands, const QuantiseOptions& options,
                         const Attrs& attrs) {
  require(options.block >= 0, op.name, ": block ", options.block, " is below 0");
  if (options.block > 0) return apply_blocks(op, operands, options, attrs);
  operands.scale = along(op.name, operands.scale, operands.x, options.axis);
  operands.zero_point = along(op.name, operands.zero_point, operands.x, options.axis);
  return apply_op(op, operands, attrs);
}

}  // namespace

Value quantise(Value x, Value scale, Value zero_point, const QuantiseOptions& options) {
  const DType to = zero_point ? zero_point.dtype() : options.to;
  return apply_quantisation(quantise_op(), {x, scale, zero_point}, options, {{"to", to}});
}

Value dequantise(Value x, Value scale, Value zero_point, const QuantiseOptions& options) {
  return apply_quantisation(dequantise_op(), {x, scale, zero_point}, options, {});
}

DynamicallyQuantised dynamic_quantise(Value x) {
  const Value zero = scalar(x, 0);
  const Value low = minimum(reduce_min(x), zero), high = maximum(reduce_max(x), zero);
  const Value range = high - low;
  const Value scale = where(equal(range, zero), scalar(x, 1), range / scalar(x, 255));
  const Value zero_point = quantise(-low, scale);
  return {quantise(x, scale, zero_point), scale, zero_point};
}

}  // namespace rlx
