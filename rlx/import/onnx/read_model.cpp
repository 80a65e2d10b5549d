// Reads the protocol-buffer messages of ONNX: each message is a loop over its fields, and a field
// that is not known here is skipped.

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

// protozero asserts that a field is of the type it is read as; in a file from anywhere it may not
// be.
namespace rlx::onnx {
struct WrongField : std::runtime_error {
  WrongField() : std::runtime_error("it is not of the type it should be") {}
};
}  // namespace rlx::onnx
#define protozero_assert(right) ((right) ? void() : throw rlx::onnx::WrongField())
#include <protozero/pbf_reader.hpp>

#include "rlx/base/file.h"
#include "rlx/import/onnx/model.h"

namespace rlx::onnx {
namespace {

using protozero::data_view;
using protozero::pbf_reader;

// The numbers of a tensor's fields that hold its elements.
enum class Field { floats = 4, ints32 = 5, ints64 = 7, raw = 9, doubles = 10, uints64 = 11 };

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive,
         std::string source, std::string folder)
      : bytes_(bytes),
        keep_alive_(std::move(keep_alive)),
        source_(std::move(source)),
        folder_(std::move(folder)) {}

  Model model() {
    Model model;
    bool has_graph = false;
    fields(whole(), [&](pbf_reader& in) {
      switch (in.tag()) {
        case 1:
          model.ir_version = in.get_int64();
          break;
        case 2:
          model.producer = in.get_string();
          break;
        case 7:
          has_graph = true;
          model.graph = graph(in.get_message());
          break;
        case 8:
          opset(in.get_message(), model.opsets);
          break;
        case 25:
          model.functions.push_back(function(in.get_message()));
          break;
        default:
          in.skip();
      }
    });
    if (!has_graph) fail_at(bytes_.size(), "the file ends without a graph: it is no ONNX model");
    return model;
  }

  TensorData tensor_alone() { return tensor(whole()); }

 private:
  static constexpr int kDeepest = 64;  // graphs within graphs

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
  void fields(pbf_reader in, const Each& each) {
    size_t at = offset_of(in);
    try {
      while (in.next()) {
        each(in);
        at = offset_of(in);
      }
    } catch (const protozero::exception& error) {
      fail_at(at, "the field that begins here is damaged: ", error.what());
    } catch (const WrongField& error) {
      fail_at(at, "the field that begins here is damaged: ", error.what());
    }
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

  static void opset(pbf_reader in, OpsetVersions& opsets) {
    std::string domain;
    int64_t version = 0;
    while (in.next()) {
      if (in.tag() == 1)
        domain = in.get_string();
      else if (in.tag() == 2)
        version = in.get_int64();
      else
        in.skip();
    }
    opsets[domain == "ai.onnx" ? "" : domain] = version;
  }

  Graph graph(pbf_reader message) {
    if (++depth_ > kDeepest)
      fail_at(offset_of(message), "graphs are nested more than ", kDeepest, " deep");
    Graph graph;
    fields(message, [&](pbf_reader& in) {
      switch (in.tag()) {
        case 1:
          graph.nodes.push_back(node(in.get_message()));
          break;
        case 2:
          graph.name = in.get_string();
          break;
        case 5:
          graph.initializers.push_back(tensor(in.get_message()));
          break;
        case 11:
          graph.inputs.push_back(value_info(in.get_message()));
          break;
        case 12:
          graph.outputs.push_back(value_info(in.get_message()));
          break;
        case 13:
          graph.values.push_back(value_info(in.get_message()));
          break;
        case 15:
          graph.sparse_initializers.push_back(sparse(in.get_message()));
          break;
        default:
          in.skip();
      }
    });
    --depth_;
    return graph;
  }

  Node node(pbf_reader message) {
    Node node;
    node.offset = offset_of(message);
    fields(message, [&](pbf_reader& in) {
      switch (in.tag()) {
        case 1:
          node.inputs.push_back(in.get_string());
          break;
        case 2:
          node.outputs.push_back(in.get_string());
          break;
        case 3:
          node.name = in.get_string();
          break;
        case 4:
          node.op = in.get_string();
          break;
        case 5:
          node.attributes.push_back(attribute(in.get_message()));
          break;
        case 7:
          node.domain = in.get_string();
          if (node.domain == "ai.onnx") node.domain.clear();
          break;
        default:
          in.skip();
      }
    });
    return node;
  }

  Attribute attribute(pbf_reader message) {
    Attribute attribute;
    fields(message, [&](pbf_reader& in) {
      switch (in.tag()) {
        case 1:
          attribute.name = in.get_string();
          break;
        case 2:
          attribute.f = static_cast<double>(in.get_float());
          break;
        case 3:
          attribute.i = in.get_int64();
          break;
        case 4:
          attribute.s = in.get_string();
          break;
        case 5:
          attribute.t = tensor(in.get_message());
          break;
        case 6:
          attribute.g = std::make_shared<const Graph>(graph(in.get_message()));
          break;
        case 7:
          numbers(
              in, [](pbf_reader& r) { return r.get_packed_float(); },
              [](pbf_reader& r) { return r.get_float(); }, attribute.floats);
          break;
        case 8:
          int64s(in, attribute.ints);
          break;
        case 9:
          attribute.strings.push_back(in.get_string());
          break;
        case 14:
          attribute.tp = type(in.get_message());
          break;
        case 20:
          attribute.type = in.get_enum();
          break;
        case 21:
          attribute.reference = in.get_string();
          break;
        case 22:
          attribute.sparse = sparse(in.get_message());
          break;
        default:
          in.skip();
      }
    });
    return attribute;
  }

  Function function(pbf_reader message) {
    Function function;
    fields(message, [&](pbf_reader& in) {
      switch (in.tag()) {
        case 1:
          function.name = in.get_string();
          break;
        case 4:
          function.inputs.push_back(in.get_string());
          break;
        case 5:
          function.outputs.push_back(in.get_string());
          break;
        case 7:
          function.nodes.push_back(node(in.get_message()));
          break;
        case 9:
          opset(in.get_message(), function.opsets);
          break;
        case 10:
          function.domain = in.get_string();
          break;
        case 11:
          function.defaults.push_back(attribute(in.get_message()));
          break;
        default:
          in.skip();
      }
    });
    return function;
  }

  // ---- Types ----

  ValueInfo value_info(pbf_reader message) {
    ValueInfo value;
    fields(message, [&](pbf_reader& in) {
      if (in.tag() == 1)
        value.name = in.get_string();
      else if (in.tag() == 2)
        value.type = type(in.get_message());
      else
        in.skip();
    });
    return value;
  }

  TypeInfo type(pbf_reader message) {
    if (++depth_ > kDeepest)
      fail_at(offset_of(message), "types are nested more than ", kDeepest, " deep");
    TypeInfo type;
    fields(message, [&](pbf_reader& in) {
      using Kind = TypeInfo::Kind;
      switch (in.tag()) {
        case 1:
          tensor_type(in.get_message(), type);
          type.kind = Kind::tensor;
          break;
        case 4:
        case 9:
          type.kind = in.tag() == 4 ? Kind::sequence : Kind::optional;
          fields(in.get_message(), [&](pbf_reader& element) {
            if (element.tag() == 1)
              type.element = std::make_shared<const TypeInfo>(this->type(element.get_message()));
            else
              element.skip();
          });
          break;
        case 5:
          type.kind = Kind::map;
          in.skip();
          break;
        case 8:
          tensor_type(in.get_message(), type);
          type.kind = Kind::sparse;
          break;
        default:
          in.skip();
      }
    });
    --depth_;
    return type;
  }

  void tensor_type(pbf_reader message, TypeInfo& type) {
    fields(message, [&](pbf_reader& in) {
      if (in.tag() == 1)
        type.elem_type = in.get_int32();
      else if (in.tag() == 2)
        type.shape = shape(in.get_message());
      else
        in.skip();
    });
  }

  std::vector<DimInfo> shape(pbf_reader message) {
    std::vector<DimInfo> dims;
    fields(message, [&](pbf_reader& in) {
      if (in.tag() != 1) return in.skip();
      DimInfo& dim = dims.emplace_back();
      fields(in.get_message(), [&](pbf_reader& part) {
        if (part.tag() == 1)
          dim.number = part.get_int64();
        else if (part.tag() == 2)
          dim.name = part.get_string();
        else
          part.skip();
      });
    });
    return dims;
  }

  // ---- Tensors ----

  // A tensor's message before its elements are put together.
  struct Raw {
    TensorData data;
    size_t offset = 0;
    int elem_type = 0;
    std::vector<int64_t> dims;
    std::optional<data_view> raw;
    std::vector<double> reals;      // float_data, double_data
    std::vector<int64_t> integers;  // int32_data, int64_data, uint64_data
    std::map<std::string, std::string> external;
    bool is_external = false;
  };

  TensorData tensor(pbf_reader message) {
    Raw raw;
    raw.offset = offset_of(message);
    fields(message, [&](pbf_reader& in) { tensor_field(in, raw); });
    return assemble(raw);
  }

  void tensor_field(pbf_reader& in, Raw& raw) {
    switch (in.tag()) {
      case 1:
        int64s(in, raw.dims);
        break;
      case 2:
        raw.elem_type = in.get_int32();
        break;
      case static_cast<uint32_t>(Field::floats):
        numbers(
            in, [](pbf_reader& r) { return r.get_packed_float(); },
            [](pbf_reader& r) { return r.get_float(); }, raw.reals);
        break;
      case static_cast<uint32_t>(Field::ints32):
        numbers(
            in, [](pbf_reader& r) { return r.get_packed_int32(); },
            [](pbf_reader& r) { return r.get_int32(); }, raw.integers);
        break;
      case 6:
        raw.data.strings.push_back(in.get_string());
        break;
      case static_cast<uint32_t>(Field::ints64):
        int64s(in, raw.integers);
        break;
      case 8:
        raw.data.name = in.get_string();
        break;
      case static_cast<uint32_t>(Field::raw):
        raw.raw = in.get_view();
        break;
      case static_cast<uint32_t>(Field::doubles):
        numbers(
            in, [](pbf_reader& r) { return r.get_packed_double(); },
            [](pbf_reader& r) { return r.get_double(); }, raw.reals);
        break;
      case static_cast<uint32_t>(Field::uints64):
        numbers(
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

  void entry(pbf_reader message, std::map<std::string, std::string>& entries) {
    std::string key, value;
    fields(message, [&](pbf_reader& in) {
      if (in.tag() == 1)
        key = in.get_string();
      else if (in.tag() == 2)
        value = in.get_string();
      else
        in.skip();
    });
    entries[key] = value;
  }

  SparseTensor sparse(pbf_reader message) {
    SparseTensor sparse;
    fields(message, [&](pbf_reader& in) {
      if (in.tag() == 1)
        sparse.values = tensor(in.get_message());
      else if (in.tag() == 2)
        sparse.indices = tensor(in.get_message());
      else if (in.tag() == 3)
        int64s(in, static_cast<std::vector<int64_t>&>(sparse.shape));
      else
        in.skip();
    });
    return sparse;
  }

  // The shape and how many elements it has; both are the file's word, so nothing may overflow.
  int64_t count_of(const Raw& raw) const {
    int64_t count = 1;
    for (const int64_t dim : raw.dims) {
      if (dim < 0) fail_at(raw.offset, "tensor '", raw.data.name, "' has a dim of ", dim);
      if (dim != 0 && count > std::numeric_limits<int64_t>::max() / 16 / dim)
        fail_at(raw.offset, "tensor '", raw.data.name, "' has more elements than can be counted");
      count *= dim;
    }
    return count;
  }

  TensorData assemble(Raw& raw) {
    TensorData data = std::move(raw.data);
    raw.data.name = data.name;
    const int64_t count = count_of(raw);
    data.shape = Shape(raw.dims.begin(), raw.dims.end());
    if (raw.elem_type == kStringType) {
      data.is_string = true;
      if (static_cast<int64_t>(data.strings.size()) != count)
        fail_at(raw.offset, "tensor '", data.name, "' of ", count, " strings has ",
                data.strings.size());
      return data;
    }
    const std::optional<DType> dtype = dtype_of(raw.elem_type);
    if (!dtype)
      fail(ErrorKind::unsupported, source_, ": tensor '", data.name, "' is of ",
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

  Tensor of_bytes(const Raw& raw, DType dtype, int64_t count, std::span<const std::byte> bytes,
                  const std::shared_ptr<const void>& owner) const {
    const auto needed = static_cast<size_t>(count) * static_cast<size_t>(bytes_of(dtype));
    if (bytes.size() != needed)
      fail_at(raw.offset, "tensor '", raw.data.name, "' needs ", needed, " bytes, the file has ",
              bytes.size());
    const Shape shape(raw.dims.begin(), raw.dims.end());
    const auto address = reinterpret_cast<uintptr_t>(bytes.data());
    const auto alignment = static_cast<uintptr_t>(std::min<int64_t>(bytes_of(dtype), 8));
    if (address % alignment == 0 && needed > 0) return Tensor::view(dtype, shape, bytes, owner);
    Tensor copy(dtype, shape);
    if (needed > 0) std::memcpy(copy.mutable_bytes().data(), bytes.data(), needed);
    return copy;
  }

  // 16-bit floats come as their bits in int32_data; complex numbers as two floats.
  Tensor of_numbers(const Raw& raw, DType dtype, int64_t count) const {
    const bool real = dtype == DType::f32 || dtype == DType::f64 || dtype == DType::c64;
    const auto found = static_cast<int64_t>(real ? raw.reals.size() : raw.integers.size());
    const int64_t wanted = dtype == DType::c64 ? 2 * count : count;
    if (found != wanted)
      fail_at(raw.offset, "tensor '", raw.data.name, "' needs ", wanted, " numbers, the file has ",
              found);
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

  int64_t number_in(const Raw& raw, const char* key, int64_t otherwise) const {
    const auto found = raw.external.find(key);
    if (found == raw.external.end()) return otherwise;
    const std::string& digits = found->second;
    const bool number =
        !digits.empty() && digits.size() < 19 &&
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!number)
      fail_at(raw.offset, "tensor '", raw.data.name, "': the ", key, " of its external data is '",
              digits, "'");
    return std::stoll(digits);
  }

  Tensor external(const Raw& raw, DType dtype, int64_t count) {
    const auto found = raw.external.find("location");
    const std::string location = found == raw.external.end() ? "" : found->second;
    // A model may only name files beside itself.
    const bool outside = location.empty() || location[0] == '/' || location[0] == '\\' ||
                         location.find("..") != std::string::npos ||
                         location.find(':') != std::string::npos;
    if (outside || folder_.empty())
      fail_at(raw.offset, "tensor '", raw.data.name, "' has its data in '", location,
              folder_.empty() ? "', and there is no folder to look in"
                              : "', which is not a file beside the model");
    auto& file = files_[location];
    if (!file) file = MappedFile::open(folder_ + "/" + location);
    const int64_t bytes = count * bytes_of(dtype), all = static_cast<int64_t>(file->bytes().size());
    const int64_t offset = number_in(raw, "offset", 0);
    const int64_t length = number_in(raw, "length", bytes);
    if (offset > all || length > all - offset)
      fail_at(raw.offset, "tensor '", raw.data.name, "' has bytes ", offset, " to ",
              offset + length, " of ", location, ", which has ", all);
    return of_bytes(raw, dtype, count,
                    file->bytes().subspan(static_cast<size_t>(offset), static_cast<size_t>(length)),
                    file);
  }

  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> keep_alive_;
  std::string source_, folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
  int depth_ = 0;
};

std::string folder_of(const std::string& path) {
  const size_t slash = path.find_last_of("/\\");
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

Model parse_model(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive,
                  const std::string& source, const std::string& folder) {
  return Reader(bytes, std::move(keep_alive), source, folder).model();
}

Model read_model(const std::string& path) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  return parse_model(file->bytes(), file, path, folder_of(path));
}

TensorData read_tensor(const std::string& path) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  return Reader(file->bytes(), file, path, folder_of(path)).tensor_alone();
}

}  // namespace rlx::onnx
