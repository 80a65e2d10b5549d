#include "rlx/ir/text_scan.h"

#include <algorithm>
#include <charconv>

namespace rlx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word_part(char c) { return is_letter(c) || is_digit(c) || c == '.'; }
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string_view leading_word(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return {};
  return text.substr(
      0,
      static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_word_part) - text.begin()));
}

// The bytes of the UTF-8 character that `text` starts with; 0 when it starts with none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if (!is_continuation(text[i])) return 0;
  const unsigned second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second > 0x9f;
  const bool beyond = first == 0xf4 && second > 0x8f;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

size_t Scanner::position() {
  while (at_ < source_.size()) {
    const char c = source_[at_];
    if (c == '#')
      at_ = std::min(source_.find('\n', at_), source_.size());
    else if (c == ' ' || c == '\t' || c == '\r')
      ++at_;
    else
      break;
  }
  return at_;
}

bool Scanner::at_end() { return position() == source_.size(); }
bool Scanner::at_line_end() { return at_end() || source_[at_] == '\n'; }
void Scanner::skip_lines() {
  while (!at_end() && source_[at_] == '\n') ++at_;
}

bool Scanner::next_is(char c) { return !at_end() && source_[at_] == c; }

bool Scanner::accept(std::string_view characters) {
  if (source_.substr(position(), characters.size()) != characters) return false;
  at_ += characters.size();
  return true;
}

void Scanner::expect(std::string_view characters) {
  if (!accept(characters)) fail_here("expected '", characters, "', found ", found());
}

std::string_view Scanner::peek_word() { return leading_word(source_.substr(position())); }

bool Scanner::accept_word(std::string_view word) {
  if (peek_word() != word) return false;
  at_ += word.size();
  return true;
}

std::string Scanner::name(const char* what) {
  if (next_is('"')) return string(what);
  const std::string_view word = peek_word();
  if (word.empty()) fail_here("expected ", what, ", found ", found());
  at_ += word.size();
  return std::string(word);
}

char Scanner::escaped() {
  const size_t start = at_ - 1;  // the backslash
  const char c = at_ < source_.size() ? source_[at_++] : '\n';
  switch (c) {
    case '"':
    case '\\':
      return c;
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'x': {
      const int high = at_ < source_.size() ? hex_value(source_[at_]) : -1;
      const int low = at_ + 1 < source_.size() ? hex_value(source_[at_ + 1]) : -1;
      if (high < 0 || low < 0) fail_at(start, "expected two hexadecimal digits after \\x");
      at_ += 2;
      return static_cast<char>(high * 16 + low);
    }
    default:
      fail_at(start, "a backslash is followed by ", quoted({&c, 1}),
              R"(; the escapes are \" \\ \n \t \xNN)");
  }
}

std::string Scanner::string(const char* what) {
  const size_t start = position();
  if (!accept("\"")) fail_here("expected ", what, " in quotes, found ", found());
  std::string contents;
  while (true) {
    if (at_ == source_.size() || source_[at_] == '\n')
      fail_at(start, "the string is not closed before the end of the line");
    const char c = source_[at_++];
    if (c == '"') return contents;
    contents += c == '\\' ? escaped() : c;
  }
}

uint64_t Scanner::digits(const char* what) {
  const size_t start = position();
  uint64_t value = 0;
  const char* end = source_.data() + source_.size();
  const auto [stop, error] = std::from_chars(source_.data() + start, end, value);
  if (error == std::errc::result_out_of_range) fail_at(start, what, " does not fit 64 bits");
  if (error != std::errc()) fail_at(start, "expected ", what, ", found ", found());
  at_ = static_cast<size_t>(stop - source_.data());
  return value;
}

int64_t Scanner::integer(const char* what) {
  const size_t start = position();
  const bool negative = accept("-");
  const uint64_t magnitude = digits(what);
  const uint64_t limit = static_cast<uint64_t>(INT64_MAX) + negative;
  if (magnitude > limit) fail_at(start, what, " does not fit 64 bits");
  return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
}

std::string_view Scanner::peek_number() {
  const std::string_view rest = source_.substr(position());
  size_t size = 0;
  while (size < rest.size() &&
         (is_word_part(rest[size]) || rest[size] == '-' || rest[size] == '+' || rest[size] == ':'))
    ++size;
  return rest.substr(0, size);
}

std::string Scanner::found() {
  if (at_end()) return "the end of the text";
  if (at_line_end()) return "the end of the line";
  constexpr size_t kLongest = 40;
  const std::string_view rest = source_.substr(at_);
  const auto is_part = [](char c) { return is_word_part(c) || c == '-'; };
  const auto begin = rest.begin() + (rest[0] == '%' || rest[0] == '@');
  std::string_view seen = rest.substr(
      0, static_cast<size_t>(std::find_if_not(begin, rest.end(), is_part) - rest.begin()));
  if (seen.empty()) seen = rest.substr(0, std::max<size_t>(utf8_length(rest), 1));
  if (seen.size() > kLongest) return text('\'', seen.substr(0, kLongest), "...'");
  return seen[0] == '"'                    ? "a string"
         : is_utf8(seen) && seen[0] >= ' ' ? text('\'', seen, '\'')
                                           : quoted(seen);
}

std::string Scanner::place(size_t position) const {
  const std::string_view before = source_.substr(0, position);
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto column = 1 + std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line_start),
                                        before.end(), [](char c) { return !is_continuation(c); });
  return text(file_, file_.empty() ? "" : ":", line, ':', column, ": ");
}

std::string quoted(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const unsigned char c = static_cast<unsigned char>(text[0]);
    if (c == '"' || c == '\\')
      out += {'\\', text[0]};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (length == 0 || c < 0x20 || c == 0x7f)
      out += {'\\', 'x', kHex[c >> 4], kHex[c & 15]};
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out + '"';
}

std::string printed_name(std::string_view name) {
  const bool taken = name == "_" || name == "from";  // have a meaning of their own beside names
  return !name.empty() && !taken && leading_word(name) == name ? std::string(name) : quoted(name);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace rlx
