// What is written for a person to read. Names come from files, and a terminal does what their
// control characters say: they are shown as \xNN instead, wherever output goes.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace rlx::cli {

// Passes bytes on to another buffer, control characters but line ends and tabs as \xNN.
class PrintableBuffer : public std::streambuf {
 public:
  explicit PrintableBuffer(std::streambuf& to) : to_(to) {}

  bool write_raw(std::string_view bytes);

 protected:
  int_type overflow(int_type byte) override;
  std::streamsize xsputn(const char* bytes, std::streamsize count) override;
  int sync() override;

 private:
  bool put(unsigned char byte);
  bool finish_pair(unsigned char byte);

  std::streambuf& to_;
  bool half_ = false;  // of the two bytes that a control character of Unicode may have
};

// Writes what the program itself tells the terminal.
void write_raw(std::ostream& out, std::string_view bytes);

// Text that is bold where the output is a terminal.
struct Bold {
  std::string text;
  bool on = false;
};
std::ostream& operator<<(std::ostream& out, const Bold& bold);

}  // namespace rlx::cli
