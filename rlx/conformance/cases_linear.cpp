// Rows for matmul, linear, quantised_matmul and conv2d.

#include "rlx/conformance/op_cases.h"

namespace rlx {
namespace {

TensorType type(DType dtype, Dims shape) { return {dtype, std::move(shape)}; }

const Attrs kTransposeA = {{"transpose_a", true}}, kTransposeB = {{"transpose_b", true}};

std::vector<OpCase> matmul_cases() {
  const Attrs both = {{"transpose_a", true}, {"transpose_b", true}};
  std::vector<OpCase> cases = {
      {"matmul",
       {normal(f32({2, 3})), normal(f32({3, 4}))},
       {},
       "small enough to follow by hand",
       3},
      {"matmul", {normal(f32({1, 1})), normal(f32({1, 1}))}, {}, "one element", 1},
      {"matmul",
       {normal(f32({65, 33})), normal(f32({33, 63}))},
       {},
       "past the edges of a 64 x 64 tile",
       33},
      {"matmul", {normal(f32({9, 1031})), normal(f32({1031, 3}))}, {}, "a long inner dim", 1031},
      {"matmul",
       {normal(f32({3, 17})), normal(f32({17, 257}))},
       {},
       "wide, more columns than a workgroup's",
       17},
      {"matmul",
       {normal(f32({33, 9})), normal(f32({33, 35}))},
       kTransposeA,
       "a transposed by attribute",
       33},
      {"matmul",
       {normal(f32({9, 33})), normal(f32({35, 33}))},
       kTransposeB,
       "b transposed by attribute",
       33},
      {"matmul", {normal(f32({33, 9})), normal(f32({35, 33}))}, both, "both transposed", 33},
      {"matmul", {normal(f32({7})), normal(f32({7}))}, {}, "two vectors make a scalar", 7},
      {"matmul", {normal(f32({7})), normal(f32({7, 5}))}, {}, "a vector from the left", 7},
      {"matmul", {normal(f32({5, 7})), normal(f32({7}))}, {}, "a vector from the right", 7},
      {"matmul", {normal(f32({3, 2, 7})), normal(f32({7}))}, {}, "a batch times a vector", 7},
      {"matmul", {normal(f32({7})), normal(f32({3, 7, 2}))}, {}, "a vector times a batch", 7},
      {"matmul",
       {normal(f32({3, 5, 7})), normal(f32({7, 9}))},
       {},
       "one b for a whole batch: rows merge",
       7},
      {"matmul", {normal(f32({5, 7})), normal(f32({3, 7, 9}))}, {}, "one a for a whole batch", 7},
      {"matmul", {normal(f32({3, 5, 7})), normal(f32({3, 7, 9}))}, {}, "a batch of pairs", 7},
      {"matmul",
       {normal(f32({2, 1, 3, 4})), normal(f32({3, 4, 5}))},
       {},
       "batch dims broadcast both ways",
       4},
      {"matmul",
       {normal(f32({2, 1, 4, 3})), normal(f32({1, 3, 5, 4}))},
       both,
       "broadcast and transposed",
       4},
      {"matmul", {normal(f32({0, 3})), normal(f32({3, 4}))}, {}, "no rows", 1},
      {"matmul", {normal(f32({2, 0})), normal(f32({0, 4}))}, {}, "an empty sum is zero", 1},
      {"matmul", {normal(f32({0, 2, 3})), normal(f32({3, 4}))}, {}, "an empty batch", 1},
      {"matmul",
       {normal(type(DType::f16, {17, 19})), normal(type(DType::f16, {19, 9}))},
       {},
       "f16",
       19},
      {"matmul",
       {normal(type(DType::bf16, {17, 19})), normal(type(DType::bf16, {19, 9}))},
       {},
       "bf16",
       19},
      {"matmul", {normal(i32({17, 19})), normal(i32({19, 9}))}, {}, "i32", 19},
      {"matmul",
       {normal(type(DType::u32, {5, 7})), normal(type(DType::u32, {7, 3}))},
       {},
       "u32",
       7},
      {"matmul",
       {normal(type(DType::i8, {5, 70})), normal(type(DType::i8, {70, 3}))},
       {},
       "i8 wraps around",
       70},
      {"matmul", {normal(i64({5, 7})), normal(i64({7, 3}))}, {}, "i64 stays on the host", 7},
      {"matmul",
       {special(f32({9, 3})), normal(f32({3, 5}))},
       {},
       "NaN and infinity stay in their rows",
       3},
      {"matmul", {normal(f32({"n", 5})), normal(f32({5, 7}))}, {}, "symbolic rows", 5},
      {"matmul",
       {normal(f32({"b", 4, "n"})), normal(f32({"b", "n", 3}))},
       {},
       "symbolic batch and inner dim",
       13},
  };
  cases[cases.size() - 2].symbols = {{"n", 3}};
  cases[cases.size() - 1].symbols = {{"b", 2}, {"n", 13}};
  return cases;
}

std::vector<OpCase> linear_op_cases() {
  const auto act = [](const char* name) { return Attrs{{"activation", name}}; };
  const CaseInput x = normal(f32({9, 33})), w = normal(f32({33, 35})), bias = normal(f32({35}));
  std::vector<OpCase> cases = {
      {"linear", {x, w, bias}, {}, "with a bias", 33},
      {"linear", {x, w}, {}, "without one", 33},
      {"linear", {x, normal(f32({35, 33})), bias}, {{"transpose_w", true}}, "w as [N, K]", 33},
      {"linear", {x, w, bias}, act("relu"), "relu", 33},
      {"linear", {x, w, bias}, act("gelu"), "gelu", 33},
      {"linear", {x, w, bias}, act("gelu_tanh"), "gelu_tanh", 33},
      {"linear", {x, w, bias}, act("silu"), "silu", 33},
      {"linear", {x, w, bias}, act("sigmoid"), "sigmoid", 33},
      {"linear", {x, w}, act("tanh"), "tanh without a bias", 33},
      {"linear", {normal(f32({33})), w, bias}, {}, "x is one vector", 33},
      {"linear", {normal(f32({2, 3, 33})), w, bias}, act("relu"), "leading dims are rows", 33},
      {"linear", {normal(f32({2, 0, 33})), w, bias}, {}, "no rows", 1},
      {"linear",
       {normal(f32({2, 0})), normal(f32({0, 3})), normal(f32({3}))},
       act("sigmoid"),
       "only the bias",
       1},
      {"linear",
       {normal(f16({5, 17})), normal(f16({17, 9})), normal(f16({9}))},
       act("silu"),
       "f16",
       17},
      {"linear",
       {special(f32({9, 3})), normal(f32({3, 5})), normal(f32({5}))},
       act("relu"),
       "NaN goes through relu",
       3},
      {"linear",
       {normal(f32({"n", 3, 5})), normal(f32({5, 7})), normal(f32({7}))},
       act("gelu"),
       "symbolic rows",
       5},
  };
  cases.back().symbols = {{"n", 3}};
  return cases;
}

std::vector<OpCase> quantised_cases() {
  const auto w = [](int64_t n, int64_t k) { return normal({DType::i8, {n, k}}); };
  std::vector<OpCase> cases = {
      {"quantised_matmul",
       {normal(f32({5, 64})), w(65, 64), positive(f32({65, 2}))},
       {{"block", 32}},
       "two blocks",
       64},
      {"quantised_matmul",
       {normal(f32({2, 3, 6})), w(5, 6), positive(f32({5, 2}))},
       {{"block", 3}},
       "blocks that are no whole words",
       6},
      {"quantised_matmul",
       {normal(f32({32})), w(7, 32), positive(f32({7, 1}))},
       {{"block", 32}},
       "one vector",
       32},
      {"quantised_matmul",
       {normal(f32({0, 8})), w(3, 8), positive(f32({3, 2}))},
       {{"block", 4}},
       "no rows",
       1},
      {"quantised_matmul",
       {normal(f16({3, 32})), w(9, 32), positive(f32({9, 2}))},
       {{"block", 16}},
       "f16 with f32 scales",
       32},
      {"quantised_matmul",
       {special(f32({7, 4})), w(3, 4), positive(f32({3, 1}))},
       {{"block", 4}},
       "NaN and infinity stay in their rows",
       4},
      {"quantised_matmul",
       {normal(f32({"n", 8})), w(3, 8), positive(f32({3, 2}))},
       {{"block", 4}},
       "symbolic rows",
       8},
  };
  cases.back().symbols = {{"n", 5}};
  return cases;
}

std::vector<OpCase> conv2d_cases() {
  const CaseInput x = normal(f32({2, 3, 9, 7})), w = normal(f32({5, 3, 3, 3})),
                  bias = normal(f32({5}));
  std::vector<OpCase> cases = {
      {"conv2d", {x, w, bias}, {}, "the plain one", 27},
      {"conv2d", {x, w}, {{"pads", Ints{1, 1, 1, 1}}}, "padded to the same size, no bias", 27},
      {"conv2d",
       {x, w, bias},
       {{"pads", Ints{0, 1, 2, 3}}, {"strides", Ints{2, 3}}},
       "asymmetric pads and strides",
       27},
      {"conv2d", {x, w}, {{"dilations", Ints{2, 3}}, {"pads", Ints{2, 3, 2, 3}}}, "dilated", 27},
      {"conv2d",
       {x, normal(f32({5, 3, 1, 1})), bias},
       {{"activation", "relu"}},
       "1 x 1 with relu",
       3},
      {"conv2d",
       {normal(f32({1, 6, 5, 5})), normal(f32({10, 3, 2, 3}))},
       {{"groups", 2}},
       "two groups",
       18},
      {"conv2d",
       {normal(f32({1, 5, 9, 9})), normal(f32({5, 1, 3, 3})), bias},
       {{"groups", 5}, {"activation", "silu"}},
       "depthwise",
       9},
      {"conv2d",
       {normal(f32({1, 1, 33, 35})), normal(f32({1, 1, 5, 5}))},
       {},
       "more pixels than a workgroup's",
       25},
      {"conv2d", {normal(f32({0, 3, 9, 7})), w}, {}, "an empty batch", 1},
      {"conv2d", {normal(f32({1, 3, 2, 5})), w}, {}, "a window with no place", 1},
      {"conv2d",
       {normal(f16({1, 3, 9, 7})), normal(f16({5, 3, 3, 3})), normal(f16({5}))},
       {{"activation", "gelu"}},
       "f16",
       27},
      {"conv2d",
       {special(f32({1, 2, 9, 9})), normal(f32({3, 2, 2, 2}))},
       {},
       "NaN and infinity stay in their windows",
       8},
      {"conv2d",
       {normal(f32({"b", 3, "h", "w"})), w, bias},
       {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}},
       "symbolic batch and size",
       27},
  };
  cases.back().symbols = {{"b", 2}, {"h", 7}, {"w", 10}};
  return cases;
}

}  // namespace

std::vector<OpCase> linear_cases() {
  std::vector<OpCase> all;
  for (const auto& cases : {matmul_cases(), linear_op_cases(), quantised_cases(), conv2d_cases()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

}  // namespace rlx
