// Ops on strings, which are tensors of bytes (rlx/tensor/strings.h): normalise_text leaves words
// out and changes the case of letters, text_to_numbers reads each string as a number, and
// numbers_to_text writes them.

#include "rlx/tensor/strings.h"

#include <algorithm>
#include <optional>

#include "rlx/ir/text_numbers.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/letter_case.h"
#include "rlx/ops/ops_text.h"

namespace rlx {
namespace {

void require_text(const char* op, const TensorType& x) {
  require(x.dtype == DType::u8 && rank(x) > 0, op, ": takes strings, u8[..., length], got ", x);
}

// ---- normalise_text ----

Types infer_normalised(const InferSite& site) {
  const TensorType& x = site.in(0);
  const auto& letters = site.attrs.get<std::string>("letter_case");
  require_text("normalise_text", x);
  require(rank(x) == 2 || rank(x) == 3,
          "normalise_text: takes strings of shape [C] or [1, C], got ", x);
  require(letters == "none" || letters == "lower" || letters == "upper",
          "normalise_text: letter_case is none, lower or upper, got '", letters, "'");
  TensorType y = x;
  if (rank(x) == 3) site.equal(x.shape[0], 1, "strings are of shape [C] or [1, C]");
  y.shape[y.shape.size() - 2] = site.fresh();
  return {y};
}

void normalise(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const bool case_sensitive = site.attrs.get<bool>("case_sensitive");
  const auto& letters = site.attrs.get<std::string>("letter_case");
  const auto compared = [&](std::string word) {
    return case_sensitive ? word : lowered(std::move(word));
  };
  Strings stopwords;
  for (const std::string& word : site.attrs.get<Strings>("stopwords"))
    stopwords.push_back(compared(word));
  std::sort(stopwords.begin(), stopwords.end());
  Strings kept;
  for (int64_t i = 0; i < string_count(x); ++i) {
    const std::string word(string_at(x, i));
    if (std::binary_search(stopwords.begin(), stopwords.end(), compared(word))) continue;
    kept.push_back(letters == "lower" ? lowered(word) : letters == "upper" ? uppered(word) : word);
  }
  if (kept.empty()) kept.emplace_back();
  Shape shape{static_cast<int64_t>(kept.size())};
  if (x.shape().size() == 3) shape.insert(shape.begin(), 1);
  site.results[0] = tensor_of_strings(shape, kept, x.shape().back());
}

// ---- text_to_numbers ----

Types infer_numbers(const InferSite& site) {
  require_text("text_to_numbers", site.in(0));
  const DType dtype = site.attrs.get<DType>("to");
  require(dtype != DType::c64, "text_to_numbers: does not read complex numbers");
  TensorType y{dtype, site.in(0).shape};
  y.shape.pop_back();
  return {y};
}

// As the rest of rlx writes numbers: "+INF" is inf, ".5" is 0.5.
std::string tidy_number(std::string_view given) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = given.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return "";
  given = given.substr(first, given.find_last_not_of(kBlank) + 1 - first);
  if (given[0] == '+' && given.substr(0, 2) != "+-") given.remove_prefix(1);
  std::string number = lowered(std::string(given));
  const auto is_digit = [&](size_t i) {
    return i < number.size() && number[i] >= '0' && number[i] <= '9';
  };
  if (const size_t point = number.find('.'); point != std::string::npos) {
    const bool before = point > 0 && is_digit(point - 1), after = is_digit(point + 1);
    if (before && !after) number.insert(point + 1, "0");
    if (after && !before) number.insert(point, "0");
  }
  return number;
}

// What the dtype does not have becomes what a cast makes of it: 100.5 as an integer is 100.
bool read_number(const std::string& number, Tensor& y, int64_t i) {
  if (number.substr(0, 4) == "nan:") return false;  // bits, which only rlx's own files may have
  std::byte element[8];
  if (y.dtype() != DType::boolean && read_element(y.dtype(), number, element)) {
    const int64_t bytes = bytes_of(y.dtype());
    std::copy_n(element, bytes, y.mutable_bytes().data() + i * bytes);
    return true;
  }
  const std::optional<double> value = read_double(number);
  if (value) y.set(i, *value);
  return value.has_value();
}

void read_numbers(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  Tensor& y = site.out();
  for (int64_t i = 0; i < string_count(x); ++i)
    if (!read_number(tidy_number(string_at(x, i)), y, i))
      fail(ErrorKind::invalid_input, "text_to_numbers: string ", i, ", '",
           string_at(x, i).substr(0, 40), "', is no number of ", y.dtype());
}

// ---- numbers_to_text ----

// A sign, 17 digits, a point and an exponent, of f64; all others are shorter.
constexpr int64_t kLongestNumber = 24;

Types infer_text(const InferSite& site) {
  const TensorType& x = site.in(0);
  require(x.dtype != DType::c64, "numbers_to_text: does not take complex numbers, got ", x);
  TensorType y{DType::u8, x.shape};
  y.shape.emplace_back(kLongestNumber);
  return {y};
}

void write_numbers(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const DType written = x.dtype() == DType::boolean ? DType::u8 : x.dtype();  // 0 and 1
  Strings numbers;
  for (int64_t i = 0; i < x.count(); ++i) {
    std::string number = print_element(written, x.bytes().data() + i * bytes_of(x.dtype()));
    if (number.substr(0, 3) == "nan") number = "NaN";
    if (number == "inf" || number == "-inf") number = uppered(number);
    numbers.push_back(std::move(number));
  }
  site.results[0] = tensor_of_strings(x.shape(), numbers, kLongestNumber);
}

}  // namespace

const OpDef& normalise_text_op() {
  static const OpDef op{
      .name = "normalise_text",
      .family = "text",
      .inputs = {1, 1, {"text"}},
      .attrs = {{"letter_case", "none"}, {"stopwords", Strings{}}, {"case_sensitive", false}},
      .infer = infer_normalised,
      .reference = normalise,
      .never_fails = true,
      .host_reason = "how many strings normalise_text gives depends on the data",
      .gradient_reason = "strings have no slope",
      .onnx = "StringNormalizer",
  };
  return op;
}

const OpDef& text_to_numbers_op() {
  static const OpDef op{
      .name = "text_to_numbers",
      .family = "text",
      .inputs = {1, 1, {"text"}},
      .attrs = {{"to"}},
      .infer = infer_numbers,
      .reference = read_numbers,
      .host_reason = "a decimal read to the last bit needs wider integers than a device has",
      .gradient_reason = "strings have no slope",
  };
  return op;
}

const OpDef& numbers_to_text_op() {
  static const OpDef op{
      .name = "numbers_to_text",
      .family = "text",
      .inputs = {1, 1, {"x"}},
      .infer = infer_text,
      .reference = write_numbers,
      .never_fails = true,
      .host_reason = "digits that read back to the last bit need wider integers than a device has",
      .gradient_reason = "strings have no slope",
  };
  return op;
}

Value normalise_text(Value text, const NormaliseTextOptions& options) {
  return text.apply(normalise_text_op(), {text},
                    {{"letter_case", options.letter_case},
                     {"stopwords", options.stopwords},
                     {"case_sensitive", options.case_sensitive}});
}
Value text_to_numbers(Value text, DType dtype) {
  return text.apply(text_to_numbers_op(), {text}, {{"to", dtype}});
}
Value numbers_to_text(Value x) { return x.apply(numbers_to_text_op(), {x}); }

}  // namespace rlx
