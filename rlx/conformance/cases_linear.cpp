// Rows for matrix products and what is made of them.

#include <cmath>

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_blocks.h"
#include "rlx/ops/ops_einsum.h"
#include "rlx/ops/ops_linear.h"
#include "rlx/tensor/blocks/format.h"

namespace rlx {
namespace {

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
       {normal(type(DType::f64, {5, 7})), normal(type(DType::f64, {7, 3}))},
       {},
       "f64 stays on the host",
       7},
      {"matmul", {normal(i32({2, 0})), normal(i32({0, 4}))}, {}, "an empty sum of integers", 1},
      {"matmul", {normal(i32({2, 3, 5})), normal(i32({2, 5, 4}))}, {}, "i32, a batch", 5},
      {"matmul",
       {special(f32({9, 3})), normal(f32({3, 5}))},
       {},
       "NaN and infinity stay in their rows",
       3},
      {"matmul",
       {positive(f32({1, 1000003})), positive(f32({1000003, 1}))},
       {},
       "10^6 terms, as exact as few",
       4,
       1,
       {},
       false},
      {"matmul",
       {positive(f32({9, 40009})), positive(f32({40009, 3}))},
       {},
       "rows of long sums, as exact as few",
       4,
       1,
       {},
       false},
      {"matmul",
       {special(f32({3, 4099})), positive(f32({4099, 2}))},
       {},
       "NaN and infinity in a long sum",
       4099},
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
  const CaseInput x = normal(f32({9, 33})), w = normal(f32({33, 35})), bias = normal(f32({35}));
  std::vector<OpCase> cases = {
      {"linear", {x, w, bias}, {}, "with a bias", 33},
      {"linear", {x, w}, {}, "without one", 33},
      {"linear", {x, normal(f32({35, 33})), bias}, {{"transpose_w", true}}, "w as [N, K]", 33},
      {"linear", {normal(f32({33})), w, bias}, {}, "x is one vector", 33},
      {"linear", {normal(f32({2, 3, 33})), w, bias}, {}, "leading dims are rows", 33},
      {"linear", {normal(f32({2, 0, 33})), w, bias}, {}, "no rows", 1},
      {"linear",
       {normal(f32({2, 0})), normal(f32({0, 3})), normal(f32({3}))},
       {},
       "only the bias",
       1},
      {"linear", {normal(f16({5, 17})), normal(f16({17, 9})), normal(f16({9}))}, {}, "f16", 17},
      {"linear",
       {special(f32({9, 3})), normal(f32({3, 5})), normal(f32({5}))},
       {},
       "NaN and infinity",
       3},
      {"linear",
       {normal(f32({"n", 3, 5})), normal(f32({5, 7})), normal(f32({7}))},
       {},
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
  const auto u8 = [](Dims shape) { return normal({DType::u8, std::move(shape)}); };
  const std::vector<OpCase> of_bytes = {
      {"quantised_matmul",
       {normal(f32({1, 255})), u8({65, 255}), positive(f32({1, 1})), u8({1, 1})},
       {{"block", 255}},
       "one scale and zero point for all, as a table of words has them",
       255},
      {"quantised_matmul",
       {normal(f32({5, 36})), u8({63, 36}), positive(f32({63, 3})), u8({63, 3})},
       {{"block", 12}},
       "a scale and a zero point for each block",
       36},
      {"quantised_matmul",
       {normal(f32({17, 33})), w(31, 33), positive(f32({31, 1})), w(1, 1)},
       {{"block", 33}},
       "i8 with a scale for each row and one zero point; rows enough for panels",
       33},
      {"quantised_matmul",
       {normal(f32({2, 9})), u8({3, 9}), positive(f32({1, 3}))},
       {{"block", 3}},
       "u8 without zero points, rows that share their scales",
       9},
      {"quantised_matmul",
       {normal(f32({2, 5})), u8({5, 9}), positive(f32({5, 3})), u8({5, 3})},
       {{"block", 3}, {"transpose_w", false}},
       "the other way round, with zero points",
       5},
      {"quantised_matmul",
       {normal(f32({3, 0})), u8({3, 0}), positive(f32({1, 0})), u8({1, 0})},
       {{"block", 4}},
       "rows of nothing",
       1},
  };
  cases.insert(cases.end(), of_bytes.begin(), of_bytes.end());
  return cases;
}

using Compose = std::function<Values(const Values&)>;

OpCase composed(const char* op, std::vector<CaseInput> inputs, std::string why, int64_t terms,
                Compose compose, SymbolValues symbols = {}) {
  return {op, std::move(inputs),  {},   std::move(why),    terms,
          1,  std::move(symbols), true, std::move(compose)};
}

std::vector<OpCase> einsum_cases() {
  const auto row = [](const char* equation, std::vector<CaseInput> inputs, const char* why,
                      int64_t terms, SymbolValues symbols = {}) {
    return composed(
        "einsum", std::move(inputs), text(equation, ": ", why), terms,
        [equation](const Values& v) { return Values{einsum(equation, v)}; }, std::move(symbols));
  };
  const CaseInput a = normal(f32({3, 4, 5})), b = normal(f32({3, 5, 6}));
  return {
      row("ij,jk->ik", {normal(f32({9, 33})), normal(f32({33, 7}))}, "a matrix product", 33),
      row("bij,bjk->bik", {a, b}, "a batch of them", 5),
      row("bij,bjk->ibk", {a, b}, "another order", 5),
      row("ij,jk", {normal(f32({3, 4})), normal(f32({4, 5}))}, "an implicit result", 4),
      row("ba", {normal(f32({3, 4}))}, "the implicit order is the alphabet's", 1),
      row("i,j->ij", {normal(f32({3})), normal(f32({5}))}, "an outer product", 1),
      row("i,i->", {normal(f32({257})), normal(f32({257}))}, "an inner product", 257),
      row("ijk->j", {a}, "a sum", 15),
      row("ii->i", {normal(f32({5, 5}))}, "a diagonal", 1),
      row("ii", {normal(f32({5, 5}))}, "a trace", 5),
      row("bii->ib", {normal(f32({2, "n", "m"}))}, "a diagonal of symbols", 1,
          {{"n", 5}, {"m", 5}}),
      row("iji,j->ij", {normal(f32({3, 4, 3})), normal(f32({4}))}, "a diagonal that is scaled", 1),
      row("...ij,...jk->...ik", {normal(f32({2, 1, 3, 4})), normal(f32({5, 4, 3}))},
          "ellipses broadcast", 4),
      row("...i,i->...", {normal(f32({2, 3, 5})), normal(f32({5}))}, "an ellipsis in one", 5),
      row("ij,ij->j", {normal(f32({1, 4})), normal(f32({3, 4}))}, "an extent of 1 is repeated", 3),
      row("ij,jk,kl->il", {normal(f32({2, 3})), normal(f32({3, 4})), normal(f32({4, 5}))},
          "three operands", 12),
      row("bhqd,bhkd->bhqk", {normal(f16({1, 2, 3, 8})), normal(f16({1, 2, 5, 8}))},
          "attention's scores in f16", 8),
      row("ij,jk->ki", {normal(i32({3, 4})), normal(i32({4, 5}))}, "integers", 4),
      row("bij,bjk->bik", {normal(f32({"b", 4, "n"})), normal(f32({"b", "n", 3}))}, "symbolic", 6,
          {{"b", 2}, {"n", 6}}),
  };
}

std::vector<OpCase> dot_general_cases() {
  const auto row = [](const DotDims& dims, std::vector<CaseInput> inputs, const char* why,
                      int64_t terms) {
    return composed("dot_general", std::move(inputs), why, terms,
                    [dims](const Values& v) { return Values{dot_general(v[0], v[1], dims)}; });
  };
  const CaseInput a = normal(f32({2, 3, 4, 5})), b = normal(f32({5, 3, 6, 2}));
  return {
      row({{3}, {0}}, {a, b}, "one dim summed", 5),
      row({{3}, {0}, {1}, {1}}, {a, b}, "a batch dim", 5),
      row({{3, 0}, {0, 3}, {1}, {1}}, {a, b}, "two dims summed, in another order", 10),
      row({{}, {}, {0}, {3}}, {a, b}, "nothing summed", 1),
      row({{-1}, {0}}, {normal(f16({3, 7})), normal(f16({7}))}, "f16 matrix and vector", 7),
      row({{0}, {0}}, {normal(f32({0, 3})), normal(f32({0, 2}))}, "an empty sum", 1),
  };
}

std::vector<OpCase> projection_cases() {
  const auto parts = [](int64_t q, int64_t k, int64_t v, bool bias) {
    return [q, k, v, bias](const Values& in) {
      const Qkv y = qkv_linear(in[0], in[1], bias ? in[2] : Value{}, q, k, v);
      return Values{y.q, y.k, y.v};
    };
  };
  const auto in_blocks = [](const char* format, int64_t rows, int64_t columns) {
    Tensor w(DType::f32, {rows, columns});
    for (int64_t i = 0; i < w.count(); ++i) w.set(i, std::sin(static_cast<double>(i)));
    return given(encode_blocks(w, block_format(format)));
  };
  const auto lora_on = [](const char* format) {
    return [format](const Values& v) {
      return Values{lora_matmul(v[0], v[1], v[2], v[3], format, {.scale = 0.5})};
    };
  };
  const auto lora = [](const Values& v) {
    return Values{lora_matmul(v[0], v[1], v[2], v[3], 0.5)};
  };
  return {
      composed("qkv_linear", {normal(f32({5, 33})), normal(f32({33, 27})), normal(f32({27}))},
               "three of one width", 33, parts(9, 9, 9, true)),
      composed("qkv_linear", {normal(f32({2, 3, 8})), normal(f32({8, 20}))},
               "fewer key and value heads", 8, parts(12, 4, 4, false)),
      composed("qkv_linear", {normal(f16({3, 8})), normal(f16({8, 12})), normal(f16({12}))}, "f16",
               8, parts(6, 2, 4, true)),
      composed("qkv_linear", {normal(f32({"n", 8})), normal(f32({8, 12}))}, "symbolic rows", 8,
               parts(4, 4, 4, false), {{"n", 3}}),
      composed(
          "lora_matmul",
          {normal(f32({5, 17})), normal(f32({17, 9})), normal(f32({17, 2})), normal(f32({2, 9}))},
          "rank 2", 40, lora),
      composed(
          "lora_matmul",
          {normal(f32({2, 3, 8})), normal(f32({8, 8})), normal(f32({8, 1})), normal(f32({1, 8}))},
          "rank 1, leading dims", 20, lora),
      composed("lora_matmul",
               {normal(f16({3, 8})), normal(f16({8, 5})), normal(f16({8, 4})), normal(f16({4, 5}))},
               "f16", 8, lora),
      composed("lora_matmul",
               {normal(f32({3, 64})), in_blocks("q8_0", 7, 64), normal(f32({64, 2})),
                normal(f32({2, 7}))},
               "a base in q8_0", 130, lora_on("q8_0")),
      composed("lora_matmul",
               {normal(f32({1, 32})), in_blocks("q4_0", 65, 32), normal(f32({32, 3})),
                normal(f32({3, 65}))},
               "one row, a base in q4_0", 70, lora_on("q4_0")),
  };
}

// Expert e so many times, one after the other.
CaseInput repeated_experts(std::initializer_list<int64_t> times) {
  std::vector<int32_t> all;
  int32_t expert = 0;
  for (const int64_t count : times) all.insert(all.end(), static_cast<size_t>(count), expert++);
  Tensor experts(DType::i32, {static_cast<int64_t>(all.size())});
  std::copy(all.begin(), all.end(), experts.mutable_data<int32_t>().begin());
  return given(experts);
}

std::vector<OpCase> grouped_cases() {
  const auto row = [](const CaseInput& x, const CaseInput& w, const CaseInput& expert,
                      const char* why, int64_t terms) {
    return OpCase{"grouped_matmul", {x, w, expert}, {}, why, terms};
  };
  const auto experts = [](int64_t rows, int64_t count) { return index(i32({rows}), count); };
  std::vector<OpCase> cases = {
      row(normal(f32({9, 17})), normal(f32({3, 17, 35})), experts(9, 3), "rows of any expert", 17),
      row(normal(f32({65, 9})), normal(f32({5, 9, 257})), experts(65, 5), "a large one", 9),
      row(normal(f32({8, 5})), normal(f32({2, 5, 3})),
          given(Tensor::of(DType::i64, {8}, {0, 0, 0, 0, 1, 1, 1, 1})), "sorted by expert", 5),
      row(normal(f32({70, 65})), normal(f32({3, 65, 33})), repeated_experts({31, 2, 37}),
          "sorted, experts meet beside the edges of tiles", 65),
      row(normal(f32({1, 1})), normal(f32({1, 1, 1})), experts(1, 1), "one element", 1),
      row(normal(f32({0, 5})), normal(f32({2, 5, 3})), experts(0, 2), "no rows", 1),
      row(normal(f32({3, 0})), normal(f32({2, 0, 3})), experts(3, 2), "an empty sum", 1),
      row(normal(f16({5, 9})), normal(f16({3, 9, 7})), experts(5, 3), "f16", 9),
      row(normal(type(DType::bf16, {5, 9})), normal(type(DType::bf16, {3, 9, 7})), experts(5, 3),
          "bf16", 9),
      row(special(f32({7, 3})), normal(f32({2, 3, 5})), experts(7, 2),
          "NaN and infinity stay in their rows", 3),
      row(normal(f32({"n", 5})), normal(f32({3, 5, 7})), index(i64({"n"}), 3), "symbolic rows", 5),
  };
  cases.back().symbols = {{"n", 6}};
  return cases;
}

// A matrix that has an inverse, and rows to exchange.
CaseInput regular(int64_t matrices, int64_t n) {
  Tensor a(DType::f32, {matrices, n, n});
  for (int64_t i = 0; i < a.count(); ++i)
    a.set(i, std::sin(static_cast<double>(i)) + (i % n == (i / n + 1) % n ? 4.0 : 0.0));
  return given(a);
}

std::vector<OpCase> solve_cases() {
  return {
      {"dense_solve", {regular(1, 5), normal(f32({1, 5}))}, {}, "a vector", 25},
      {"dense_solve", {regular(3, 4), normal(f32({3, 4, 2}))}, {}, "a batch, two columns", 16},
      {"dense_solve", {regular(1, 33), normal(f32({1, 33, 3}))}, {}, "a larger one", 1089},
      {"dense_solve", {normal(f32({2, 0, 0})), normal(f32({2, 0}))}, {}, "no equations", 1},
      {"det", {regular(1, 5)}, {}, "one matrix", 25},
      {"det", {regular(3, 4)}, {}, "a batch", 16},
      {"det", {regular(70, 4)}, {}, "a large batch", 16},
      {"det", {normal(f32({3, 1, 1}))}, {}, "single numbers"},
      {"det",
       {given(Tensor::of(DType::f32, {2, 2}, {1, 2, 2, 4}))},
       {},
       "singular",
       4,
       1,
       {},
       false},
      {"det", {normal(f32({2, 0, 0}))}, {}, "the empty product"},
  };
}

}  // namespace

std::vector<OpCase> linear_cases() {
  std::vector<OpCase> all;
  for (const auto& cases :
       {matmul_cases(), linear_op_cases(), quantised_cases(), einsum_cases(), dot_general_cases(),
        projection_cases(), grouped_cases(), solve_cases()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

}  // namespace rlx
