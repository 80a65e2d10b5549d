// Rows for 64-bit integers in two words.

#include "rlx/conformance/op_cases.h"
#include "rlx/image/words.h"

namespace rlx {
namespace {

// About the ends of a word and of two, and numbers that fill both.
Tensor far_numbers() {
  const std::vector<int64_t> numbers{0,
                                     1,
                                     -1,
                                     2,
                                     7,
                                     -7,
                                     31,
                                     32,
                                     33,
                                     63,
                                     64,
                                     65535,
                                     65536,
                                     INT32_MAX,
                                     INT32_MIN,
                                     UINT32_MAX,
                                     1LL << 32,
                                     -(1LL << 32),
                                     (1LL << 32) + 1,
                                     2654435761,
                                     1103515245LL * 123456789,
                                     -987654321987654321LL,
                                     INT64_MAX,
                                     INT64_MIN,
                                     INT64_MAX - 1,
                                     INT64_MIN + 1,
                                     1LL << 62,
                                     -3037000499LL * 3};
  Tensor tensor(DType::i64, {static_cast<int64_t>(numbers.size())});
  for (size_t i = 0; i < numbers.size(); ++i)
    tensor.set_integer(static_cast<int64_t>(i), numbers[i]);
  return tensor;
}

CaseInput words(const Shape& shape) {
  const Tensor far = far_numbers();
  Tensor tensor(DType::i64, shape);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_integer(i, far.integer_at(i * 5 % far.count()));
  return given(image::words_of(tensor));
}

OpCase row(const std::string& op, DType to, std::vector<CaseInput> inputs, const std::string& why) {
  return {"words", std::move(inputs), {{"op", op}, {"to", to}}, why};
}

}  // namespace

std::vector<OpCase> words_cases() {
  std::vector<OpCase> cases;
  const int64_t n = far_numbers().count();
  for (const char* op : {"add", "sub", "mul", "div", "mod", "fmod", "max", "min", "pow",
                         "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"})
    cases.push_back(row(op, DType::u32, {words({n, 1}), words({1, n})}, "each with each"));
  for (const char* op : {"eq", "ne", "lt", "le", "gt", "ge"})
    cases.push_back(row(op, DType::boolean, {words({n, 1}), words({1, n})}, "each with each"));
  for (const char* op : {"neg", "abs", "sign", "bitwise_not"})
    cases.push_back(row(op, DType::u32, {words({n})}, "about the ends"));
  cases.push_back(row("where", DType::u32,
                      {normal(type(DType::boolean, {3, 1})), words({3, n}), words({n})},
                      "a condition for each row"));
  cases.push_back(row("add", DType::u32, {normal(i64({257})), words({257})}, "one word and two"));
  cases.push_back(row("mul", DType::u32, {normal(i64({63, 3})), normal(i64({}))}, "one word each"));
  cases.push_back(row("mod", DType::i64, {words({1031}), given(Tensor::scalar(DType::i64, 97))},
                      "what is left fits one word"));
  cases.push_back(row("add", DType::u32, {words({0, 3}), words({3})}, "none"));
  cases.push_back(row("sub", DType::u32, {words({}), words({65})}, "a single number"));
  cases.push_back(row("mul", DType::u32, {normal(u32({"n", 3, 2})), words({3})}, "a symbol"));
  cases.back().symbols = {{"n", 5}};
  Tensor reals(DType::f32, {16});
  const double values[] = {0,     -0.75, 1.5,   -2.5,         3e9,  -3e9, 4294967296.0, 1e18,
                           -1e18, 1e19,  -1e19, 9.2233715e18, 1e38, kInf, -kInf,        kNaN};
  for (int64_t i = 0; i < reals.count(); ++i) reals.set(i, values[i]);
  cases.push_back(row("cast", DType::u32, {given(reals)}, "floats saturate"));
  cases.push_back(row("cast", DType::u32, {normal(i64({5, 7}))}, "with the sign"));
  cases.push_back(row("cast", DType::f32, {words({3 * n})}, "to nearest even"));
  cases.push_back(row("cast", DType::i32, {words({n})}, "the low word"));
  Tensor small(DType::i64, {5});
  for (int64_t i = 0; i < 5; ++i) small.set_integer(i, i * 1073741823 - INT32_MAX);
  cases.push_back(row("cast", DType::i64, {given(image::words_of(small))}, "those that fit"));
  cases.push_back(row("enter", DType::u32, {given(far_numbers())}, "as the host has them"));
  cases.push_back(row("leave", DType::i64, {words({n})}, "as the host has them"));
  for (const char* op : {"cumsum", "cumprod"})
    for (const bool from_end : {false, true}) {
      const Attrs attrs{
          {"axis", 1}, {"exclusive", from_end}, {"reverse", from_end}, {"words", true}};
      cases.push_back({op, {words({2, 8, 2})}, attrs, "of words, beside others"});
      cases.push_back({op, {words({2, 700})}, attrs, "of words, in chunks"});
    }
  cases.push_back(
      {"cumsum", {normal(u32({"n", 7, 2}))}, {{"axis", 0}, {"words", true}}, "of words, a symbol"});
  cases.back().symbols = {{"n", 300}};
  return cases;
}

}  // namespace rlx
