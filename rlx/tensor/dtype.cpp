#include "rlx/tensor/dtype.h"

#include <array>
#include <ostream>

namespace rlx {
namespace {

using C = DTypeClass;
// In the order of the enumeration.
constexpr DTypeInfo kInfos[] = {
    {"f32", 4, C::floating, 0x1p-23},   {"f16", 2, C::floating, 0x1p-10},
    {"bf16", 2, C::floating, 0x1p-7},   {"f64", 8, C::floating, 0x1p-52},
    {"c64", 8, C::complex, 0x1p-23},    {"i8", 1, C::signed_integer, 0},
    {"u8", 1, C::unsigned_integer, 0},  {"i16", 2, C::signed_integer, 0},
    {"u16", 2, C::unsigned_integer, 0}, {"i32", 4, C::signed_integer, 0},
    {"u32", 4, C::unsigned_integer, 0}, {"i64", 8, C::signed_integer, 0},
    {"u64", 8, C::unsigned_integer, 0}, {"bool", 1, C::boolean, 0},
};

constexpr auto kAll = [] {
  std::array<DType, std::size(kInfos)> all{};
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<DType>(i);
  return all;
}();

}  // namespace

const DTypeInfo& info(DType dtype) { return kInfos[static_cast<size_t>(dtype)]; }

std::span<const DType> all_dtypes() { return kAll; }

std::optional<DType> dtype_named(std::string_view name) {
  for (const DType dtype : kAll)
    if (info(dtype).name == name) return dtype;
  return std::nullopt;
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name(dtype); }

}  // namespace rlx
