#pragma once

#include <locale>
#include <sstream>
#include <string>

namespace rlx {

// text("axis ", 3, " of ", type) concatenates anything printable, the same in every locale.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return out.str();
}

// "a, b, c"
template <class Range>
std::string joined(const Range& range, const char* separator = ", ") {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  bool first = true;
  for (const auto& item : range) {
    if (!first) out << separator;
    out << item;
    first = false;
  }
  return out.str();
}

}  // namespace rlx
