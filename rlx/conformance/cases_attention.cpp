// Rows for attention and rope.

#include <cmath>

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_attention.h"
#include "rlx/ops/ops_rope.h"

namespace rlx {
namespace {

// cos and sin of position / 100^(pair / pairs).
std::pair<CaseInput, CaseInput> tables(int64_t positions, int64_t pairs, DType dtype = DType::f32) {
  Tensor cosines(dtype, {positions, pairs}), sines(dtype, {positions, pairs});
  for (int64_t i = 0; i < positions * pairs; ++i) {
    const int64_t position = i / pairs;
    const double angle = double(position) / std::pow(100.0, double(i % pairs) / double(pairs));
    cosines.set(i, std::cos(angle));
    sines.set(i, std::sin(angle));
  }
  return {given(cosines), given(sines)};
}

Tensor mask(Shape shape, bool (*keep)(int64_t)) {
  Tensor result(DType::boolean, std::move(shape));
  for (int64_t i = 0; i < result.count(); ++i) result.set(i, keep(i));
  return result;
}

std::vector<OpCase> attention_op_cases() {
  const Attrs causal = {{"causal", true}};
  const auto heads = [](Dims shape) { return normal(f32(std::move(shape))); };
  const CaseInput q = heads({2, 2, 5, 7}), k = heads({2, 2, 9, 7}), v = heads({2, 2, 9, 3});
  const CaseInput some = given(mask({5, 9}, [](int64_t i) { return i % 3 != 0; }));
  const CaseInput no_key = given(mask({5, 9}, [](int64_t i) { return i / 9 != 2; }));
  const Attrs tuned = {{"scale", 0.5}, {"softcap", 2.0}, {"causal", true}};
  std::vector<OpCase> cases = {
      {"attention", {q, k, v}, {}, "D and D_v odd, S_k > S_q", 9},
      {"attention", {q, k, v}, causal, "causal with a cache: query i is position i + S_k - S_q", 9},
      {"attention",
       {heads({1, 1, 9, 4}), heads({1, 1, 5, 4}), heads({1, 1, 5, 4})},
       causal,
       "more queries than keys: the first see none",
       5},
      {"attention",
       {heads({1, 4, 5, 8}), heads({1, 2, 5, 8}), heads({1, 2, 5, 8})},
       causal,
       "grouped heads",
       5},
      {"attention", {q, k, v, heads({2, 2, 5, 9})}, {}, "a bias of the full shape", 9},
      {"attention", {q, k, v, heads({2, 1, 1, 9})}, causal, "a bias that broadcasts", 9},
      {"attention", {q, k, v, heads({9})}, {}, "a bias per key", 9},
      {"attention", {q, k, v, some}, {}, "a bool mask", 9},
      {"attention", {q, k, v, no_key}, {}, "a row that sees no key is zero", 9},
      {"attention", {q, k, v, no_key}, {{"empty_row", "nan"}}, "or NaN", 9, 1, {}, false},
      {"attention", {q, k, v}, tuned, "scale, then softcap, then the mask", 9},
      {"attention", {q, k, v, heads({2, 2, 5, 9})}, tuned, "and the bias after them", 9},
      {"attention",
       {heads({1, 1, 17, 16}), heads({1, 1, 131, 16}), heads({1, 1, 131, 16})},
       {},
       "more keys than a workgroup has lanes",
       131},
      {"attention",
       {heads({1, 1, 67, 4}), heads({1, 1, 67, 4}), heads({1, 1, 67, 4})},
       causal,
       "more queries than a workgroup has lanes",
       67},
      {"attention",
       {heads({1, 1, 1, 64}), heads({1, 1, 65, 64}), heads({1, 1, 65, 64})},
       causal,
       "one query: decoding",
       65},
      {"attention",
       {heads({1, 1, 5, 256}), heads({1, 1, 3, 256}), heads({1, 1, 3, 256})},
       {},
       "head size 256",
       256},
      {"attention",
       {heads({1, 1, 2, 3}), heads({1, 1, 2, 3}), heads({1, 1, 2, 301})},
       {},
       "values longer than that",
       3},
      {"attention",
       {heads({2, 5, 12}), heads({2, 7, 6}), heads({2, 7, 10})},
       {{"heads", 4}, {"kv_heads", 2}},
       "heads side by side: [B, S, H * D]",
       7},
      {"attention",
       {heads({0, 2, 5, 7}), heads({0, 2, 9, 7}), heads({0, 2, 9, 3})},
       {},
       "an empty batch",
       1},
      {"attention",
       {heads({1, 2, 5, 4}), heads({1, 2, 0, 4}), heads({1, 2, 0, 3})},
       {},
       "no keys at all",
       1,
       1,
       {},
       false},
      {"attention",
       {normal(f16({1, 2, 5, 8})), normal(f16({1, 2, 9, 8})), normal(f16({1, 2, 9, 8}))},
       causal,
       "f16",
       9},
      {"attention",
       {special(f32({1, 2, 9, 4})), heads({1, 2, 5, 4}), heads({1, 2, 5, 4})},
       {},
       "NaN and infinity stay in their queries",
       5},
      {"attention",
       {heads({"b", 2, "s", 4}), heads({"b", 2, "t", 4}), heads({"b", 2, "t", 4})},
       causal,
       "symbolic batch and lengths",
       9,
       1,
       {{"b", 2}, {"s", 4}, {"t", 6}}},
      {"attention",
       {heads({"b", 2, "s", 4}), heads({"b", 2, "s", 4}), heads({"b", 2, "s", 4}),
        heads({"b", 1, 1, "s"})},
       {},
       "symbolic, with a bias",
       9,
       1,
       {{"b", 2}, {"s", 5}}},
  };
  return cases;
}

std::vector<OpCase> window_and_layout_cases() {
  const auto heads = [](Dims shape) { return normal(f32(std::move(shape))); };
  const CaseInput q = heads({2, 2, 5, 7}), k = heads({2, 2, 9, 7}), v = heads({2, 2, 9, 3});
  const CaseInput some = given(mask({5, 9}, [](int64_t i) { return i % 3 != 0; }));
  const Attrs inside = {{"layout", "bshd"}};
  const auto window = [](int64_t w) { return Attrs{{"window", w}}; };
  return {
      {"attention", {q, k, v}, window(2), "a window with a cache", 9},
      {"attention", {q, k, v}, window(0), "each query sees its own key", 9},
      {"attention", {q, k, v}, window(1'000'000), "a window wider than the keys", 9},
      {"attention",
       {heads({1, 1, 67, 4}), heads({1, 1, 67, 4}), heads({1, 1, 67, 4})},
       window(33),
       "a window that begins within a workgroup's queries",
       67},
      {"attention",
       {heads({1, 1, 9, 4}), heads({1, 1, 5, 4}), heads({1, 1, 5, 4})},
       window(1),
       "a window, and more queries than keys",
       5},
      {"attention",
       {q, k, v, heads({2, 2, 5, 9}), some},
       {{"causal", true}, {"softcap", 2.0}},
       "bias and mask together",
       9},
      {"attention", {q, k, v, absent(), some}, window(3), "a mask, no bias", 9},
      {"attention",
       {heads({1, 2, 150, 3}), heads({1, 1, 160, 3}), heads({1, 1, 160, 2})},
       {{"causal", true}},
       "gradients in blocks of queries",
       160},
      {"attention",
       {heads({1, 1, 131, 3}), heads({1, 1, 131, 3}), heads({1, 1, 131, 3}), heads({131, 131})},
       window(9),
       "blocks of queries in a window, with a bias",
       131},
      {"attention",
       {heads({1, 129, 2}), heads({1, "t", 2}), heads({1, "t", 2}), heads({1, 1, 1, "t"})},
       {{"softcap", 2.0}},
       "blocks of queries, a symbolic number of keys",
       7,
       1,
       {{"t", 7}}},
      {"attention",
       {q, k, v, special(f32({5, 9})), some},
       {},
       "NaN and infinity in a bias, some of it masked",
       9},
      {"attention",
       {heads({2, 5, 4, 8}), heads({2, 9, 2, 8}), heads({2, 9, 2, 3})},
       {{"layout", "bshd"}, {"causal", true}},
       "[B, S, H, D], grouped",
       9},
      {"attention",
       {heads({1, 65, 2, 3}), heads({1, 65, 2, 3}), heads({1, 65, 2, 3}), heads({2, 1, 65})},
       {{"layout", "bshd"}, {"window", 7}},
       "[B, S, H, D] with a bias per head",
       65},
      {"attention",
       {heads({"b", "s", 2, 4}), heads({"b", "t", 2, 4}), heads({"b", "t", 2, 4})},
       {{"layout", "bshd"}, {"window", 2}},
       "symbolic lengths and a window",
       9,
       1,
       {{"b", 2}, {"s", 4}, {"t", 6}}},
      {"attention",
       {heads({1, 2, 1, 16}), heads({1, 1, 1031, 16}), heads({1, 1, 1031, 16})},
       {{"causal", true}},
       "decoding over many keys",
       1031},
      {"attention",
       {heads({1, 2, 1, 8}), heads({1, 2, "t", 8}), heads({1, 2, "t", 8})},
       {{"window", 70}},
       "decoding over a symbolic number of keys",
       257,
       1,
       {{"t", 257}}},
      {"attention",
       {heads({1, 1, 2, 80}), heads({1, 1, 3, 80}), heads({1, 1, 3, 96})},
       {},
       "head sizes 80 and 96",
       80},
      {"attention",
       {normal({DType::bf16, {1, 3, 2, 8}}), normal({DType::bf16, {1, 5, 2, 8}}),
        normal({DType::bf16, {1, 5, 2, 8}})},
       inside,
       "bf16",
       8,
       1,
       {},
       false},
      {"causal_mask", {normal(f32({3, 5}))}, {}, "queries are the last positions"},
      {"causal_mask", {normal(f32({2, 5, 3}))}, {}, "some see nothing"},
      {"causal_mask", {normal(f16({65, 257}))}, {{"window", 9}}, "a window"},
      {"causal_mask", {normal(f32({0, 3}))}, {}, "no queries"},
      {"causal_mask",
       {normal(f32({"s", "t"}))},
       {{"window", 0}},
       "symbolic",
       1,
       1,
       {{"s", 3}, {"t", 4}}},
  };
}

// A sink is one more score of a head, which gives no value.
std::vector<OpCase> sink_cases() {
  const Attrs causal = {{"causal", true}};
  const auto heads = [](Dims shape) { return normal(f32(std::move(shape))); };
  const auto halves = [](Dims shape) { return normal(f16(std::move(shape))); };
  const auto sinks = [](const std::vector<double>& of) {
    return given(Tensor::of(DType::f32, {static_cast<int64_t>(of.size())}, of));
  };
  const CaseInput q = heads({2, 2, 5, 7}), k = heads({2, 2, 9, 7}), v = heads({2, 2, 9, 3}),
                  none = absent(), two = sinks({2, -1});
  const CaseInput no_key = given(mask({5, 9}, [](int64_t i) { return i / 9 != 2; }));
  const Attrs tuned = {{"scale", 0.5}, {"softcap", 2.0}, {"causal", true}};
  return {
      {"attention",
       {heads({1, 4, 5, 7}), heads({1, 2, 9, 7}), heads({1, 2, 9, 3}), none, none, heads({4})},
       causal,
       "a sink: grouped heads, causal with a cache",
       9},
      {"attention",
       {q, k, v, no_key, none, two},
       {{"empty_row", "nan"}},
       "a row that sees nothing but the sink is zero",
       9},
      {"attention",
       {heads({1, 2, 9, 4}), heads({1, 2, 5, 4}), heads({1, 2, 5, 4}), none, none, two},
       {{"causal", true}, {"empty_row", "nan"}},
       "a sink: the first queries see no key",
       5},
      {"attention",
       {q, k, v, heads({2, 2, 5, 9}), no_key, two},
       tuned,
       "a sink is not scaled, capped or masked",
       9},
      {"attention",
       {halves({1, 2, 5, 8}), halves({1, 2, 9, 8}), halves({1, 2, 9, 8}), none, none, halves({2})},
       causal,
       "a sink of f16",
       9},
      {"attention",
       {heads({1, 3, 5, 4}), heads({1, 3, 9, 4}), heads({1, 3, 9, 4}), none, none, halves({3})},
       {},
       "a sink of another dtype",
       9},
      {"attention",
       {heads({1, 3, 1, 64}), heads({1, 1, 65, 64}), heads({1, 1, 65, 64}), none, none,
        sinks({-2, 0, 5})},
       causal,
       "a sink: decoding",
       65},
      {"attention",
       {heads({1, 2, 1, 16}), heads({1, 1, 1031, 16}), heads({1, 1, 1031, 16}), none, none,
        sinks({8, 6})},
       causal,
       "a sink: decoding over many keys",
       1031},
      {"attention",
       {heads({1, 1, 67, 3}), heads({1, 1, 67, 3}), heads({1, 1, 67, 3}), none, none, sinks({1})},
       {{"window", 33}},
       "a sink and a window, more queries than a workgroup has lanes",
       67},
      {"attention",
       {heads({1, 1, 5, 3}), heads({1, 1, 131, 3}), heads({1, 1, 131, 301}), none, none,
        sinks({4})},
       {},
       "a sink: more keys than lanes, values longer than a workgroup takes",
       131},
      {"attention",
       {heads({2, 5, 12}), heads({2, 7, 6}), heads({2, 7, 10}), none, none, heads({4})},
       {{"heads", 4}, {"kv_heads", 2}},
       "a sink: heads side by side",
       7},
      {"attention",
       {heads({1, 3, 2, 5}), heads({1, 4, 2, 5}), heads({1, 4, 2, 5}), none, none, heads({2})},
       {{"layout", "bshd"}},
       "a sink: heads behind positions",
       5},
      {"attention",
       {heads({1, 2, 150, 3}), heads({1, 2, 160, 3}), heads({1, 2, 160, 2}), none, none, two},
       causal,
       "a sink: gradients in blocks of queries",
       160},
      {"attention",
       {heads({"b", "h", "s", 4}), heads({"b", "h", "t", 4}), heads({"b", "h", "t", 4}), none, none,
        heads({"h"})},
       causal,
       "a sink: symbolic heads and lengths",
       9,
       1,
       {{"b", 2}, {"h", 3}, {"s", 4}, {"t", 6}}},
      {"attention",
       {heads({1, 2, 1, 4}), heads({1, 2, "t", 4}), heads({1, 2, "t", 3}), none, none, two},
       {{"empty_row", "nan"}},
       "a sink: no keys at all",
       1,
       1,
       {{"t", 0}},
       false},
      {"attention",
       {heads({1, 4, 5, 4}), heads({1, 4, 9, 4}), heads({1, 4, 9, 4}), none, none,
        sinks({kInf, -kInf, kNaN, 0})},
       causal,
       "a sink of -inf is none, and of infinity or NaN its head is NaN",
       9,
       1,
       {},
       false},
  };
}

std::vector<OpCase> packed_cases() {
  const auto row = [](const TensorType& type, const AttentionOptions& options, std::string why,
                      int64_t terms) {
    OpCase result{"packed_attention", {normal(type)}, {}, std::move(why), terms};
    result.compose = [options](const Values& in) {
      return Values{packed_attention(in[0], {}, options)};
    };
    return result;
  };
  std::vector<OpCase> cases = {
      row(f32({2, 5, 3, 2, 8}), {.causal = true}, "views of one tensor", 8),
      row(f32({1, 65, 3, 1, 3}), {.window = 9}, "a window", 65),
      row(f16({1, 7, 3, 2, 4}), {}, "f16", 7),
      row(f32({"b", "s", 3, 2, 4}), {.causal = true}, "symbolic", 5),
  };
  cases.back().symbols = {{"b", 2}, {"s", 5}};
  return cases;
}

std::vector<OpCase> rope_cases() {
  const Attrs interleaved = {{"interleaved", true}};
  const auto [cosines, sines] = tables(5, 4);
  const auto [few_cosines, few_sines] = tables(5, 3);
  const auto [one_cosine, one_sine] = tables(1, 1);
  const auto [half_cosines, half_sines] = tables(5, 4, DType::f16);
  const CaseInput x = normal(f32({2, 3, 5, 8}));
  return {
      {"rope", {x, cosines, sines}, {}, "pairs half a row apart", 2},
      {"rope", {x, cosines, sines}, interleaved, "neighbouring pairs", 2},
      {"rope",
       {normal(f32({5, 9})), few_cosines, few_sines},
       {},
       "n_rot < D: the rest is copied",
       2},
      {"rope",
       {normal(f32({5, 9})), few_cosines, few_sines},
       interleaved,
       "the same with neighbours",
       2},
      {"rope", {normal(f32({3, 1, 2})), one_cosine, one_sine}, {}, "one position, one pair", 2},
      {"rope", {normal(f32({0, 5, 8})), cosines, sines}, {}, "an empty batch", 1},
      {"rope", {normal(f16({3, 5, 8})), half_cosines, half_sines}, {}, "f16", 2},
      {"rope", {normal(f16({3, 5, 8})), cosines, sines}, interleaved, "f16 with f32 tables", 2},
      {"rope",
       {special(f32({7, 5, 8})), cosines, sines},
       {},
       "NaN and infinity stay in their pairs",
       2},
      {"rope", {normal(f32({"b", 5, 8})), cosines, sines}, {}, "symbolic batch", 2, 1, {{"b", 3}}},
      {"rope",
       {normal(f32({2, "s", 8})), normal(f32({"s", 2})), normal(f32({"s", 2}))},
       {},
       "symbolic length",
       2,
       1,
       {{"s", 3}}},
      {"rope",
       {normal(f32({2, 5, 3, 8})), cosines, sines},
       {{"layout", "bshd"}},
       "positions before heads",
       2},
      {"rope",
       {normal(f32({2, 3, 5, 9})), normal(f32({2, 5, 3})), normal(f32({2, 5, 3}))},
       {},
       "a table for each batch",
       2},
      {"rope",
       {normal(f32({2, 5, 3, 9})), normal(f32({2, 5, 4})), normal(f32({2, 5, 4}))},
       {{"layout", "bshd"}, {"interleaved", true}},
       "a table for each batch, positions before heads",
       2},
      {"rope", {normal({DType::bf16, {3, 5, 8}}), cosines, sines}, {}, "bf16", 2},
      {"rope",
       {normal(f32({3, 65, 64})), normal(f32({65, 32})), normal(f32({65, 32}))},
       {},
       "more than 10,000 elements",
       2},
  };
}

std::vector<OpCase> position_cases() {
  const auto row = [](const TensorType& x, const CaseInput& positions, const RopeOptions& options,
                      std::string why) {
    OpCase result{"rope_at", {normal(x), positions}, {}, std::move(why), 2};
    result.compose = [options](const Values& in) { return Values{rope_at(in[0], in[1], options)}; };
    return result;
  };
  std::vector<OpCase> cases = {
      row(f32({2, 3, 5, 8}), index(i64({5}), 5000), {}, "positions [S]"),
      row(f32({2, 3, 5, 8}), index(i64({2, 5}), 100), {.n_rot = 6}, "positions [B, S], n_rot < D"),
      row(f32({2, 5, 3, 8}), index(i32({2, 5}), 100),
          {.theta = 500000, .interleaved = true, .layout = "bshd"}, "positions before heads"),
      row(f16({1, 3, 4}), index(i64({3}), 9), {}, "f16"),
      row(f32({"b", 2, "s", 4}), index(i64({"b", "s"}), 50), {}, "symbolic"),
  };
  cases.back().symbols = {{"b", 2}, {"s", 3}};
  return cases;
}

}  // namespace

std::vector<OpCase> attention_cases() {
  std::vector<OpCase> all = attention_op_cases();
  for (const auto rows :
       {window_and_layout_cases, sink_cases, packed_cases, rope_cases, position_cases})
    for (OpCase& row : rows()) all.push_back(std::move(row));
  return all;
}

}  // namespace rlx
