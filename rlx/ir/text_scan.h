// A place in the text of a graph: takes words, strings and numbers off it, and says where one is
// wrong. Spaces and comments are skipped before anything is looked at; the end of a line is not.
#pragma once

#include <string>
#include <string_view>

#include "rlx/base/error.h"

namespace rlx {

class Scanner {
 public:
  Scanner(std::string_view source, std::string file) : source_(source), file_(std::move(file)) {}

  size_t position();  // of what comes next
  bool at_end();
  bool at_line_end();
  void skip_lines();  // to the next line that has something

  bool next_is(char c);
  bool accept(std::string_view characters);
  void expect(std::string_view characters);

  // Letters, digits, '_' and '.'; empty when what comes next does not start one.
  std::string_view peek_word();
  bool accept_word(std::string_view word);
  std::string name(const char* what);    // a word, or a string
  std::string string(const char* what);  // "..." without its quotes and escapes
  uint64_t digits(const char* what);
  int64_t integer(const char* what);
  std::string_view peek_number();  // all that may be part of one, inf and nan included
  void skip(std::string_view seen) { at_ += seen.size(); }

  std::string found();  // what comes next, for messages

  template <class... Parts>
  [[noreturn]] void fail_at(size_t position, const Parts&... parts) const {
    fail(ErrorKind::invalid_model, place(position), parts...);
  }
  template <class... Parts>
  [[noreturn]] void fail_here(const Parts&... parts) {
    fail_at(position(), parts...);
  }
  // Does something that may fail for reasons that do not know the text. What the system refuses
  // is no fault of the text's, and stays the kind of error it is.
  template <class Action>
  auto located(size_t position, Action action) const {
    try {
      return action();
    } catch (const Error& error) {
      const bool refused =
          error.kind() == ErrorKind::io || error.kind() == ErrorKind::out_of_memory;
      fail(refused ? error.kind() : ErrorKind::invalid_model, place(position), error.what());
    }
  }

 private:
  std::string place(size_t position) const;  // "file:line:column: "
  char escaped();

  std::string_view source_;
  std::string file_;
  size_t at_ = 0;
};

// The other way: with quotes and escapes. UTF-8 stays as it is, a byte that is none becomes \xNN.
std::string quoted(std::string_view text);
// As Scanner::name() reads it.
std::string printed_name(std::string_view name);
bool is_utf8(std::string_view text);

}  // namespace rlx
