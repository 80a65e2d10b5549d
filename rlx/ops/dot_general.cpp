// dot_general, qkv_linear and lora_matmul: products made of matmul.

#include <algorithm>

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_blocks.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_einsum.h"
#include "rlx/ops/ops_linear.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

// Dims of an operand by the part they have: in the batch, in the sum, or in neither.
struct Parts {
  Ints batch, contracting, free;

  Parts(const Ints& batch_axes, const Ints& contracting_axes, const TensorType& type) {
    std::vector<bool> taken(type.shape.size());
    const auto take = [&](const Ints& axes, Ints& to) {
      for (const int64_t axis : axes) {
        const size_t at = axis_of("dot_general", axis, type);
        require(!taken[at], "dot_general: dim ", axis, " of ", type, " is named twice");
        taken[at] = true;
        to.push_back(static_cast<int64_t>(at));
      }
    };
    take(batch_axes, batch);
    take(contracting_axes, contracting);
    for (size_t d = 0; d < taken.size(); ++d)
      if (!taken[d]) free.push_back(static_cast<int64_t>(d));
  }
};

Dims dims_at(Value x, const Ints& axes) {
  Dims dims;
  for (const int64_t axis : axes) dims.push_back(x.shape()[size_t(axis)]);
  return dims;
}

void append(Dims& dims, const Dims& more) { dims.insert(dims.end(), more.begin(), more.end()); }

Value reshaped(Value x, const Dims& shape) { return x.shape() == shape ? x : reshape(x, shape); }

// The batch dims, then the others as one matrix.
Value as_matrices(Value x, const Ints& batch, const Ints& rows, const Ints& columns) {
  Ints order = batch;
  order.insert(order.end(), rows.begin(), rows.end());
  order.insert(order.end(), columns.begin(), columns.end());
  const bool in_order = std::is_sorted(order.begin(), order.end());
  Dims shape = dims_at(x, batch);
  append(shape, {count(dims_at(x, rows)), count(dims_at(x, columns))});
  return reshaped(in_order ? x : transpose(x, order), shape);
}

void require_pairs(Value a, const Ints& a_axes, Value b, const Ints& b_axes) {
  for (size_t i = 0; i < a_axes.size(); ++i) {
    const Dim &x = a.shape()[size_t(a_axes[i])], &y = b.shape()[size_t(b_axes[i])];
    require(!x.is_number() || !y.is_number() || x == y, "dot_general: dim ", a_axes[i], " of ",
            a.type(), " and dim ", b_axes[i], " of ", b.type(), " differ: ", x, " and ", y);
  }
}

}  // namespace

Value dot_general(Value a, Value b, const DotDims& dims) {
  require(dims.a_contracting.size() == dims.b_contracting.size() &&
              dims.a_batch.size() == dims.b_batch.size(),
          "dot_general: a has ", dims.a_contracting.size(), " contracting and ",
          dims.a_batch.size(), " batch dims, b has ", dims.b_contracting.size(), " and ",
          dims.b_batch.size());
  const Parts in_a(dims.a_batch, dims.a_contracting, a.type()),
      in_b(dims.b_batch, dims.b_contracting, b.type());
  require_pairs(a, in_a.contracting, b, in_b.contracting);
  require_pairs(a, in_a.batch, b, in_b.batch);
  Dims shape = dims_at(a, in_a.batch);
  append(shape, dims_at(a, in_a.free));
  append(shape, dims_at(b, in_b.free));
  const Value y = matmul(as_matrices(a, in_a.batch, in_a.free, in_a.contracting),
                         as_matrices(b, in_b.batch, in_b.contracting, in_b.free));
  return reshaped(y, shape);
}

Qkv qkv_linear(Value x, Value w, Value bias, int64_t q_width, int64_t k_width, int64_t v_width,
               bool transpose_w) {
  const Value y = linear(x, w, bias, "", transpose_w);
  const Dim& columns = y.shape().back();
  require(q_width >= 0 && k_width >= 0 && v_width >= 0 &&
              (!columns.is_number() || columns.is(q_width + k_width + v_width)),
          "qkv_linear: widths ", q_width, ", ", k_width, " and ", v_width, " do not part the ",
          columns, " columns of w ", w.type());
  const size_t axis = y.shape().size() - 1;
  const auto part = [&](int64_t first, int64_t width) {
    return slice_axis(y, axis, first, first + width);
  };
  return {part(0, q_width), part(q_width, k_width), part(q_width + k_width, v_width)};
}

Value lora_matmul(Value x, Value w, Value a, Value b, double scale) {
  return matmul(x, w) + scalar(x, scale) * matmul(matmul(x, a), b);
}

Value lora_matmul(Value x, Value w, Value a, Value b, const std::string& format,
                  const LoraOptions& options) {
  return quantised_matmul(x, w, format, options.block) +
         scalar(x, options.scale) * matmul(matmul(x, a), b);
}

}  // namespace rlx
