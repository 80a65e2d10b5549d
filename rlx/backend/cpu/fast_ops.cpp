#include "rlx/backend/cpu/fast_ops.h"

#include <algorithm>

namespace rlx {
namespace {

// y[rows, columns] = a[rows, inner] . b, row by row, so that the innermost loop runs along memory.
void multiply(const float* a, const float* b, float* y, int64_t rows, int64_t inner,
              int64_t columns, bool transposed_b) {
  for (int64_t r = 0; r < rows; ++r, a += inner, y += columns) {
    if (transposed_b) {
      for (int64_t c = 0; c < columns; ++c) {
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k) sum += static_cast<double>(a[k]) * b[c * inner + k];
        y[c] = static_cast<float>(sum);
      }
      continue;
    }
    std::fill(y, y + columns, 0.0f);
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t c = 0; c < columns; ++c) y[c] += a[k] * b[k * columns + c];
  }
}

// f32 matrices, the second one perhaps transposed; anything else is the reference's.
bool fast_matmul(const Node& node, const std::vector<const Tensor*>& inputs,
                 std::vector<Tensor>& results) {
  const Tensor &a = *inputs[0], &b = *inputs[1];
  const bool plain = a.dtype() == DType::f32 && a.shape().size() >= 2 && b.shape().size() == 2 &&
                     !node.attrs.get<bool>("transpose_a");
  if (!plain || results[0].count() == 0) return false;
  const int64_t inner = a.shape().back(), columns = results[0].shape().back();
  multiply(a.data<float>().data(), b.data<float>().data(), results[0].mutable_data<float>().data(),
           results[0].count() / columns, inner, columns, node.attrs.get<bool>("transpose_b"));
  return true;
}

struct Entry {
  std::string_view op;
  FastOp implementation;
};
constexpr Entry kFastOps[] = {
    {"matmul", fast_matmul},
};

}  // namespace

FastOp fast_op(std::string_view op) {
  for (const Entry& entry : kFastOps)
    if (entry.op == op) return entry.implementation;
  return nullptr;
}

}  // namespace rlx
