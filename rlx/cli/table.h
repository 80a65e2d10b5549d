// Rows of text in columns that line up.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace rlx::cli {

struct Table {
  std::vector<std::string> header;
  std::string align;  // by column: l or r; those beyond it are l
  std::vector<std::vector<std::string>> rows = {};

  void print(std::ostream& out, const std::string& indent = "  ") const;
};

// 1234567 as 1.2 MB.
std::string bytes_text(int64_t bytes);
// 0.0123 s as 12.3 ms; a negative time was not measured.
std::string time_text(double microseconds);
// Four significant digits, NaN and infinities by name.
std::string short_number(double value);

}  // namespace rlx::cli
