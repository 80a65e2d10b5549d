#include "rlx/tensor/blocks/format.h"

#include <limits>

#include "rlx/base/error.h"
#include "rlx/base/text.h"
#include "rlx/tensor/blocks/families.h"

namespace rlx {
namespace {

constexpr int64_t kOpenBlock = 32;  // where a format leaves it open and nobody says

std::vector<BlockFormat> all_formats(int64_t block) {
  std::vector<BlockFormat> all;
  for (auto&& family :
       {blocks::integer_formats(block), blocks::small_float_formats(), blocks::plain_formats(),
        blocks::super_formats(), blocks::ternary_formats()})
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

int64_t last_of(const Tensor& tensor, const char* what) {
  require(!tensor.shape().empty(), what, " is ", tensor.type(), ", it needs rows");
  return tensor.shape().back();
}

}  // namespace

int64_t BlockFormat::row_bytes(int64_t row_elements) const {
  require(row_elements >= 0 && row_elements % elements == 0, name, ": a row of ", row_elements,
          " elements is no whole number of blocks of ", elements);
  return row_elements / elements * bytes;
}

int64_t BlockFormat::row_elements(int64_t bytes_of_row) const {
  require(bytes_of_row >= 0 && bytes_of_row % bytes == 0, name, ": a row of ", bytes_of_row,
          " bytes is no whole number of blocks of ", bytes, " bytes (", elements, " elements)");
  return bytes_of_row / bytes * elements;
}

BlockFormat block_format(std::string_view name, int64_t block) {
  constexpr int64_t kMost = 1 << 20;
  require(block >= 0 && block <= kMost && block % 8 == 0, name, ": a block of ", block,
          " elements; it needs a multiple of 8, at most ", kMost);
  for (const BlockFormat& format : all_formats(block == 0 ? kOpenBlock : block)) {
    if (format.name != name) continue;
    require(block == 0 || format.elements == block, name, ": a block has ", format.elements,
            " elements, not ", block);
    return format;
  }
  std::string names;
  for (const BlockFormat& format : all_formats(kOpenBlock)) names += text(' ', format.name);
  fail(ErrorKind::invalid_input, "there is no block format '", name, "'; there are", names);
}

std::vector<BlockFormat> block_formats() { return all_formats(kOpenBlock); }

Tensor encode_blocks(const Tensor& values, const BlockFormat& format) {
  require(is_float(values.dtype()), format.name, ": encodes floats, not ", values.type());
  const int64_t elements = last_of(values, "what is encoded");
  Shape shape = values.shape();
  shape.back() = format.row_bytes(elements);
  Tensor result(DType::u8, shape);
  uint8_t* to = result.mutable_data<uint8_t>().data();
  std::vector<float> block(static_cast<size_t>(format.elements));
  for (int64_t at = 0; at < values.count(); to += format.bytes) {
    for (float& value : block) value = static_cast<float>(values.at(at++));
    std::memset(to, 0, static_cast<size_t>(format.bytes));
    format.encode(format, block.data(), to);
  }
  return result;
}

Tensor decode_blocks(const Tensor& bytes, const BlockFormat& format) {
  require(bytes.dtype() == DType::u8, format.name, ": blocks are u8, not ", bytes.type());
  Shape shape = bytes.shape();
  shape.back() = format.row_elements(last_of(bytes, "what is decoded"));
  Tensor result(DType::f32, shape);
  const uint8_t* from = bytes.data<uint8_t>().data();
  float* to = result.mutable_data<float>().data();
  for (int64_t at = 0; at < bytes.count(); at += format.bytes, to += format.elements)
    format.decode(format, from + at, to);
  return result;
}

float tensor_scale(const Tensor& values, const BlockFormat& format) {
  if (format.largest == 0) return 1;
  float most = 0;
  for (const float value : values.data<float>())
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  return most > 0 ? std::max(most / format.largest, std::numeric_limits<float>::min()) : 1;
}

}  // namespace rlx
