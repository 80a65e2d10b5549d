// Rows for weights in blocks of few bits, and for experts.

#include <cmath>

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_blocks.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_experts.h"
#include "rlx/tensor/blocks/format.h"

namespace rlx {
namespace {

// Numbers about 0 in a format.
CaseInput encoded(const BlockFormat& format, Shape shape) {
  Tensor values(DType::f32, std::move(shape));
  for (int64_t i = 0; i < values.count(); ++i)
    values.set(i, std::sin(static_cast<double>(i * i % 7919)) + 0.3);
  return given(encode_blocks(values, format));
}
Attrs attrs_of(const BlockFormat& format) {
  Attrs attrs = {{"format", std::string(format.name)}};
  if (format.bits > 0) attrs.set("block", format.elements);
  return attrs;
}
// K of two blocks or more, and where there are none no multiple of 4.
int64_t inner_of(const BlockFormat& format) {
  return format.elements == 1 ? 37 : std::max<int64_t>(64, 2 * format.elements);
}

OpCase without_gradient(OpCase row) {
  row.gradient = false;
  return row;
}

// Each format through each kernel: variants take few rows and tiles.
std::vector<OpCase> format_cases() {
  std::vector<OpCase> cases;
  for (const BlockFormat& format : block_formats()) {
    const int64_t k = inner_of(format);
    const std::string name(format.name);
    Attrs back = attrs_of(format);
    back.set("transpose_w", false);
    cases.push_back(without_gradient({"quantised_matmul",
                                      {normal(f32({3, k})), encoded(format, {5, k})},
                                      attrs_of(format),
                                      name,
                                      k}));
    cases.push_back(without_gradient({"quantised_matmul",
                                      {normal(f32({3, 5})), encoded(format, {5, k})},
                                      back,
                                      name + ", the other way round",
                                      5}));
    cases.push_back(without_gradient({"quantised_grouped_matmul",
                                      {normal(f32({5, k})), encoded(format, {3, 5, k}),
                                       given(Tensor::of(DType::i32, {5}, {2, 0, 1, 1, 2}))},
                                      attrs_of(format),
                                      name,
                                      k}));
    cases.push_back(
        {"quantised_gather",
         {encoded(format, {7, k}), given(Tensor::of(DType::i64, {2, 2}, {3, -1, 0, 6}))},
         attrs_of(format),
         name});
  }
  // More bytes than a device with lowered limits binds.
  for (const char* name : {"q8_0", "q4_1"}) {
    const BlockFormat format = block_format(name);
    cases.push_back(without_gradient({"quantised_matmul",
                                      {normal(f32({3, 64})), encoded(format, {70, 64})},
                                      attrs_of(format),
                                      text("many rows in ", name),
                                      64}));
    cases.push_back(
        {"quantised_gather",
         {encoded(format, {70, 64}), given(Tensor::of(DType::i64, {2, 2}, {3, -1, 44, 69}))},
         attrs_of(format),
         text("many rows in ", name)});
  }
  return cases;
}

// Every byte there is.
CaseInput all_bytes(int64_t rows) {
  Tensor bytes(DType::u8, {rows, 256 / rows});
  for (int64_t i = 0; i < 256; ++i) bytes.set_integer(i, i);
  return given(bytes);
}

std::vector<OpCase> product_cases() {
  const BlockFormat q4_0 = block_format("q4_0"), q4_k = block_format("q4_k"),
                    q6_k = block_format("q6_k"), q8_0 = block_format("q8_0"),
                    int4 = block_format("int4_block", 16),
                    int3 = block_format("int3_block_asym", 8), e4m3 = block_format("fp8_e4m3"),
                    e5m2 = block_format("fp8_e5m2");
  const Attrs of_q4_0 = attrs_of(q4_0), of_q4_k = attrs_of(q4_k);
  std::vector<OpCase> cases = {
      {"quantised_matmul",
       {normal(f32({35, 96})), encoded(q4_0, {67, 96})},
       of_q4_0,
       "past the edges of tiles",
       96},
      {"quantised_matmul",
       {normal(f32({1, 768})), encoded(q4_k, {33, 768})},
       of_q4_k,
       "one row, as a step of a language model",
       768},
      {"quantised_matmul",
       {normal(f32({256})), encoded(q4_k, {3, 256})},
       of_q4_k,
       "one vector",
       256},
      {"quantised_matmul",
       {normal(f32({2, 3, 64})), encoded(q8_0, {5, 64})},
       attrs_of(q8_0),
       "leading dims are rows",
       64},
      {"quantised_matmul", {normal(f32({0, 32})), encoded(q4_0, {3, 32})}, of_q4_0, "no rows", 1},
      {"quantised_matmul",
       {normal(f32({2, 32})), encoded(q4_0, {0, 32})},
       of_q4_0,
       "no columns",
       1},
      {"quantised_matmul",
       {normal(f32({2, 0})), encoded(q4_0, {3, 0})},
       of_q4_0,
       "an empty sum is zero",
       1},
      {"quantised_matmul", {normal(f16({9, 64})), encoded(q4_0, {7, 64})}, of_q4_0, "f16", 64},
      {"quantised_matmul",
       {normal(bf16({2, 256})), encoded(q6_k, {7, 256})},
       attrs_of(q6_k),
       "bf16",
       256},
      {"quantised_matmul",
       {normal(f32({3, 48})), encoded(int4, {9, 48})},
       attrs_of(int4),
       "blocks of 16",
       48},
      {"quantised_matmul",
       {normal(f32({3, 24})), encoded(int3, {9, 24})},
       attrs_of(int3),
       "blocks of 8 that are no whole words",
       24},
      {"quantised_matmul",
       {special(f32({9, 32})), encoded(q4_0, {3, 32})},
       of_q4_0,
       "NaN and infinity stay in their rows",
       32},
      {"quantised_matmul",
       {normal(f32({3, 8})), all_bytes(32)},
       attrs_of(e4m3),
       "NaN of fp8 stays in its column",
       8},
      {"quantised_matmul",
       {normal(f32({3, 8})), all_bytes(32)},
       attrs_of(e5m2),
       "NaN and infinity of fp8 stay in their columns",
       8},
      {"quantised_gather",
       {all_bytes(16), list({0, 7, 15, 8})},
       attrs_of(e4m3),
       "every byte of E4M3"},
      {"quantised_gather",
       {all_bytes(16), list({0, 7, 15, 8})},
       attrs_of(e5m2),
       "every byte of E5M2"},
      {"quantised_gather",
       {encoded(q8_0, {9, 64}), index(i32({0}), 9)},
       attrs_of(q8_0),
       "no indices"},
      {"quantised_gather",
       {encoded(q8_0, {300, 64}), index(i32({70}), 300)},
       attrs_of(q8_0),
       "a larger table"},
      with({"quantised_gather",
            {encoded(q4_k, {9, 256}), index(i64({"n"}), 9)},
            of_q4_k,
            "symbolic indices"},
           {{"n", 5}}),
      with({"quantised_matmul",
            {normal(f32({"n", 64})), encoded(q4_0, {5, 64})},
            of_q4_0,
            "symbolic rows, one",
            64},
           {{"n", 1}}),
      with({"quantised_matmul",
            {normal(f32({"n", 64})), encoded(q4_0, {5, 64})},
            of_q4_0,
            "symbolic rows, few",
            64},
           {{"n", 6}}),
      with({"quantised_matmul",
            {normal(f32({"n", 64})), encoded(q4_0, {5, 64})},
            of_q4_0,
            "symbolic rows, many",
            64},
           {{"n", 40}}),
  };
  OpCase halves = {
      "quantised_gather", {encoded(q8_0, {9, 64}), index(i32({3}), 9)}, attrs_of(q8_0), "to f16"};
  halves.attrs.set("dtype", DType::f16);
  cases.push_back(halves);
  return cases;
}

std::vector<OpCase> grouped_cases() {
  const BlockFormat q4_0 = block_format("q4_0"), q4_k = block_format("q4_k");
  const Attrs attrs = attrs_of(q4_0);
  const auto row = [&](const CaseInput& x, const CaseInput& w, const CaseInput& expert,
                       const char* why, int64_t terms) {
    return OpCase{"quantised_grouped_matmul", {x, w, expert}, attrs, why, terms};
  };
  std::vector<OpCase> cases = {
      row(normal(f32({70, 32})), encoded(q4_0, {5, 35, 32}), index(i32({70}), 5),
          "rows of any expert", 32),
      row(normal(f32({0, 32})), encoded(q4_0, {2, 3, 32}), index(i32({0}), 2), "no rows", 1),
      row(normal(f16({9, 32})), encoded(q4_0, {2, 3, 32}), index(i32({9}), 2), "f16", 32),
      with(row(normal(f32({"n", 32})), encoded(q4_0, {3, 7, 32}), index(i64({"n"}), 3),
               "symbolic rows", 32),
           {{"n", 11}}),
      with(row(normal(f32({"n", 32})), encoded(q4_0, {3, 7, 32}), index(i64({"n"}), 3),
               "symbolic rows, few", 32),
           {{"n", 6}}),
      with(row(normal(f32({"n", 32})), encoded(q4_0, {3, 7, 32}), index(i64({"n"}), 3),
               "symbolic rows, many", 32),
           {{"n", 40}}),
  };
  OpCase back = row(normal(f32({9, 7})), encoded(q4_k, {3, 7, 256}), index(i32({9}), 3),
                    "the other way round", 7);
  back.attrs = attrs_of(q4_k);
  back.attrs.set("transpose_w", false);
  cases.push_back(back);
  OpCase little = row(normal(f32({3, 7})), encoded(q4_0, {3, 7, 32}), index(i32({3}), 3),
                      "a little, the other way round", 7);
  little.attrs.set("transpose_w", false);
  cases.push_back(little);
  return cases;
}

OpCase composed(const char* op, std::vector<CaseInput> inputs, std::string why, int64_t terms,
                std::function<Values(const Values&)> compose, SymbolValues symbols = {}) {
  return {op, std::move(inputs),  {},   std::move(why),    terms,
          1,  std::move(symbols), true, std::move(compose)};
}

// Scores of which no two are near, so that no device chooses others.
CaseInput distinct(int64_t tokens, int64_t experts) {
  Tensor scores(DType::f32, {tokens, experts});
  for (int64_t i = 0; i < scores.count(); ++i)
    scores.set(i, static_cast<double>(1 + i * 37 % 101 + i / experts * 7 % 11) / 128.0);
  return given(scores);
}

std::vector<OpCase> expert_cases() {
  const auto both = [](const Gate& gate) {
    return Values{cast(gate.indices, DType::f32), gate.weights};
  };
  const auto limited = [both](GroupLimits limits) {
    return [=](const Values& v) { return both(group_limited_gate(v[0], v[1], limits)); };
  };
  const auto softly = [both](int64_t k, bool normalise) {
    return [=](const Values& v) { return both(softmax_gate(v[0], k, normalise)); };
  };
  const auto mixture = [](int64_t k, const std::string& format) {
    return [=](const Values& v) {
      const bool gated = v.size() > 4;
      return Values{mixture_of_experts(v[0], softmax_gate(v[1], k),
                                       {gated ? v[4] : Value{}, v[2], v[3], format, 0})};
    };
  };
  const BlockFormat q8_0 = block_format("q8_0");
  return {
      composed("softmax_gate", {distinct(5, 8)}, "two of eight", 8, softly(2, true)),
      composed("softmax_gate", {distinct(3, 7)}, "not normalised", 8, softly(3, false)),
      composed("softmax_gate", {distinct(1, 4)}, "all of them", 8, softly(4, true)),
      composed("softmax_gate", {distinct(0, 8)}, "no tokens", 8, softly(2, true)),
      composed("softmax_gate", {distinct(40, 16)}, "many tokens", 8, softly(2, true)),
      composed("group_limited_gate", {distinct(0, 16), distinct(0, 16)}, "no tokens", 8,
               limited({4, 2, 3, true, 2.5})),
      composed("group_limited_gate", {distinct(40, 16), distinct(40, 16)}, "many tokens", 8,
               limited({4, 2, 3, true, 2.5})),
      composed("group_limited_gate", {distinct(5, 16), distinct(5, 16)}, "two of four groups", 8,
               limited({4, 2, 3, true, 2.5})),
      composed("group_limited_gate", {distinct(3, 6), distinct(3, 6)}, "groups of one", 8,
               limited({6, 3, 2, false, 1})),
      composed("group_limited_gate", {distinct(4, 8), distinct(4, 8)}, "one group", 8,
               limited({1, 1, 8, true, 1})),
      composed("mixture_of_experts",
               {normal(f32({7, 9})), distinct(7, 4), normal(f32({4, 9, 10})),
                normal(f32({4, 10, 9})), normal(f32({4, 9, 10}))},
               "gated, two of four", 400, mixture(2, "")),
      composed(
          "mixture_of_experts",
          {normal(f32({5, 6})), distinct(5, 3), normal(f32({3, 6, 8})), normal(f32({3, 8, 6}))},
          "one of three, no gate", 300, mixture(1, "")),
      composed(
          "mixture_of_experts",
          {normal(f32({3, 4})), distinct(3, 2), normal(f32({2, 4, 5})), normal(f32({2, 5, 4}))},
          "both experts, no gate", 300, mixture(2, "")),
      composed(
          "mixture_of_experts",
          {normal(f32({0, 6})), distinct(0, 3), normal(f32({3, 6, 8})), normal(f32({3, 8, 6}))},
          "no tokens", 300, mixture(2, "")),
      composed("mixture_of_experts",
               {normal(f32({9, 32})), distinct(9, 3), encoded(q8_0, {3, 64, 32}),
                encoded(q8_0, {3, 32, 64}), encoded(q8_0, {3, 64, 32})},
               "weights in q8_0", 4000, mixture(2, "q8_0")),
      without_gradient(composed("mixture_of_experts",
                                {normal(f32({40, 32})), distinct(40, 3), encoded(q8_0, {3, 64, 32}),
                                 encoded(q8_0, {3, 32, 64})},
                                "q8_0, more tokens than a tile, no gate", 4000,
                                mixture(2, "q8_0"))),
  };
}

}  // namespace

std::vector<OpCase> block_cases() {
  std::vector<OpCase> all;
  for (const auto& cases : {format_cases(), product_cases(), grouped_cases(), expert_cases()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

}  // namespace rlx
