// An ONNX model as its file has it: nodes, tensors and attributes by name, nothing interpreted yet.
// Tensors are views of the file, so a large model costs no copy of its weights.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rlx/base/file.h"
#include "rlx/tensor/tensor.h"

namespace rlx::onnx {

struct Graph;

// Strings are no dtype of ours: their tensor has the bytes, as rlx/tensor/strings.h keeps them.
struct TensorData {
  std::string name;
  Tensor tensor;
  bool is_string = false;
  Shape shape;  // of the strings, where they are some
};

struct SparseTensor {
  TensorData values, indices;
  Shape shape;
};

// A dim that has neither a number nor a name is unknown.
struct DimInfo {
  std::optional<int64_t> number = {};
  std::string name = {};
};

struct TypeInfo {
  enum class Kind { none, tensor, sequence, optional, map, sparse };
  Kind kind = Kind::none;
  int elem_type = 0;                               // of a tensor
  std::optional<std::vector<DimInfo>> shape = {};  // of a tensor; none: not even the rank is known
  std::shared_ptr<const TypeInfo> element = {};    // of a sequence or optional
};

struct ValueInfo {
  std::string name;
  TypeInfo type;
};

struct Attribute {
  std::string name, reference;  // `reference`: the attribute of the function it stands for
  int type = 0;
  double f = 0;
  int64_t i = 0;
  std::string s = {};
  std::optional<TensorData> t = {};
  std::shared_ptr<const Graph> g = {};
  std::optional<SparseTensor> sparse = {};
  std::vector<double> floats = {};
  std::vector<int64_t> ints = {};
  std::vector<std::string> strings = {};
  std::optional<TypeInfo> tp = {};
};

struct Node {
  std::string op, domain, name;
  std::vector<std::string> inputs, outputs;  // an empty name: absent
  std::vector<Attribute> attributes;
  size_t offset = 0;          // in the file, for messages
  std::string overload = {};  // which of the functions of this name

  const Attribute* find(std::string_view name) const;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<TensorData> initializers;
  std::vector<SparseTensor> sparse_initializers;
  std::vector<ValueInfo> inputs, outputs, values;
};

using OpsetVersions = std::map<std::string, int64_t>;  // by domain; "" is ONNX's own

struct Function {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> defaults;  // of its attributes, where they have them
  std::vector<Node> nodes;
  OpsetVersions opsets;
};

struct Model {
  int64_t ir_version = 0;
  std::string producer;
  OpsetVersions opsets;
  Graph graph;
  std::vector<Function> functions;
  int64_t bytes = 0;  // of its file, and of those its tensors are in
};

constexpr int kStringType = 8;

// The dtype of ONNX's number for one; none for those rlx has no tensors of (strings, 128-bit …).
std::optional<DType> dtype_of(int elem_type);
std::string elem_type_name(int elem_type);

// Strings of a file as bytes. All are as long as the longest then: an Error where that is far more
// than they are in the file.
Tensor padded_strings(const std::string& name, const Shape& shape,
                      const std::vector<std::string>& strings);

// Reads a model; external data is looked for in the file's folder, as MappedFile::open_inside does,
// and mapped. A wrong file is an Error of kind invalid_model that names the byte.
Model read_model(const std::string& path, const FileOptions& options = {});
// The same from bytes that `keep_alive` owns. `folder`: where external data may be; empty: nowhere.
Model parse_model(std::span<const std::byte> bytes, Keep keep_alive, const std::string& source,
                  const std::string& folder);
// A tensor by itself, as the test suites of ONNX keep them.
TensorData read_tensor(const std::string& path);

// A value by itself: the tensors of a sequence, one otherwise, none of an optional that is empty.
struct ValueData {
  bool present = true;
  bool is_sequence = false;
  std::vector<TensorData> tensors = {};
};
// Files do not say which kind they hold: the model's type of the value does.
ValueData read_value(const std::string& path, const TypeInfo& type);

}  // namespace rlx::onnx
