// Reads the protocol-buffer messages of ONNX: each message is a loop over its fields, and a field
// that is not known here is skipped.

#include "rlx/import/onnx/tensor_reader.h"

namespace rlx::onnx {
namespace {

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, Keep keep_alive, std::string source, std::string folder,
         const FileOptions& options = {})
      : wire_(bytes, std::move(source)),
        tensors_(wire_, std::move(keep_alive), std::move(folder), options) {}

  Model model() {
    Model model;
    bool has_graph = false;
    wire_.fields(wire_.whole(), [&](pbf_reader& in) {
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
    if (!has_graph)
      wire_.fail_at(wire_.size(), "the file ends without a graph: it is no ONNX model");
    model.bytes = static_cast<int64_t>(wire_.size()) + tensors_.external_bytes();
    return model;
  }

  TensorData tensor_alone() { return tensors_.tensor(wire_.whole()); }

 private:
  static constexpr int kDeepest = 64;  // graphs within graphs

  void opset(pbf_reader message, OpsetVersions& opsets) const {
    std::string domain;
    int64_t version = 0;
    wire_.fields(message, [&](pbf_reader& in) {
      if (in.tag() == 1)
        domain = in.get_string();
      else if (in.tag() == 2)
        version = in.get_int64();
      else
        in.skip();
    });
    opsets[domain == "ai.onnx" ? "" : domain] = version;
  }

  Graph graph(pbf_reader message) {
    if (++depth_ > kDeepest)
      wire_.fail_at(wire_.offset_of(message), "graphs are nested more than ", kDeepest, " deep");
    Graph graph;
    wire_.fields(message, [&](pbf_reader& in) {
      switch (in.tag()) {
        case 1:
          graph.nodes.push_back(node(in.get_message()));
          break;
        case 2:
          graph.name = in.get_string();
          break;
        case 5:
          graph.initializers.push_back(tensors_.tensor(in.get_message()));
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
          graph.sparse_initializers.push_back(tensors_.sparse(in.get_message()));
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
    node.offset = wire_.offset_of(message);
    wire_.fields(message, [&](pbf_reader& in) {
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
        case 8:
          node.overload = in.get_string();
          break;
        default:
          in.skip();
      }
    });
    return node;
  }

  Attribute attribute(pbf_reader message) {
    Attribute attribute;
    wire_.fields(message, [&](pbf_reader& in) {
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
          attribute.t = tensors_.tensor(in.get_message());
          break;
        case 6:
          attribute.g = std::make_shared<const Graph>(graph(in.get_message()));
          break;
        case 7:
          Wire::numbers(
              in, [](pbf_reader& r) { return r.get_packed_float(); },
              [](pbf_reader& r) { return r.get_float(); }, attribute.floats);
          break;
        case 8:
          Wire::int64s(in, attribute.ints);
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
          attribute.sparse = tensors_.sparse(in.get_message());
          break;
        default:
          in.skip();
      }
    });
    // Two bytes would else become one of our attributes, which is hundreds of them.
    if (attribute.name.empty()) wire_.fail_at(wire_.offset_of(message), "an attribute has no name");
    return attribute;
  }

  Function function(pbf_reader message) {
    Function function;
    wire_.fields(message, [&](pbf_reader& in) {
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
        case 13:
          function.overload = in.get_string();
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
    wire_.fields(message, [&](pbf_reader& in) {
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
      wire_.fail_at(wire_.offset_of(message), "types are nested more than ", kDeepest, " deep");
    TypeInfo type;
    wire_.fields(message, [&](pbf_reader& in) {
      using Kind = TypeInfo::Kind;
      switch (in.tag()) {
        case 1:
          tensor_type(in.get_message(), type);
          type.kind = Kind::tensor;
          break;
        case 4:
        case 9:
          type.kind = in.tag() == 4 ? Kind::sequence : Kind::optional;
          wire_.fields(in.get_message(), [&](pbf_reader& element) {
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
    wire_.fields(message, [&](pbf_reader& in) {
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
    wire_.fields(message, [&](pbf_reader& in) {
      if (in.tag() != 1) return in.skip();
      DimInfo& dim = dims.emplace_back();
      wire_.fields(in.get_message(), [&](pbf_reader& part) {
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

  Wire wire_;
  TensorReader tensors_;
  int depth_ = 0;
};

std::string folder_of(const std::string& path) {
  const size_t slash = path.find_last_of("/\\");
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

Model parse_model(std::span<const std::byte> bytes, Keep keep_alive, const std::string& source,
                  const std::string& folder) {
  return Reader(bytes, std::move(keep_alive), source, folder).model();
}

Model read_model(const std::string& path, const FileOptions& options) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path, options);
  return Reader(file->bytes(), file, path, folder_of(path), options).model();
}

TensorData read_tensor(const std::string& path) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  return Reader(file->bytes(), file, path, folder_of(path)).tensor_alone();
}

}  // namespace rlx::onnx
