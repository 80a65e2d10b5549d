#include "rlx/import/onnx/tensor_reader.h"

#include <algorithm>
#include <limits>

namespace rlx::onnx {

// A tensor's message before its elements are put together.
struct TensorReader::Raw {
  TensorData data;
  size_t offset = 0;
  int elem_type = 0;
  std::vector<int64_t> dims;
  std::optional<data_view> raw;
  std::vector<double> reals;      // float_data, double_data
  std::vector<int64_t> integers;  // int32_data, int64_data, uint64_data
  std::vector<std::string> strings;
  std::map<std::string, std::string> external;
  bool is_external = false;
};

TensorData TensorReader::tensor(pbf_reader message) {
  Raw raw;
  raw.offset = wire_.offset_of(message);
  wire_.fields(message, [&](pbf_reader& in) { tensor_field(in, raw); });
  return assemble(raw);
}

void TensorReader::tensor_field(pbf_reader& in, Raw& raw) {
  switch (in.tag()) {
    case 1:
      Wire::int64s(in, raw.dims);
      break;
    case 2:
      raw.elem_type = in.get_int32();
      break;
    case 4:
      Wire::numbers(
          in, [](pbf_reader& r) { return r.get_packed_float(); },
          [](pbf_reader& r) { return r.get_float(); }, raw.reals);
      break;
    case 5:
      Wire::numbers(
          in, [](pbf_reader& r) { return r.get_packed_int32(); },
          [](pbf_reader& r) { return r.get_int32(); }, raw.integers);
      break;
    case 6:
      raw.strings.push_back(in.get_string());
      break;
    case 7:
      Wire::int64s(in, raw.integers);
      break;
    case 8:
      raw.data.name = in.get_string();
      break;
    case 9:
      raw.raw = in.get_view();
      break;
    case 10:
      Wire::numbers(
          in, [](pbf_reader& r) { return r.get_packed_double(); },
          [](pbf_reader& r) { return r.get_double(); }, raw.reals);
      break;
    case 11:
      Wire::numbers(
          in, [](pbf_reader& r) { return r.get_packed_uint64(); },
          [](pbf_reader& r) { return r.get_uint64(); }, raw.integers);
      break;
    case 13:
      entry(in.get_message(), raw.external);
      break;
    case 14:
      raw.is_external = in.get_enum() == 1;
      break;
    default:
      in.skip();
  }
}

void TensorReader::entry(pbf_reader message, std::map<std::string, std::string>& entries) {
  std::string key, value;
  wire_.fields(message, [&](pbf_reader& in) {
    if (in.tag() == 1)
      key = in.get_string();
    else if (in.tag() == 2)
      value = in.get_string();
    else
      in.skip();
  });
  entries[key] = value;
}

SparseTensor TensorReader::sparse(pbf_reader message) {
  SparseTensor sparse;
  wire_.fields(message, [&](pbf_reader& in) {
    if (in.tag() == 1)
      sparse.values = tensor(in.get_message());
    else if (in.tag() == 2)
      sparse.indices = tensor(in.get_message());
    else if (in.tag() == 3)
      Wire::int64s(in, static_cast<std::vector<int64_t>&>(sparse.shape));
    else
      in.skip();
  });
  return sparse;
}

// The shape and how many elements it has; both are the file's word, so nothing may overflow.
int64_t TensorReader::count_of(const Raw& raw) const {
  int64_t count = 1;
  for (const int64_t dim : raw.dims) {
    if (dim < 0) wire_.fail_at(raw.offset, "tensor '", raw.data.name, "' has a dim of ", dim);
    if (dim != 0 && count > std::numeric_limits<int64_t>::max() / 16 / dim)
      wire_.fail_at(raw.offset, "tensor '", raw.data.name,
                    "' has more elements than can be counted");
    count *= dim;
  }
  return count;
}

TensorData TensorReader::assemble(Raw& raw) {
  TensorData data = std::move(raw.data);
  raw.data.name = data.name;
  const int64_t count = count_of(raw);
  data.shape = Shape(raw.dims.begin(), raw.dims.end());
  if (raw.elem_type == kStringType) {
    data.is_string = true;
    if (static_cast<int64_t>(raw.strings.size()) != count)
      wire_.fail_at(raw.offset, "tensor '", data.name, "' of ", count, " strings has ",
                    raw.strings.size());
    data.tensor = padded_strings(data.name, data.shape, raw.strings);
    return data;
  }
  const std::optional<DType> dtype = dtype_of(raw.elem_type);
  if (!dtype)
    fail(ErrorKind::unsupported, wire_.source(), ": tensor '", data.name, "' is of ",
         elem_type_name(raw.elem_type), ", which rlx has no tensors of");
  if (raw.is_external) {
    data.tensor = external(raw, *dtype, count);
  } else if (raw.raw) {
    data.tensor = of_bytes(raw, *dtype, count,
                           {reinterpret_cast<const std::byte*>(raw.raw->data()), raw.raw->size()},
                           keep_alive_);
  } else {
    data.tensor = of_numbers(raw, *dtype, count);
  }
  return data;
}

Tensor TensorReader::of_bytes(const Raw& raw, DType dtype, int64_t count,
                              std::span<const std::byte> bytes, const Keep& owner) const {
  const auto needed = static_cast<size_t>(count) * static_cast<size_t>(bytes_of(dtype));
  if (bytes.size() != needed)
    wire_.fail_at(raw.offset, "tensor '", raw.data.name, "' needs ", needed,
                  " bytes, the file has ", bytes.size());
  const Shape shape(raw.dims.begin(), raw.dims.end());
  return needed > 0 ? Tensor::view(dtype, shape, bytes, owner) : Tensor(dtype, shape);
}

// 16-bit floats come as their bits in int32_data; complex numbers as two floats.
Tensor TensorReader::of_numbers(const Raw& raw, DType dtype, int64_t count) const {
  const bool real = dtype == DType::f32 || dtype == DType::f64 || dtype == DType::c64;
  const auto found = static_cast<int64_t>(real ? raw.reals.size() : raw.integers.size());
  const int64_t wanted = dtype == DType::c64 ? 2 * count : count;
  if (found != wanted)
    wire_.fail_at(raw.offset, "tensor '", raw.data.name, "' needs ", wanted,
                  " numbers, the file has ", found);
  Tensor tensor(dtype, Shape(raw.dims.begin(), raw.dims.end()));
  if (count == 0) return tensor;
  if (dtype == DType::c64) {
    auto* parts = reinterpret_cast<float*>(tensor.mutable_bytes().data());
    for (size_t i = 0; i < raw.reals.size(); ++i) parts[i] = static_cast<float>(raw.reals[i]);
  } else if (dtype == DType::f16 || dtype == DType::bf16) {
    auto* bits = reinterpret_cast<uint16_t*>(tensor.mutable_bytes().data());
    for (size_t i = 0; i < raw.integers.size(); ++i)
      bits[i] = static_cast<uint16_t>(raw.integers[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      if (real)
        tensor.set(i, raw.reals[static_cast<size_t>(i)]);
      else
        tensor.set_integer(i, raw.integers[static_cast<size_t>(i)]);
    }
  }
  return tensor;
}

int64_t TensorReader::number_in(const Raw& raw, const char* key, int64_t otherwise) const {
  const auto found = raw.external.find(key);
  if (found == raw.external.end()) return otherwise;
  const std::string& digits = found->second;
  const bool number =
      !digits.empty() && digits.size() < 19 &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!number)
    wire_.fail_at(raw.offset, "tensor '", raw.data.name, "': the ", key,
                  " of its external data is '", digits, "'");
  return std::stoll(digits);
}

int64_t TensorReader::external_bytes() const {
  int64_t bytes = 0;
  for (const auto& [location, file] : files_)
    if (file) bytes += static_cast<int64_t>(file->bytes().size());
  return bytes;
}

Tensor TensorReader::external(const Raw& raw, DType dtype, int64_t count) {
  const auto found = raw.external.find("location");
  const std::string location = found == raw.external.end() ? "" : found->second;
  if (location.empty() || folder_.empty())
    wire_.fail_at(raw.offset, "tensor '", raw.data.name, "' has its data in '", location,
                  folder_.empty() ? "', and there is no folder to look in"
                                  : "', which is not a file beside the model");
  auto& file = files_[location];
  try {
    if (!file) file = MappedFile::open_inside(folder_, location, options_);
  } catch (Error& error) {
    error.add_note(text("tensor '", raw.data.name, "' has its data there"));
    throw;
  }
  const int64_t bytes = count * bytes_of(dtype), all = static_cast<int64_t>(file->bytes().size());
  const int64_t offset = number_in(raw, "offset", 0);
  const int64_t length = number_in(raw, "length", bytes);
  if (offset > all || length > all - offset)
    wire_.fail_at(raw.offset, "tensor '", raw.data.name, "' has bytes ", offset, " to ",
                  offset + length, " of ", location, ", which has ", all);
  return of_bytes(raw, dtype, count,
                  file->bytes().subspan(static_cast<size_t>(offset), static_cast<size_t>(length)),
                  file);
}

}  // namespace rlx::onnx
