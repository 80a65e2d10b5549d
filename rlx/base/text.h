#pragma once

#include <sstream>
#include <string>

namespace rlx {

// text("axis ", 3, " of ", type) concatenates anything printable.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// "a, b, c"
template <class Range>
std::string joined(const Range& range, const char* separator = ", ") {
  std::ostringstream out;
  bool first = true;
  for (const auto& item : range) {
    if (!first) out << separator;
    out << item;
    first = false;
  }
  return out.str();
}

}  // namespace rlx
