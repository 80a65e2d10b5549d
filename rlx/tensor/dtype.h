// The element types, and what the compiler needs to know of each.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string_view>

namespace rlx {

enum class DType : uint8_t {
  f32,
  f16,
  bf16,
  f64,
  c64,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  boolean,
};

enum class DTypeClass : uint8_t { floating, signed_integer, unsigned_integer, boolean, complex };

struct DTypeInfo {
  std::string_view name;
  int64_t bytes;
  DTypeClass dtype_class;
  double epsilon;  // spacing of numbers at 1; 0 for exact types
};

const DTypeInfo& info(DType dtype);
std::span<const DType> all_dtypes();
std::optional<DType> dtype_named(std::string_view name);

inline std::string_view name(DType dtype) { return info(dtype).name; }
inline int64_t bytes_of(DType dtype) { return info(dtype).bytes; }
inline bool is_float(DType dtype) { return info(dtype).dtype_class == DTypeClass::floating; }
inline bool is_integer(DType dtype) {
  const DTypeClass c = info(dtype).dtype_class;
  return c == DTypeClass::signed_integer || c == DTypeClass::unsigned_integer;
}
inline bool is_signed_integer(DType dtype) {
  return info(dtype).dtype_class == DTypeClass::signed_integer;
}

std::ostream& operator<<(std::ostream& out, DType dtype);

}  // namespace rlx
