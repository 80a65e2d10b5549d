// All rows, family by family, and the words they are written with.
#include "rlx/conformance/op_cases.h"

namespace rlx {

CaseInput normal(TensorType type) { return {std::move(type), CaseInput::Fill::normal}; }
CaseInput positive(TensorType type) { return {std::move(type), CaseInput::Fill::positive}; }
CaseInput index(TensorType type, int64_t limit) {
  return {std::move(type), CaseInput::Fill::index, limit};
}
CaseInput special(TensorType type) { return {std::move(type), CaseInput::Fill::special}; }
CaseInput given(const Tensor& tensor) { return {tensor.type(), CaseInput::Fill::given, 0, tensor}; }
CaseInput absent() { return {{}, CaseInput::Fill::absent}; }

std::vector<OpCase> op_cases() {
  std::vector<OpCase> all;
  for (auto* family : {elementwise_cases, reduction_cases, linear_cases, attention_cases,
                       indexing_cases, control_cases}) {
    std::vector<OpCase> rows = family();
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

}  // namespace rlx
