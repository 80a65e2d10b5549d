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
CaseInput list(std::initializer_list<double> values) {
  return given(Tensor::of(DType::i64, {static_cast<int64_t>(values.size())}, values));
}
Tensor rows_with(const std::vector<double>& values, int64_t length) {
  const int64_t rows = static_cast<int64_t>(values.size()) / length;
  return Tensor::of(DType::f32, {rows, length}, values);
}

OpCase with(OpCase row, SymbolValues symbols) {
  row.symbols = std::move(symbols);
  return row;
}

// Each is in the file of its name.
std::vector<OpCase> activation_cases();
std::vector<OpCase> attention_cases();
std::vector<OpCase> block_cases();
std::vector<OpCase> broadcast_cases();
std::vector<OpCase> attribute_cases();
std::vector<OpCase> control_cases();
std::vector<OpCase> fft_cases();
std::vector<OpCase> fused_cases();
std::vector<OpCase> convolution_cases();
std::vector<OpCase> edge_cases();
std::vector<OpCase> elementwise_cases();
std::vector<OpCase> indexing_cases();
std::vector<OpCase> integer_cases();
std::vector<OpCase> linear_cases();
std::vector<OpCase> losses_cases();
std::vector<OpCase> norm_cases();
std::vector<OpCase> points_cases();
std::vector<OpCase> pooling_cases();
std::vector<OpCase> quads_cases();
std::vector<OpCase> recurrent_cases();
std::vector<OpCase> reduction_cases();
std::vector<OpCase> resize_cases();
std::vector<OpCase> scatter_cases();
std::vector<OpCase> search_cases();
std::vector<OpCase> sequence_cases();
std::vector<OpCase> shape_cases();
std::vector<OpCase> signal_cases();
std::vector<OpCase> text_cases();
std::vector<OpCase> splat_cases();
std::vector<OpCase> vision_cases();
std::vector<OpCase> words_cases();

std::span<const CaseFamily> case_families() {
  static constexpr CaseFamily kFamilies[] = {
      {"activation", activation_cases},    //
      {"attention", attention_cases},      //
      {"blocks", block_cases},             //
      {"control", control_cases},          //
      {"fft", fft_cases},                  //
      {"fused", fused_cases},              //
      {"convolution", convolution_cases},  //
      {"edges", edge_cases},               //
      {"elementwise", elementwise_cases},  //
      {"indexing", indexing_cases},        //
      {"integer", integer_cases},          //
      {"linear", linear_cases},            //
      {"losses", losses_cases},            //
      {"norms", norm_cases},               //
      {"points", points_cases},            //
      {"pooling", pooling_cases},          //
      {"recurrent", recurrent_cases},      //
      {"reduction", reduction_cases},      //
      {"resize", resize_cases},            //
      {"scatter", scatter_cases},          //
      {"search", search_cases},            //
      {"sequence", sequence_cases},        //
      {"shape", shape_cases},              //
      {"signal", signal_cases},            //
      {"text", text_cases},                //
      {"splat", splat_cases},              //
      {"vision", vision_cases},            //
      {"words", words_cases},
      // Last, so that what takes an op's first row takes one of its own family.
      {"broadcast", broadcast_cases},   //
      {"quads", quads_cases},           //
      {"attributes", attribute_cases},  // an op's first row is of its own family
  };
  return kFamilies;
}

std::vector<OpCase> op_cases() {
  std::vector<OpCase> all;
  for (const CaseFamily& family : case_families()) {
    std::vector<OpCase> rows = family.rows();
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

}  // namespace rlx
