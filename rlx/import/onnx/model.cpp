#include "rlx/import/onnx/model.h"

#include <algorithm>

#include "rlx/base/error.h"
#include "rlx/tensor/strings.h"

namespace rlx::onnx {
namespace {

struct ElemType {
  int number;
  const char* name;
  std::optional<DType> dtype;
};
constexpr ElemType kElemTypes[] = {
    {1, "float", DType::f32},      {2, "uint8", DType::u8},       {3, "int8", DType::i8},
    {4, "uint16", DType::u16},     {5, "int16", DType::i16},      {6, "int32", DType::i32},
    {7, "int64", DType::i64},      {kStringType, "string", {}},   {9, "bool", DType::boolean},
    {10, "float16", DType::f16},   {11, "double", DType::f64},    {12, "uint32", DType::u32},
    {13, "uint64", DType::u64},    {14, "complex64", DType::c64}, {15, "complex128", {}},
    {16, "bfloat16", DType::bf16},
};

}  // namespace

const Attribute* Node::find(std::string_view wanted) const {
  for (const Attribute& attribute : attributes)
    if (attribute.name == wanted) return &attribute;
  return nullptr;
}

std::optional<DType> dtype_of(int elem_type) {
  for (const ElemType& type : kElemTypes)
    if (type.number == elem_type) return type.dtype;
  return std::nullopt;
}

std::string elem_type_name(int elem_type) {
  for (const ElemType& type : kElemTypes)
    if (type.number == elem_type) return type.name;
  return "type " + std::to_string(elem_type);
}

Tensor padded_strings(const std::string& name, const Shape& shape,
                      const std::vector<std::string>& strings) {
  constexpr size_t kMostPadding = 64;
  size_t bytes = 0, longest = 0;
  for (const std::string& string : strings) {
    bytes += string.size() + 1;
    longest = std::max(longest, string.size());
  }
  if (longest * strings.size() > kMostPadding * bytes)
    fail(ErrorKind::limit, "tensor '", name, "': its ", strings.size(),
         " strings would all be as long as the longest, ", longest, " bytes, which is more than ",
         kMostPadding, " times what they are");
  return tensor_of_strings(shape, strings);
}

}  // namespace rlx::onnx
