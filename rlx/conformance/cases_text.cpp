// Rows for ops on strings: normalise_text, text_to_numbers, numbers_to_text.

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_text.h"
#include "rlx/tensor/strings.h"

namespace rlx {
namespace {

using Cases = std::vector<OpCase>;

CaseInput words(const Strings& strings, Shape shape = {}) {
  if (shape.empty()) shape = {static_cast<int64_t>(strings.size())};
  return given(tensor_of_strings(shape, strings));
}

void add_normalised(Cases& cases) {
  const auto row = [&](CaseInput text, const char* letter_case, const Strings& stopwords,
                       bool case_sensitive, const char* why, SymbolValues symbols = {}) {
    cases.push_back({.op = "normalise_text",
                     .inputs = {std::move(text)},
                     .attrs = {{"letter_case", letter_case},
                               {"stopwords", stopwords},
                               {"case_sensitive", case_sensitive}},
                     .why = why,
                     .symbols = std::move(symbols)});
  };
  const Strings days{"Monday", "tuesday", "", "monday", "MÄRZ", "Σάββατο", "суббота"};
  row(words(days), "lower", {"monday"}, false, "in small letters");
  row(words(days), "upper", {"monday"}, true, "in capital letters, case sensitive");
  row(words(days, {1, 7}), "none", {"tuesday", "märz", "СУББОТА"}, false, "of shape [1, C]");
  row(words({"monday", "MONDAY"}), "none", {"Monday"}, false, "nothing is left");
  row(normal(u8({0, 5})), "upper", {}, false, "nothing was there");
  row(normal(u8({9, 0})), "none", {"a"}, false, "all are empty");
  row(normal(u8({9, 0})), "none", {""}, false, "all that are empty are left out");
  row(normal(u8({130, 65})), "lower", {}, false, "bytes that are no text");
  row(normal(u8({1, "n", "length"})), "upper", {}, false, "symbolic extents",
      {{"n", 70}, {"length", 3}});
  cases.push_back({.op = "normalise_text",
                   .inputs = {normal(u8({70, 1}))},
                   .why = "ops behind it on the device",
                   .compose = [](const Values& in) -> Values {
                     const Value kept = normalise_text(in[0] + in[0], {.stopwords = {"\x06"}});
                     return {kept, sum(cast(kept, DType::f32))};
                   }});
}

void add_read(Cases& cases) {
  const Strings plain{"3.14", "1000", "-2", "+7", "0", "100.5", " 12 ", "1E2", ".5", "7."};
  const Strings wide{"1e-5",  "1E8", "NaN",    "INF",   "+inf", "-Inf",
                     "1e-50", "1e9", "3.4e39", "-1e40", "-0",   "16777217"};
  const auto row = [&](CaseInput text, DType to, const char* why, SymbolValues symbols = {}) {
    cases.push_back({.op = "text_to_numbers",
                     .inputs = {std::move(text)},
                     .attrs = {{"to", to}},
                     .why = why,
                     .symbols = std::move(symbols)});
  };
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u8, DType::i8,
                            DType::i64, DType::boolean})
    row(words(plain, {2, 5}), dtype, "decimals");
  row(words(wide, {3, 1, 4}), DType::f32, "words for infinity and NaN, and ends of the range");
  row(words(wide), DType::f16, "words for infinity and NaN, as halves");
  row(normal(u8({0, 7})), DType::f32, "none");
  row(normal(u8({"n", 7})), DType::f32, "a symbolic number of strings", {{"n", 0}});
  cases.push_back({.op = "text_to_numbers",
                   .inputs = {words(Strings(300, "1.25"))},
                   .why = "ops behind it on the device",
                   .compose = [](const Values& in) -> Values {
                     return {exp(text_to_numbers(in[0], DType::f32))};
                   }});
}

void add_written(Cases& cases) {
  const auto row = [&](CaseInput x, const char* why, SymbolValues symbols = {}) {
    cases.push_back({.op = "numbers_to_text",
                     .inputs = {std::move(x)},
                     .why = why,
                     .symbols = std::move(symbols)});
  };
  row(normal(f32({3, 67})), "the fewest digits");
  row(special(f32({61})), "NaN, infinities, zeros of both signs");
  for (const DType dtype : {DType::f16, DType::bf16, DType::i32, DType::u32, DType::i8, DType::u8,
                            DType::i64, DType::boolean})
    row(normal({dtype, {5, 3}}), "digits");
  row(special(i32({37})), "integers at their ends");
  row(normal(f32({})), "rank 0");
  row(normal(f32({3, 0})), "none");
  row(normal(f32({"n", 3})), "a symbolic number", {{"n", 5}});
  cases.push_back({.op = "numbers_to_text",
                   .inputs = {normal(f32({41}))},
                   .why = "and back",
                   .gradient = false,
                   .compose = [](const Values& in) -> Values {
                     return {text_to_numbers(numbers_to_text(in[0] + in[0]), DType::f32)};
                   }});
}

}  // namespace

std::vector<OpCase> text_cases() {
  Cases cases;
  add_normalised(cases);
  add_read(cases);
  add_written(cases);
  return cases;
}

}  // namespace rlx
