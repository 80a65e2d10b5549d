// The fields of a protocol-buffer message, read with protozero; what is wrong with them is an Error
// that names the byte.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "rlx/base/error.h"

// protozero asserts that a field is of the type it is read as; in a file from anywhere it may not
// be. Every file that reads messages does so through this header, so that all have the same.
namespace rlx::onnx {
struct WrongField : std::runtime_error {
  WrongField() : std::runtime_error("it is not of the type it should be") {}
};
}  // namespace rlx::onnx
#define protozero_assert(right) ((right) ? void() : throw rlx::onnx::WrongField())
#include <protozero/pbf_reader.hpp>

namespace rlx::onnx {

using protozero::data_view;
using protozero::pbf_reader;

class Wire {
 public:
  Wire(std::span<const std::byte> bytes, std::string source)
      : bytes_(bytes), source_(std::move(source)) {}

  const std::string& source() const { return source_; }
  size_t size() const { return bytes_.size(); }

  template <class... Parts>
  [[noreturn]] void fail_at(size_t offset, const Parts&... parts) const {
    fail(ErrorKind::invalid_model, source_, ": byte ", offset, ": ", parts...);
  }

  pbf_reader whole() const {
    return pbf_reader(data_view(reinterpret_cast<const char*>(bytes_.data()), bytes_.size()));
  }
  size_t offset_of(const char* at) const {
    return static_cast<size_t>(at - reinterpret_cast<const char*>(bytes_.data()));
  }
  size_t offset_of(const pbf_reader& in) const { return offset_of(in.data().data()); }

  // Calls `each` for every field; what is wrong with a field is told with the byte it begins at.
  template <class Each>
  void fields(pbf_reader in, const Each& each) const {
    size_t at = offset_of(in);
    try {
      while (in.next()) {
        check_length(in);
        each(in);
        at = offset_of(in);
      }
    } catch (const protozero::exception& error) {
      fail_at(at, "the field that begins here is damaged: ", error.what());
    } catch (const WrongField& error) {
      fail_at(at, "the field that begins here is damaged: ", error.what());
    }
  }

  // protozero takes a length for one of 32 bits: one of 2^63 would be 0, and what follows another
  // message. To be asked after each next().
  static void check_length(const pbf_reader& in) {
    if (in.wire_type() != protozero::pbf_wire_type::length_delimited) return;
    const char *at = in.data().data(), *end = at + in.data().size();
    const uint64_t length = protozero::decode_varint(&at, end);
    if (length > static_cast<uint64_t>(end - at) || length > UINT32_MAX)
      throw protozero::end_of_buffer_exception{};
  }

  // Repeated numbers come packed or one by one.
  template <class Packed, class Single, class T>
  static void numbers(pbf_reader& in, const Packed& packed, const Single& single,
                      std::vector<T>& values) {
    if (in.wire_type() == protozero::pbf_wire_type::length_delimited) {
      for (const auto value : packed(in)) values.push_back(static_cast<T>(value));
    } else {
      values.push_back(static_cast<T>(single(in)));
    }
  }
  template <class T>
  static void int64s(pbf_reader& in, std::vector<T>& values) {
    numbers(
        in, [](pbf_reader& r) { return r.get_packed_int64(); },
        [](pbf_reader& r) { return r.get_int64(); }, values);
  }

 private:
  std::span<const std::byte> bytes_;
  std::string source_;
};

}  // namespace rlx::onnx
