#include "rlx/ir/text_numbers.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "rlx/base/error.h"
#include "rlx/ir/text.h"
#include "rlx/tensor/tensor.h"

namespace rlx {
namespace {

// How a floating type lies in its bits.
struct FloatBits {
  int width;
  uint64_t infinity, quiet_nan;
};
FloatBits float_bits(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {16, 0x7c00, 0x7e00};
    case DType::bf16:
      return {16, 0x7f80, 0x7fc0};
    case DType::f64:
      return {64, 0x7ff0000000000000, 0x7ff8000000000000};
    default:
      return {32, 0x7f800000, 0x7fc00000};
  }
}

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
bool save(T value, std::byte* at) {
  std::memcpy(at, &value, sizeof value);
  return true;
}

uint64_t load_bits(const std::byte* at, int width) {
  return width == 16 ? load<uint16_t>(at) : width == 32 ? load<uint32_t>(at) : load<uint64_t>(at);
}
bool save_bits(uint64_t bits, int width, std::byte* at) {
  if (width == 16) return save(static_cast<uint16_t>(bits), at);
  if (width == 32) return save(static_cast<uint32_t>(bits), at);
  return save(bits, at);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// -12.5e-3: what the readers below agree on.
bool is_decimal(std::string_view text) {
  size_t at = 0;
  const auto digits = [&] {
    const size_t start = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at > start;
  };
  if (at < text.size() && text[at] == '-') ++at;
  if (!digits()) return false;
  if (at < text.size() && text[at] == '.' && (++at, !digits())) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (!digits()) return false;
  }
  return at == text.size();
}

template <class Float>
std::optional<Float> read_decimal(std::string_view text) {
  if (!is_decimal(text)) return std::nullopt;
#ifdef __cpp_lib_to_chars
  Float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
#else  // a C library without locales
  const std::string terminated(text);
  errno = 0;
  Float value = 0;
  if constexpr (std::is_same_v<Float, float>)
    value = std::strtof(terminated.c_str(), nullptr);
  else
    value = std::strtod(terminated.c_str(), nullptr);
  if (std::isinf(value) || (value == 0 && errno == ERANGE)) return std::nullopt;
#endif
  return value;
}

// Puts digits and a power of ten down as people write them: 0.00125, 1250.0, 1.25e30.
std::string lay_out(bool negative, std::string digits, int exponent) {
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  std::string out = negative ? "-" : "";
  const int count = static_cast<int>(digits.size());
  if (exponent < -5 || exponent > 15) {
    out += digits.substr(0, 1);
    if (count > 1) out += "." + digits.substr(1);
    return out + text('e', exponent);
  }
  if (exponent < 0)
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return out + digits + std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  const size_t whole = static_cast<size_t>(exponent) + 1;
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string decimal(double value, int precision) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.*e", precision, std::fabs(value));
  std::string digits;
  const char* at = buffer;
  for (; *at != 'e'; ++at)
    if (is_digit(*at)) digits += *at;  // the point may be a locale's comma
  return lay_out(std::signbit(value), std::move(digits), std::atoi(at + 1));
}

// The fewest digits that read back.
template <class ReadsBack>
std::string shortest(double value, ReadsBack reads_back) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string found;
  for (int precision = 0; precision < std::numeric_limits<double>::max_digits10; ++precision)
    if (reads_back(found = decimal(value, precision))) break;
  return found;
}

std::string print_nan(DType dtype, uint64_t bits) {
  if (bits == float_bits(dtype).quiet_nan) return "nan";
  char buffer[24];
  std::snprintf(buffer, sizeof buffer, "nan:0x%llx", static_cast<unsigned long long>(bits));
  return buffer;
}

std::string print_float_element(DType dtype, const std::byte* at) {
  const FloatBits format = float_bits(dtype);
  const uint64_t bits = load_bits(at, format.width);
  const uint64_t magnitude = bits & ~(uint64_t{1} << (format.width - 1));
  if (magnitude > format.infinity) return print_nan(dtype, bits);
  double value = 0;
  switch (dtype) {
    case DType::f16:
      value = Half::to_float(static_cast<uint16_t>(bits));
      break;
    case DType::bf16:
      value = float_of(static_cast<uint32_t>(bits) << 16);
      break;
    case DType::f64:
      value = load<double>(at);
      break;
    default:
      value = load<float>(at);
      break;
  }
  return shortest(value, [&](const std::string& text) {
    std::byte back[8];
    return read_element(dtype, text, back) && load_bits(back, format.width) == bits;
  });
}

std::optional<uint64_t> read_unsigned(std::string_view text, int base) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool read_float_element(DType dtype, std::string_view text, std::byte* at) {
  const FloatBits format = float_bits(dtype);
  const uint64_t sign = uint64_t{1} << (format.width - 1);
  if (text == "inf") return save_bits(format.infinity, format.width, at);
  if (text == "-inf") return save_bits(format.infinity | sign, format.width, at);
  if (text == "nan") return save_bits(format.quiet_nan, format.width, at);
  if (text.substr(0, 6) == "nan:0x") {
    const std::optional<uint64_t> bits = read_unsigned(text.substr(6), 16);
    if (!bits || *bits > (sign | (sign - 1)) || (*bits & ~sign) <= format.infinity) return false;
    return save_bits(*bits, format.width, at);
  }
  if (dtype == DType::f32 || dtype == DType::c64) {
    const std::optional<float> value = read_decimal<float>(text);
    return value && save(*value, at);
  }
  const std::optional<double> value = read_decimal<double>(text);
  if (!value) return false;
  if (dtype == DType::f64) return save(*value, at);
  const Tensor rounded = Tensor::scalar(dtype, *value);
  std::memcpy(at, rounded.bytes().data(), rounded.bytes().size());
  return (load_bits(at, format.width) & ~sign) != format.infinity;  // finite text, finite number
}

template <class Integer>
bool read_integer_element(std::string_view text, std::byte* at) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && save(value, at);
}

}  // namespace

std::string print_float(double value, bool single) {
  std::byte bytes[8];
  if (!single) return save(value, bytes), print_float_element(DType::f64, bytes);
  save(static_cast<float>(value), bytes);
  return print_float_element(DType::f32, bytes);
}

std::optional<double> read_double(std::string_view text) {
  std::byte bytes[8];
  if (!read_float_element(DType::f64, text, bytes)) return std::nullopt;
  return load<double>(bytes);
}

std::optional<int64_t> read_integer(std::string_view text) {
  std::byte bytes[8];
  if (!read_integer_element<int64_t>(text, bytes)) return std::nullopt;
  return load<int64_t>(bytes);
}

std::string print_element(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::i8:
      return text(int{load<int8_t>(at)});
    case DType::u8:
      return text(int{load<uint8_t>(at)});
    case DType::i16:
      return text(load<int16_t>(at));
    case DType::u16:
      return text(load<uint16_t>(at));
    case DType::i32:
      return text(load<int32_t>(at));
    case DType::u32:
      return text(load<uint32_t>(at));
    case DType::i64:
      return text(load<int64_t>(at));
    case DType::u64:
      return text(load<uint64_t>(at));
    case DType::boolean: {
      const int value = load<uint8_t>(at);
      return value == 0 ? "false" : value == 1 ? "true" : text(value);  // a byte that is neither
    }
    default:
      break;
  }
  std::string printed = print_float_element(dtype, at);  // the type tells it from an integer
  if (printed.size() > 2 && printed.compare(printed.size() - 2, 2, ".0") == 0)
    printed.resize(printed.size() - 2);
  return printed;
}

bool read_element(DType dtype, std::string_view text, std::byte* at) {
  switch (dtype) {
    case DType::i8:
      return read_integer_element<int8_t>(text, at);
    case DType::u8:
      return read_integer_element<uint8_t>(text, at);
    case DType::i16:
      return read_integer_element<int16_t>(text, at);
    case DType::u16:
      return read_integer_element<uint16_t>(text, at);
    case DType::i32:
      return read_integer_element<int32_t>(text, at);
    case DType::u32:
      return read_integer_element<uint32_t>(text, at);
    case DType::i64:
      return read_integer_element<int64_t>(text, at);
    case DType::u64:
      return read_integer_element<uint64_t>(text, at);
    case DType::boolean:
      if (text == "true" || text == "false") return save(static_cast<uint8_t>(text == "true"), at);
      return read_integer_element<uint8_t>(text, at);
    default:
      return read_float_element(dtype, text, at);
  }
}

}  // namespace rlx
