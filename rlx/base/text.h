#pragma once

#include <sstream>
#include <string>

namespace rlx {

// A string being written, the same in every locale. Not inline: every message makes one.
class TextStream {
 public:
  TextStream();
  ~TextStream();
  TextStream(const TextStream&) = delete;
  TextStream& operator=(const TextStream&) = delete;

  std::ostream& out() { return out_; }
  std::string str() const;

 private:
  std::ostringstream out_;
};

// text("axis ", 3, " of ", type) concatenates anything printable.
template <class... Parts>
std::string text(const Parts&... parts) {
  TextStream stream;
  (stream.out() << ... << parts);
  return stream.str();
}

// "a, b, c"
template <class Range>
std::string joined(const Range& range, const char* separator = ", ") {
  TextStream stream;
  bool first = true;
  for (const auto& item : range) {
    if (!first) stream.out() << separator;
    stream.out() << item;
    first = false;
  }
  return stream.str();
}

}  // namespace rlx
