// Claims about strings: normalise_text, text_to_numbers, numbers_to_text, and letters.

#include "rlx/tensor/strings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rlx/ops/letter_case.h"
#include "rlx/ops/ops_text.h"
#include "rlx/ops/testing.h"

namespace rlx {
namespace {

Tensor words(const Strings& strings, Shape shape = {}) {
  if (shape.empty()) shape = {static_cast<int64_t>(strings.size())};
  return tensor_of_strings(shape, strings);
}
Strings strings_of(const Tensor& tensor) {
  Strings strings;
  for (int64_t i = 0; i < string_count(tensor); ++i) strings.emplace_back(string_at(tensor, i));
  return strings;
}

Tensor normalised(const Tensor& text, const NormaliseTextOptions& options) {
  return result_of({text}, [&](const Values& in) { return normalise_text(in[0], options); });
}
Tensor read(const Strings& numbers, DType dtype) {
  return result_of({words(numbers)},
                   [&](const Values& in) { return text_to_numbers(in[0], dtype); });
}
Strings written(const Tensor& x) {
  return strings_of(result_of({x}, [](const Values& in) { return numbers_to_text(in[0]); }));
}

TEST(StringTensor, IsPaddedWithZerosAndReadWithoutThem) {
  const Tensor tensor = words({"ab", "", "a\xc3\xa4", "x"}, {2, 2});
  EXPECT_EQ(tensor.type(), (TensorType{DType::u8, {2, 2, 3}}));
  EXPECT_EQ(elements(tensor), (Numbers{'a', 'b', 0, 0, 0, 0, 'a', 0xc3, 0xa4, 'x', 0, 0}));
  EXPECT_EQ(strings_of(tensor), (Strings{"ab", "", "a\xc3\xa4", "x"}));
  const std::string with_zero("a\0b", 3);
  EXPECT_EQ(strings_of(words({with_zero, "longer"})), (Strings{with_zero, "longer"}));
  EXPECT_EQ(strings_of(words({"", ""})), (Strings{"", ""}));
  EXPECT_EQ(error_of([] { words({"a"}, {2}); }), "strings of shape [2] are 2, here are 1");
}

TEST(NormaliseText, LeavesStopwordsOutInWhateverCase) {
  const Tensor days = words({"Monday", "tuesday", "monday", "MONDAYS"});
  EXPECT_EQ(strings_of(normalised(days, {.stopwords = {"mONDAY"}})),
            (Strings{"tuesday", "MONDAYS"}));
  EXPECT_EQ(strings_of(normalised(days, {.stopwords = {"monday"}, .case_sensitive = true})),
            (Strings{"Monday", "tuesday", "MONDAYS"}));
  EXPECT_EQ(strings_of(normalised(days, {})), strings_of(days));
}

TEST(NormaliseText, ComparesBeforeItChangesTheCase) {
  EXPECT_EQ(
      strings_of(normalised(words({"a", "A"}),
                            {.letter_case = "upper", .stopwords = {"A"}, .case_sensitive = true})),
      Strings{"A"});
}

TEST(NormaliseText, WhereNothingIsLeftAnEmptyStringIs) {
  const NormaliseTextOptions options{.stopwords = {"a"}};
  EXPECT_EQ(normalised(words({"a", "A"}), options).shape(), (Shape{1, 1}));
  EXPECT_EQ(normalised(words({"a", "A"}, {1, 2}), options).shape(), (Shape{1, 1, 1}));
  EXPECT_EQ(strings_of(normalised(words({"a", "A"}), options)), Strings{""});
  EXPECT_EQ(strings_of(normalised(Tensor(DType::u8, {0, 4}), {})), Strings{""});
}

TEST(NormaliseText, ErrorsNameTheOp) {
  Graph graph;
  EXPECT_EQ(error_of([&] {
              normalise_text(graph.input("f", f32({2, 3})));
            }),
            "normalise_text: takes strings, u8[..., length], got f32[2, 3]");
  EXPECT_EQ(error_of([&] {
              normalise_text(graph.input("v", {DType::u8, {3}}));
            }),
            "normalise_text: takes strings of shape [C] or [1, C], got u8[3]");
  EXPECT_EQ(error_of([&] {
              normalise_text(graph.input("m", {DType::u8, {2, 3, 4}}));
            }),
            "normalise_text: strings are of shape [C] or [1, C]: 2 and 1");
  const Value text = graph.input("t", {DType::u8, {2, 3}});
  EXPECT_EQ(error_of([&] { normalise_text(text, {.letter_case = "title"}); }),
            "normalise_text: letter_case is none, lower or upper, got 'title'");
}

TEST(Letters, ChangeOneByOneBeyondAscii) {
  EXPECT_EQ(lowered("AZ [ÀÞ×ß Ÿ Łódź ĲĿŊŽ ΆΈΏΩΣ ЁЖЯӀӁҐ ԱՖ ẤỲ"),
            "az [àþ×ß ÿ łódź ĳŀŋž άέώωσ ёжяӏӂґ աֆ ấỳ");
  EXPECT_EQ(uppered("az {àþ÷ß ÿ łódź ĳŀŋž άέώωσς ёжяӏӂґ աֆ ấỳ"),
            "AZ {ÀÞ÷ß Ÿ ŁÓDŹ ĲĿŊŽ ΆΈΏΩΣΣ ЁЖЯӀӁҐ ԱՖ ẤỲ");
  EXPECT_EQ(lowered("日本 🙂 A"), "日本 🙂 a");
}

TEST(Letters, BytesThatAreNoUtf8Stay) {
  // A continuation alone, a sequence cut short, the long forms of 'A'.
  for (const std::string bytes : {"\x80\xc0", "\xc3", "\xe1\xb8", "\xc1\x81", "\xe0\x81\x81"}) {
    EXPECT_EQ(lowered(bytes), bytes);
    EXPECT_EQ(uppered(bytes), bytes);
    EXPECT_EQ(lowered(bytes + "A"), bytes + "a");
  }
}

TEST(TextToNumbers, ReadsDecimalsAndTheWordsOfOnnx) {
  const Tensor y =
      read({"3.14", "1e-5", "1E8", "+INF", "inf", "-Inf", "nAn", " -0 ", ".5", "7."}, DType::f32);
  const std::vector<float> wanted{3.14F,     1e-5F, 1e8F,  INFINITY, INFINITY,
                                  -INFINITY, NAN,   -0.0F, 0.5F,     7.0F};
  for (size_t i = 0; i < wanted.size(); ++i) {
    const float got = y.data<float>()[i];
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(got));
      continue;
    }
    EXPECT_EQ(got, wanted[i]) << i;
    EXPECT_EQ(std::signbit(got), std::signbit(wanted[i])) << i;
  }
}

TEST(TextToNumbers, WhatADtypeDoesNotHaveIsCast) {
  EXPECT_EQ(elements(read({"100.5", "-3.9", "1e2", "300"}, DType::i8)),
            (Numbers{100, -3, 100, 127}));
  EXPECT_EQ(elements(read({"0", "-0.5", "2"}, DType::boolean)), (Numbers{0, 1, 1}));
  EXPECT_EQ(elements(read({"1e39", "1e-60"}, DType::f32)), (Numbers{INFINITY, 0}));
}

TEST(TextToNumbers, IntegersAreExactBeyondADouble) {
  const Tensor y = read({"-9223372036854775808", "9007199254740993"}, DType::i64);
  EXPECT_EQ(y.integer_at(0), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(y.integer_at(1), 9007199254740993);
}

TEST(TextToNumbers, WhatIsNoNumberIsNamed) {
  for (const char* word : {"Hello World!", "", " ", "1.2.3", "0x10", "1e", ".", "--1", "+-1", "++1",
                           "nan:0x7fc00001", "infinite", "1,5"}) {
    const std::string message = error_of([&] { read({"1", word}, DType::f32); });
    EXPECT_EQ(
        message.rfind(text("text_to_numbers: string 1, '", word, "', is no number of f32"), 0), 0U)
        << message;
  }
  Graph graph;
  EXPECT_EQ(error_of([&] { text_to_numbers(graph.input("x", f32({2})), DType::f32); }),
            "text_to_numbers: takes strings, u8[..., length], got f32[2]");
  EXPECT_EQ(error_of([&] {
              text_to_numbers(graph.input("t", {DType::u8, {2}}), DType::c64);
            }),
            "text_to_numbers: does not read complex numbers");
}

TEST(NumbersToText, WritesTheFewestDigitsThatReadBack) {
  EXPECT_EQ(written(Tensor::of(DType::f32, {6}, {0.1F, 0.039187793F, 1, -1e30F, 100.5, 1e-7F})),
            (Strings{"0.1", "0.039187793", "1", "-1e30", "100.5", "1e-7"}));
  EXPECT_EQ(written(Tensor::of(DType::f16, {2}, {0.1, 65504})), (Strings{"0.1", "65500"}));
  EXPECT_EQ(written(Tensor::of(DType::f32, {4}, {NAN, INFINITY, -INFINITY, -0.0})),
            (Strings{"NaN", "INF", "-INF", "-0"}));
  EXPECT_EQ(written(Tensor::of(DType::boolean, {2}, {0, 1})), (Strings{"0", "1"}));
  EXPECT_EQ(written(Tensor::of(DType::i8, {2}, {-128, 7})), (Strings{"-128", "7"}));
}

TEST(NumbersToText, TheLongestNumbersFit) {
  const double most = std::numeric_limits<double>::max(), least = -2.2250738585072014e-308;
  const Tensor x = Tensor::of(DType::f64, {4}, {most, least, -1.2345678901234567e-5, -0x1p-1074});
  const Tensor text = result_of({x}, [](const Values& in) { return numbers_to_text(in[0]); });
  EXPECT_EQ(string_at(text, 1), "-2.2250738585072014e-308");
  Graph graph;  // whose type must have room for them
  EXPECT_TRUE(numbers_to_text(graph.input("x", x.type())).shape()[1].is(text.shape().back()));
  const Tensor back =
      result_of({text}, [](const Values& in) { return text_to_numbers(in[0], DType::f64); });
  EXPECT_TRUE(same_bytes(back, x));
  Tensor integers(DType::i64, {1});
  integers.set_integer(0, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(written(integers), Strings{"-9223372036854775808"});
}

TEST(NumbersToText, ErrorsNameTheOp) {
  Graph graph;
  EXPECT_EQ(error_of([&] {
              numbers_to_text(graph.input("c", {DType::c64, {2}}));
            }),
            "numbers_to_text: does not take complex numbers, got c64[2]");
}

}  // namespace
}  // namespace rlx
