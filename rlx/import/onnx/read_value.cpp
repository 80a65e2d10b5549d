// Reads values that stand alone in a file: a tensor, a sequence of tensors, an optional.

#include "rlx/import/onnx/tensor_reader.h"

namespace rlx::onnx {
namespace {

using protozero::pbf_wire_type;
using Kind = TypeInfo::Kind;

class ValueReader {
 public:
  ValueReader(std::string source, Keep keep_alive, ValueData& into)
      : source_(std::move(source)), keep_alive_(std::move(keep_alive)), into_(into) {}

  void read(data_view bytes, const TypeInfo& type) {
    constexpr protozero::pbf_tag_type kTensor = 3, kSequence = 5;
    if (type.kind == Kind::tensor || type.kind == Kind::none) {
      into_.tensors.push_back(tensor(bytes));
      return;
    }
    const bool sequence = type.kind == Kind::sequence;
    if ((!sequence && type.kind != Kind::optional) || !type.element)
      fail(ErrorKind::unsupported, source_, ": it is neither tensor, sequence nor optional");
    into_.is_sequence = into_.is_sequence || sequence;
    const bool nested = type.element->kind != Kind::tensor;
    size_t elements = 0;
    protozero::pbf_reader in(bytes);
    while (in.next()) {
      Wire::check_length(in);
      if (in.tag() != (nested ? kSequence : kTensor) ||
          in.wire_type() != pbf_wire_type::length_delimited) {
        in.skip();
        continue;
      }
      read(in.get_view(), *type.element);
      ++elements;
    }
    if (!sequence) into_.present = elements > 0;
  }

 private:
  TensorData tensor(data_view bytes) const {
    const Wire wire({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, source_);
    return TensorReader(wire, keep_alive_, "").tensor(wire.whole());
  }

  std::string source_;
  Keep keep_alive_;
  ValueData& into_;
};

}  // namespace

ValueData read_value(const std::string& path, const TypeInfo& type) {
  ValueData value;
  if (type.kind == Kind::tensor || type.kind == Kind::none) {
    value.tensors.push_back(read_tensor(path));
    return value;
  }
  const auto file = MappedFile::open(path);
  const std::span<const std::byte> bytes = file->bytes();
  try {
    ValueReader(path, file, value)
        .read({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, type);
  } catch (const protozero::exception& error) {
    fail(ErrorKind::invalid_model, path, ": it is no value of ONNX: ", error.what());
  } catch (const WrongField& error) {
    fail(ErrorKind::invalid_model, path, ": it is no value of ONNX: ", error.what());
  }
  return value;
}

}  // namespace rlx::onnx
