#include "rlx/cli/literal.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "rlx/base/error.h"

namespace rlx::cli {
namespace {

constexpr size_t kDeepest = 64;

struct Number {
  double real = 0;
  int64_t integer = 0;  // where it is one
  bool is_integer = false;
  bool is_large = false;  // from 2^63 on: `integer` has the bits of a u64
};

// Reads nested lists; the first path down tells the shape, which all others must have.
class Reader {
 public:
  Reader(const std::string& source, DType dtype) : source_(source), dtype_(dtype) {}

  Tensor read() {
    read_list(0);
    skip_spaces();
    if (at_ != source_.size()) wrong("something follows the end");
    Tensor tensor(dtype_, shape_);
    for (size_t i = 0; i < numbers_.size(); ++i) store(tensor, static_cast<int64_t>(i));
    return tensor;
  }

 private:
  [[noreturn]] void wrong(const std::string& why) const {
    fail(ErrorKind::invalid_input, "the literal ", source_, ": ", why, " (at character ", at_ + 1,
         ")");
  }

  void skip_spaces() {
    while (at_ < source_.size() && std::isspace(static_cast<unsigned char>(source_[at_]))) ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ == source_.size() || source_[at_] != c) return false;
    ++at_;
    return true;
  }

  void read_list(size_t depth) {
    if (!take('[')) {
      if (shape_known_ && depth != shape_.size()) wrong("its lists are not equally deep");
      shape_known_ = true;
      numbers_.push_back(read_number());
      return;
    }
    if (shape_known_ && depth >= shape_.size()) wrong("its lists are not equally deep");
    if (depth >= kDeepest) wrong(text("its lists are more than ", kDeepest, " deep"));
    if (!shape_known_) shape_.push_back(-1);
    int64_t length = 0;
    if (!take(']')) {
      do {
        read_list(depth + 1);
        ++length;
      } while (take(','));
      if (!take(']')) wrong("a ',' or ']' is missing");
    }
    shape_known_ = true;
    if (shape_[depth] >= 0 && shape_[depth] != length)
      wrong(text("a list has ", length, " elements where others have ", shape_[depth]));
    shape_[depth] = length;
  }

  Number read_number() {
    skip_spaces();
    const size_t end = std::min(source_.find_first_of(",[] \t\n", at_), source_.size());
    const std::string word = source_.substr(at_, end - at_);
    Number number;
    if (word == "true" || word == "false") {
      number = {word == "true" ? 1.0 : 0.0, word == "true", true, false};
    } else {
      char* stop = nullptr;
      number.real = std::strtod(word.c_str(), &stop);
      if (word.empty() || *stop) wrong(text("'", word, "' is not a number"));
      number.is_integer = read_whole(word, number.integer);
      if (uint64_t large = 0; !number.is_integer && read_whole(word, large)) {
        number.is_integer = number.is_large = true;
        number.integer = static_cast<int64_t>(large);
      }
    }
    at_ = end;
    return number;
  }

  template <class T>
  static bool read_whole(const std::string& word, T& integer) {
    const char* end = word.data() + word.size();
    const auto [last, error] = std::from_chars(word.data(), end, integer);
    return error == std::errc() && last == end;
  }

  void store(Tensor& tensor, int64_t i) const {
    const Number& number = numbers_[static_cast<size_t>(i)];
    if (is_float(dtype_)) return tensor.set(i, number.real);
    if (number.is_integer) tensor.set_integer(i, number.integer);
    const bool above = dtype_ == DType::u64 && number.integer < 0;
    if (!number.is_integer || tensor.integer_at(i) != number.integer || number.is_large != above)
      fail(ErrorKind::invalid_input, "the literal ", source_, ": ", number.real,
           " does not fit into ", dtype_);
  }

  const std::string& source_;
  const DType dtype_;
  size_t at_ = 0;
  Shape shape_;
  bool shape_known_ = false;  // its rank is
  std::vector<Number> numbers_;
};

}  // namespace

bool is_literal(const std::string& source) {
  if (source.empty()) return false;
  if (source[0] == '[' || source == "true" || source == "false") return true;
  char* stop = nullptr;
  std::strtod(source.c_str(), &stop);
  return stop != source.c_str() && !*stop;
}

Tensor parse_literal(const std::string& source, DType dtype) {
  if (dtype == DType::c64)
    fail(ErrorKind::unsupported, "the literal ", source, ": complex inputs must come from a file");
  return Reader(source, dtype).read();
}

}  // namespace rlx::cli
