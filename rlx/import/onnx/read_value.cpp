// Reads values that stand alone in a file: a tensor, a sequence of tensors, an optional.

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "rlx/base/file.h"
#include "rlx/import/onnx/model.h"

namespace rlx::onnx {
namespace {

using protozero::data_view;
using protozero::pbf_wire_type;
using Kind = TypeInfo::Kind;

class ValueReader {
 public:
  ValueReader(std::string source, ValueData& into) : source_(std::move(source)), into_(into) {}

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
    while (in.next(nested ? kSequence : kTensor, pbf_wire_type::length_delimited)) {
      read(in.get_view(), *type.element);
      ++elements;
    }
    if (!sequence) into_.present = elements > 0;
  }

 private:
  // A tensor is an initializer of a model that has nothing else.
  TensorData tensor(data_view bytes) const {
    const auto wrapped = std::make_shared<std::string>();
    std::string graph;
    protozero::pbf_writer(graph).add_message(5, bytes);
    protozero::pbf_writer(*wrapped).add_message(7, graph);
    const auto* begin = reinterpret_cast<const std::byte*>(wrapped->data());
    Model model = parse_model({begin, wrapped->size()}, wrapped, source_, "");
    return std::move(model.graph.initializers.at(0));
  }

  std::string source_;
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
    ValueReader(path, value)
        .read({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, type);
  } catch (const protozero::exception& error) {
    fail(ErrorKind::invalid_model, path, ": it is no value of ONNX: ", error.what());
  }
  return value;
}

}  // namespace rlx::onnx
