#include "rlx/cli/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "rlx/base/text.h"

namespace rlx::cli {
namespace {

// Of what a terminal shows: the bytes that continue a UTF-8 character take no room.
size_t width_of(const std::string& cell) {
  return static_cast<size_t>(std::count_if(cell.begin(), cell.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string scaled(double value, const char* unit) {
  char buffer[48];
  const int digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  std::snprintf(buffer, sizeof buffer, "%.*f %s", digits, value, unit);
  return buffer;
}

}  // namespace

void Table::print(std::ostream& out, const std::string& indent) const {
  std::vector<size_t> widths;
  const auto measure = [&](const std::vector<std::string>& row) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  };
  const auto write = [&](const std::vector<std::string>& row) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - width_of(row[c]), ' ');
      const bool right = c < align.size() && align[c] == 'r';
      line += (c ? "  " : indent) + (right ? padding + row[c] : row[c] + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  };
  if (!header.empty()) measure(header);
  for (const auto& row : rows) measure(row);
  if (!header.empty()) write(header);
  for (const auto& row : rows) write(row);
}

std::string bytes_text(int64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (bytes < 1000) return text(bytes, " B");
  if (value < 1e6) return scaled(value / 1e3, "kB");
  if (value < 1e9) return scaled(value / 1e6, "MB");
  return scaled(value / 1e9, "GB");
}

std::string time_text(double microseconds) {
  if (microseconds < 0) return "-";
  if (microseconds < 1e3) return scaled(microseconds, "us");
  if (microseconds < 1e6) return scaled(microseconds / 1e3, "ms");
  return scaled(microseconds / 1e6, "s");
}

std::string short_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Inf" : "-Inf";
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.4g", value);
  return buffer;
}

}  // namespace rlx::cli
