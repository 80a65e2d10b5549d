#include "rlx/cli/tensor_print.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "rlx/cli/complex.h"
#include "rlx/cli/table.h"
#include "rlx/import/npy.h"
#include "rlx/ir/text.h"

namespace rlx::cli {
namespace {

constexpr int64_t kShown = 6;  // first values in a table

// Of the numbers that are; a tensor may have none. Complex ones have no order.
struct Statistics {
  double min = INFINITY, max = -INFINITY, sum = 0;
  int64_t count = 0, not_a_number = 0;
};
Statistics statistics(const Tensor& tensor) {
  Statistics found;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const std::complex<double> element = complex_at(tensor, i);
    const double value = element.real();
    if (std::isnan(value) || std::isnan(element.imag())) {
      ++found.not_a_number;
      continue;
    }
    if (tensor.dtype() == DType::c64) continue;
    found.min = std::min(found.min, value);
    found.max = std::max(found.max, value);
    found.sum += value;
    ++found.count;
  }
  return found;
}

nlohmann::ordered_json float_json(double value, bool single) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  // The double nearest to a float's shortest text prints as that text.
  return single ? std::strtod(print_float(value, true).c_str(), nullptr) : value;
}

nlohmann::ordered_json element_json(const Tensor& tensor, int64_t i) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::boolean) return tensor.integer_at(i) != 0;
  if (dtype == DType::u64) return static_cast<uint64_t>(tensor.integer_at(i));
  if (is_integer(dtype)) return tensor.integer_at(i);
  if (dtype == DType::c64) {
    const std::complex<double> value = complex_at(tensor, i);
    return nlohmann::ordered_json::array(
        {float_json(value.real(), true), float_json(value.imag(), true)});
  }
  return float_json(tensor.at(i), dtype != DType::f64);
}

std::string float_text(double value, bool single) {
  return std::isfinite(value) ? print_float(value, single) : short_number(value);
}

}  // namespace

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string element_text(const Tensor& tensor, int64_t i) {
  if (!is_float(tensor.dtype()) && tensor.dtype() != DType::c64)
    return element_json(tensor, i).dump();
  if (tensor.dtype() == DType::c64) {
    const std::complex<double> value = complex_at(tensor, i);
    const std::string imaginary = float_text(value.imag(), true);
    return text(float_text(value.real(), true), imaginary[0] == '-' ? "" : "+", imaginary, 'i');
  }
  return float_text(tensor.at(i), tensor.dtype() != DType::f64);
}

std::string first_elements(const Tensor& tensor, int64_t most) {
  std::vector<std::string> shown;
  for (int64_t i = 0; i < std::min(tensor.count(), most); ++i)
    shown.push_back(is_float(tensor.dtype()) ? short_number(tensor.at(i))
                                             : element_text(tensor, i));
  if (tensor.count() > most) shown.emplace_back("...");
  return joined(shown, " ");
}

void print_tensors(const std::vector<NamedTensor>& tensors, std::ostream& out) {
  Table table{{"output", "type", "min", "max", "mean", "first values"}, "llrrr"};
  for (const auto& [name, tensor] : tensors) {
    const Statistics found = statistics(tensor);
    const bool any = found.count > 0;
    std::string first = first_elements(tensor, kShown);
    if (found.not_a_number > 0) first += text("  (", found.not_a_number, " NaN)");
    table.rows.push_back({name, text(tensor.type()), any ? short_number(found.min) : "-",
                          any ? short_number(found.max) : "-",
                          any ? short_number(found.sum / static_cast<double>(found.count)) : "-",
                          first});
  }
  table.print(out, "");
}

nlohmann::ordered_json tensors_json(const std::vector<NamedTensor>& tensors) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, tensor] : tensors) {
    nlohmann::ordered_json values = nlohmann::ordered_json::array();
    for (int64_t i = 0; i < tensor.count(); ++i) values.push_back(element_json(tensor, i));
    json[name] = {{"dtype", std::string(rlx::name(tensor.dtype()))},
                  {"shape", static_cast<const std::vector<int64_t>&>(tensor.shape())},
                  {"values", std::move(values)}};
  }
  return json;
}

std::string save_tensor(const std::string& folder, const std::string& name, const Tensor& tensor,
                        std::set<std::string>& taken) {
  std::string file = name;
  for (char& c : file)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.') c = '_';
  if (file.empty() || file[0] == '.') file = "_" + file;
  const std::string plain = file;
  for (int number = 2; !taken.insert(file).second; ++number) file = text(plain, '_', number);
  file += ".npy";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ErrorKind::io, "cannot make the folder ", folder, ": ", error.message());
  save_npy((std::filesystem::path(folder) / file).string(), tensor);
  return file;
}

}  // namespace rlx::cli
