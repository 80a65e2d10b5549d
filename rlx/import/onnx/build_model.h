// Models of ONNX, written field by field: for tests.
#pragma once

#include <functional>
#include <memory>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "rlx/import/onnx/import_model.h"

namespace rlx::onnx {

using protozero::pbf_writer;

inline std::string message(const std::function<void(pbf_writer&)>& write) {
  std::string bytes;
  pbf_writer out(bytes);
  write(out);
  return bytes;
}

constexpr int kFloatType = 1, kInt64Type = 7;

// A dim is a number, or a name.
inline std::string tensor_type(const std::vector<std::string>& dims, int elem_type = kFloatType) {
  const std::string shape = message([&](pbf_writer& out) {
    for (const std::string& dim : dims)
      out.add_message(1, message([&](pbf_writer& entry) {
                        if (dim.find_first_not_of("0123456789") == std::string::npos)
                          entry.add_int64(1, std::stoll(dim));
                        else
                          entry.add_string(2, dim);
                      }));
  });
  const std::string tensor = message([&](pbf_writer& out) {
    out.add_int32(1, elem_type);
    out.add_message(2, shape);
  });
  return message([&](pbf_writer& type) { type.add_message(1, tensor); });
}
constexpr protozero::pbf_tag_type kSequenceOf = 4, kOptionalOf = 9;
inline std::string type_of(protozero::pbf_tag_type kind, const std::string& element) {
  return message([&](pbf_writer& type) {
    type.add_message(kind, message([&](pbf_writer& out) { out.add_message(1, element); }));
  });
}
inline std::string typed(const std::string& name, const std::string& type) {
  return message([&](pbf_writer& out) {
    out.add_string(1, name);
    out.add_message(2, type);
  });
}
inline std::string value_info(const std::string& name, const std::vector<std::string>& dims) {
  return typed(name, tensor_type(dims));
}

inline std::string integer_attribute(const std::string& name, int64_t value) {
  return message([&](pbf_writer& out) {
    out.add_string(1, name);
    out.add_int64(3, value);
    out.add_int32(20, 2);
  });
}
inline std::string string_attribute(const std::string& name, const std::string& value) {
  return message([&](pbf_writer& out) {
    out.add_string(1, name);
    out.add_string(4, value);
    out.add_int32(20, 3);
  });
}
inline std::string graph_attribute(const std::string& name, const std::string& graph) {
  return message([&](pbf_writer& out) {
    out.add_string(1, name);
    out.add_message(6, graph);
    out.add_int32(20, 5);
  });
}

inline std::string node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::string& output, const std::string& name = "",
                        const std::vector<std::string>& attributes = {}) {
  return message([&](pbf_writer& out) {
    for (const std::string& input : inputs) out.add_string(1, input);
    out.add_string(2, output);
    out.add_string(3, name);
    out.add_string(4, op);
    for (const std::string& attribute : attributes) out.add_message(5, attribute);
  });
}

template <class T>
std::string tensor(const std::string& name, int elem_type, const std::vector<int64_t>& shape,
                   const std::vector<T>& values) {
  return message([&](pbf_writer& out) {
    for (const int64_t extent : shape) out.add_int64(1, extent);
    out.add_int32(2, elem_type);
    out.add_string(8, name);
    out.add_bytes(9, reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  });
}
inline std::string float_tensor(const std::string& name, const std::vector<float>& values) {
  return tensor(name, kFloatType, {static_cast<int64_t>(values.size())}, values);
}
inline std::string list(const std::string& name, const std::vector<int64_t>& values) {
  return tensor(name, kInt64Type, {static_cast<int64_t>(values.size())}, values);
}
inline std::string integer(const std::string& name, int64_t value) {
  return tensor<int64_t>(name, kInt64Type, {}, {value});
}

struct GraphParts {
  std::vector<std::string> nodes, initializers = {}, inputs = {}, outputs = {};
};
inline std::string graph_message(const GraphParts& parts) {
  return message([&](pbf_writer& out) {
    for (const std::string& entry : parts.nodes) out.add_message(1, entry);
    for (const std::string& entry : parts.initializers) out.add_message(5, entry);
    for (const std::string& entry : parts.inputs) out.add_message(11, entry);
    for (const std::string& entry : parts.outputs) out.add_message(12, entry);
  });
}
inline std::string model_of(const GraphParts& parts, int64_t opset = 17) {
  return message([&](pbf_writer& out) {
    out.add_int64(1, 8);
    out.add_message(7, graph_message(parts));
    out.add_message(8, message([&](pbf_writer& entry) { entry.add_int64(2, opset); }));
  });
}
// From x [batch size] to y.
inline std::string model(const std::vector<std::string>& nodes,
                         const std::vector<std::string>& initializers = {}) {
  const std::vector<std::string> dims{"batch size"};
  return model_of({nodes, initializers, {value_info("x", dims)}, {value_info("y", dims)}});
}

inline rlx::Graph import_bytes(const std::string& bytes, const ImportOptions& options = {}) {
  const auto kept = std::make_shared<const std::string>(bytes);
  const auto* begin = reinterpret_cast<const std::byte*>(kept->data());
  return import_model(parse_model({begin, kept->size()}, kept, "test.onnx", ""), options);
}

}  // namespace rlx::onnx
