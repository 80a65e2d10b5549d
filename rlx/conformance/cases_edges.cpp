// Rows with nothing in them, and rows of more elements than a workgroup has lanes, for ops whose
// own families have none: an op's first row with other extents.

#include <algorithm>

#include "rlx/conformance/op_cases.h"

namespace rlx {
namespace {

// The op's row number `index` with these shapes for its first operands; the others stay.
OpCase like(const std::string& op, const std::vector<Dims>& shapes, const char* why,
            int64_t index = 0) {
  for (const CaseFamily& family : case_families()) {
    if (std::string_view(family.name) == "edges") continue;
    for (OpCase& row : family.rows()) {
      if (row.op != op || index-- > 0) continue;
      for (size_t i = 0; i < shapes.size(); ++i) row.inputs[i].type.shape = shapes[i];
      row.why = why;
      return row;
    }
  }
  fail(ErrorKind::invalid_graph, "there is no such row of ", op);
}

}  // namespace

std::vector<OpCase> edge_cases() {
  const char* const none = "nothing in it";
  const char* const many = "more than a workgroup";
  std::vector<OpCase> rows = {
      like("argsort", {{0, 67}}, none),
      like("batch_norm_training", {{4, 0, 5}, {0}, {0}, {0}, {0}}, none),
      like("binary_cross_entropy", {{0}, {0}}, none, 1),
      like("binary_cross_entropy_with_logits", {{31, 65}, {31, 65}}, many),
      like("dequantise", {{31, 67}}, many),
      like("dot_general", {{20, 3, 4, 5}}, many),
      like("einsum", {{0, 33}, {33, 7}}, none),
      like("einsum", {{9, 0}, {0, 7}}, "sums of nothing"),
      like("fake_quantise", {{0, 65}}, none),
      like("flatten", {{2, 0, 5}}, none),
      like("flatten", {{20, 30, 5}}, many),
      like("huber", {{31, 65}, {31, 65}}, many),
      like("huber_loss", {{0}}, none, 1),
      like("im2col", {{2, 3, 25, 26}}, many),
      like("instance_norm", {{0, 3, 5}}, none),
      like("lora_matmul", {{0, 17}}, none),
      like("lora_matmul", {{50, 17}}, many),
      like("lrn", {{0, 7, 3, 3}}, none),
      like("mse", {{31, 65}, {31, 65}}, many),
      like("nll_loss", {{0, 7}, {0}}, none, 1),
      like("nll_loss", {{300, 7}, {300}}, many, 1),
      like("not", {{3001}}, many),
      {"numbers_to_text", {normal(f32({31, 9}))}, {}, many},
      like("one_hot", {{300}}, many),
      like("packed_attention", {{0, 5, 3, 2, 8}}, none),
      like("qkv_linear", {{0, 33}}, none),
      like("reduce_all", {{0, 67}}, none),
      like("reduce_any", {{0, 67}}, none),
      like("rope_at", {{2, 3, 0, 8}, {0}}, none),
      like("rope_at", {{2, 3, 50, 8}, {50}}, many),
      like("shape_of", {{30, 1, 70}}, many),
      like("size_of", {{30, 1, 70}}, many),
      like("slice", {{0, 65}}, none),
      like("softmax_cross_entropy", {{0, 7}, {0}}, none, 1),
      like("softmax_cross_entropy", {{300, 7}, {300}}, many, 1),
      like("space_to_depth", {{0, 3, 6, 4}}, none),
      like("space_to_depth", {{2, 3, 30, 40}}, many),
      like("squeeze", {{1, 0, 1, 2}}, none),
      like("squeeze", {{1, 300, 1, 2}}, many),
      like("stft", {{0, 37, 1}}, none),
      like("stft", {{2, 370, 1}}, many),
      like("tile", {{21, 30}}, many, 1),
      like("top_k", {{0, 9}}, none),
      like("unique", {{1031}}, many),
      like("unsqueeze", {{0, 2}}, none),
      like("unsqueeze", {{300, 2}}, many),
      {"expand", {normal(f32({0, 1}))}, {{"shape", Dims{0, 3}}}, none},
      {"expand", {normal(f32({301, 1}))}, {{"shape", Dims{301, 65}}}, many, 65},
      {"random_normal", {given(Tensor::of(DType::u32, {2}, {7, 9}))}, {{"shape", Dims{0}}}, none},
      {"random_uniform", {given(Tensor::of(DType::u32, {2}, {7, 9}))}, {{"shape", Dims{0}}}, none},
      {"reshape", {normal(f32({70, 65}))}, {{"shape", Dims{65, 70}}}, many},
      {"transpose", {normal(f32({70, 65}))}, {{"order", Ints{1, 0}}}, many},
  };
  for (const char* op : {"global_average_pool", "global_max_pool", "global_lp_pool"})
    rows.push_back(like(op, {{0, 3, 9, 7}}, none));
  for (const char* op : {"bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"}) {
    rows.push_back(like(op, {{0, 13}, {13}}, none));
    rows.push_back(like(op, {{300, 13}, {13}}, many));
  }
  rows.push_back(like("bitwise_not", {{0}}, none));
  rows.push_back(like("bitwise_not", {{3001}}, many));
  for (const char* op : {"and", "or", "xor"}) rows.push_back(like(op, {{300, 13}, {13}}, many));
  return rows;
}

}  // namespace rlx
