#include "rlx/import/onnx/sources.h"

#include <algorithm>
#include <cctype>

#include "rlx/ir/known.h"

namespace rlx::onnx {
namespace {

using Kind = TypeInfo::Kind;

std::string symbol_name(const std::string& name) {
  constexpr size_t kLongest = 128;  // every expression repeats it
  std::string symbol;
  for (const char c : name.substr(0, kLongest))
    symbol += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (symbol.empty() || !(std::isalpha(static_cast<unsigned char>(symbol[0])) || symbol[0] == '_'))
    symbol = "d_" + symbol;
  return symbol;
}

Dims dims_of(const std::vector<DimInfo>& shape, const std::string& input, Symbols& symbols) {
  Dims dims;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].number && *shape[d].number >= 0)
      dims.emplace_back(*shape[d].number);
    else
      dims.emplace_back(symbols.named(shape[d].name.empty() ? text(input, '_', d) : shape[d].name));
  }
  return dims;
}

Value source(const std::string& name, const Tensor& tensor, rlx::Graph& graph, Initializers as,
             const std::vector<std::string>& numbers) {
  const bool is_weight = std::find(numbers.begin(), numbers.end(), name) != numbers.end();
  const bool floats = is_float(tensor.dtype()) && tensor.count() > (is_weight ? 0 : 1);
  const bool large = tensor.count() > kMostKnownElements;
  if (name.empty() || as == Initializers::constants || !(floats || large))
    return graph.constant(tensor, name);
  if (floats && as == Initializers::states) return graph.state(name, tensor);
  if (floats && as == Initializers::inputs) return graph.input(name, tensor.type());
  return graph.weight(name, tensor);
}

Tensor dense(const SparseTensor& sparse) {
  const auto per_value =
      static_cast<int64_t>(sparse.indices.shape.size() == 1 ? 1 : sparse.shape.size());
  if (sparse.values.is_string || sparse.indices.is_string)
    fail(ErrorKind::unsupported, "sparse tensor '", sparse.values.name, "' is of strings");
  if (sparse.indices.tensor.count() != sparse.values.tensor.count() * per_value)
    fail(ErrorKind::invalid_model, "sparse tensor '", sparse.values.name, "' has ",
         sparse.values.tensor.count(), " values and ", sparse.indices.tensor.count(), " indices");
  const Tensor &values = sparse.values.tensor, &indices = sparse.indices.tensor;
  for (const int64_t extent : sparse.shape)
    if (extent < 0)
      fail(ErrorKind::invalid_model, "sparse tensor '", sparse.values.name, "' has a dim of ",
           extent);
  constexpr int64_t kAlways = 4096, kPerValue = 1024;
  if (const int64_t elements = count(sparse.shape); elements > kAlways + kPerValue * values.count())
    fail(ErrorKind::limit, "sparse tensor '", sparse.values.name, "' has ", values.count(),
         " values for ", sparse.shape, ": more than ", kPerValue, " elements for each");
  Tensor tensor(values.dtype(), sparse.shape);
  const bool linear = indices.shape().size() == 1;
  const Shape extents = linear ? Shape{tensor.count()} : sparse.shape;
  const Shape strides = strides_of(extents);
  for (int64_t i = 0; i < values.count(); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < extents.size(); ++d) {
      const int64_t index = indices.integer_at(i * per_value + static_cast<int64_t>(d));
      if (index < 0 || index >= extents[d])
        fail(ErrorKind::invalid_model, "sparse tensor '", sparse.values.name, "': index ", index,
             " is out of range for ", sparse.shape);
      at += index * strides[d];
    }
    if (is_integer(values.dtype()))  // a double does not hold all of 64 bits
      tensor.set_integer(at, values.integer_at(i));
    else
      tensor.set(at, values.at(i));
  }
  return tensor;
}

bool is_string(const TypeInfo& type) {
  return type.element ? is_string(*type.element) : type.elem_type == kStringType;
}

// A sequence or an optional among the inputs.
Item elements(const ValueInfo& info, const ElementTypes& given, rlx::Graph& graph) {
  Item item;
  item.is_none = !given.present;
  if (item.is_none) return item;
  const bool strings = is_string(info.type);
  const TypeInfo* type = &info.type;
  if (type->kind == Kind::optional && type->element) type = type->element.get();
  if (type->kind == Kind::tensor) {
    require(given.types.size() == 1, "input '", info.name, "' has one element, it is given ",
            given.types.size());
    return tensor_item(graph.input(info.name, given.types[0]), strings);
  }
  Items sequence;
  for (size_t k = 0; k < given.types.size(); ++k)
    sequence.push_back(
        tensor_item(graph.input(element_name(info.name, k), given.types[k]), strings));
  item.sequence = Sequence(std::move(sequence));
  return item;
}

}  // namespace

// Only a letter, a digit or '_' is in a symbol, so "s + 1" and "s - 1" must be told apart.
std::string Symbols::named(const std::string& name) {
  const auto [entry, added] = by_name.emplace(name, symbol_name(name));
  std::string& symbol = entry->second;
  if (!added) return symbol;
  const std::string plain = symbol;
  for (int& number = numbers.emplace(plain, 2).first->second; !taken.insert(symbol).second;)
    symbol = text(plain, '_', number++);
  return symbol;
}

std::string element_name(const std::string& sequence, size_t k) { return text(sequence, '.', k); }

void add_initializers(const Graph& from, rlx::Graph& graph, Scope& scope, Initializers as,
                      const std::vector<std::string>& numbers) {
  for (const TensorData& data : from.initializers)
    scope.items[data.name] =
        tensor_item(source(data.name, data.tensor, graph, as, numbers), data.is_string);
  for (const SparseTensor& sparse : from.sparse_initializers)
    scope.items[sparse.values.name] = source(sparse.values.name, dense(sparse), graph, as, numbers);
  for (const std::string& name : numbers) {
    const Item* item = scope.find(name);
    if (!item || !item->value || !is_float(item->value.type().dtype))
      fail(ErrorKind::invalid_input, "import: there is no initializer '", name, "' of floats");
  }
}

void add_input(const ValueInfo& info, const ImportOptions& options, rlx::Graph& graph, Scope& scope,
               Symbols& symbols) {
  if (scope.items.count(info.name)) return;  // an initializer gives it its value
  if (const auto known = options.known_inputs.find(info.name);
      known != options.known_inputs.end()) {
    scope.items[info.name] = tensor_item(graph.constant(known->second, ""), is_string(info.type));
    return;
  }
  if (const auto given = options.sequence_inputs.find(info.name);
      given != options.sequence_inputs.end()) {
    scope.items[info.name] = elements(info, given->second, graph);
    return;
  }
  const bool strings = is_string(info.type);
  const std::optional<DType> dtype = strings ? DType::u8 : dtype_of(info.type.elem_type);
  if (info.type.kind != Kind::tensor || !dtype)
    fail(ErrorKind::unsupported, "input '", info.name, "' is no tensor of numbers or strings");
  if (!info.type.shape)
    fail(ErrorKind::unsupported, "input '", info.name, "' has no shape, not even a rank");
  TensorType type{*dtype, dims_of(*info.type.shape, info.name, symbols)};
  if (strings) type.shape.emplace_back(symbols.named(info.name + "_bytes"));
  scope.items[info.name] = tensor_item(graph.input(info.name, type), strings);
}

void add_output(const std::string& name, rlx::Graph& graph, const Scope& scope) {
  const Item* item = scope.find(name);
  if (!item || !item->sequence) {
    graph.output(name, item && item->text ? item->text : tensor_named(name, scope));
    return;
  }
  for (size_t k = 0; k < item->sequence.size(); ++k) {
    const Value element = item->sequence.at(k).value;
    if (!element)
      fail(ErrorKind::unsupported, "output '", name, "' is a sequence of something else");
    graph.output(element_name(name, k), element);
  }
}

Value tensor_named(const std::string& name, const Scope& scope) {
  const Item* item = scope.find(name);
  if (!item) fail(ErrorKind::invalid_model, "there is no value '", name, "'");
  if (!item->value.present())
    fail(ErrorKind::unsupported, "output '", name, "' is no tensor of numbers");
  return item->value;
}

}  // namespace rlx::onnx
