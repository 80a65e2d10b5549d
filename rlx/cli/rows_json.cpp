#include "rlx/cli/rows_json.h"

#include <cmath>

#include "rlx/base/text.h"
#include "rlx/conformance/case_data.h"
#include "rlx/conformance/oracle.h"
#include "rlx/conformance/runner.h"

namespace rlx::cli {
namespace {

using Json = nlohmann::ordered_json;

Json graph_json(const Graph& graph);
Json attr_json(const Dims& value);

// Its bytes as they lie in memory, in hexadecimal.
Json tensor_json(const Tensor& tensor) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (const std::byte byte : tensor.bytes())
    digits.append(
        {kDigits[std::to_integer<size_t>(byte) >> 4], kDigits[std::to_integer<size_t>(byte) & 15]});
  return {{"dtype", name(tensor.dtype())},
          {"shape", static_cast<const std::vector<int64_t>&>(tensor.shape())},
          {"bytes", digits}};
}

// Kinds that JSON does not have are objects with one key.
Json attr_json(bool value) { return value; }
Json attr_json(int64_t value) { return value; }
Json attr_json(double value) {
  return std::isfinite(value) ? Json(value) : Json{{"float", text(value)}};
}
Json attr_json(const std::string& value) { return value; }
Json attr_json(DType value) { return {{"dtype", name(value)}}; }
Json attr_json(const Dim& value) { return text(value); }
Json attr_json(const Tensor& value) { return {{"tensor", tensor_json(value)}}; }
Json attr_json(const GraphPtr& value) { return {{"graph", graph_json(*value)}}; }
template <class Item, class List>
Json list_json(const List& list) {
  Json json = Json::array();
  for (const Item& item : list) json.push_back(attr_json(item));
  return json;
}
Json attr_json(const Dims& value) { return {{"dims", list_json<Dim>(value)}}; }
Json attr_json(const Bools& value) { return list_json<bool>(value); }
Json attr_json(const Ints& value) { return list_json<int64_t>(value); }
Json attr_json(const Floats& value) { return list_json<double>(value); }
Json attr_json(const Strings& value) { return list_json<std::string>(value); }
Json attr_json(const DTypes& value) { return list_json<DType>(value); }
Json attr_json(const Shapes& value) { return list_json<Dims>(value); }

Json any_json(const Attr& attr) {
  return std::visit([](const auto& value) { return attr_json(value); }, attr.variant());
}

Json attrs_json(const Attrs& attrs) {
  Json json = Json::object();
  for (const auto& [name, attr] : attrs) json[name] = any_json(attr);
  return json;
}

// What each attribute of an op is where a row does not say; null: it must, or there is none.
Json defaults_json(const OpRef* op) {
  Json json = Json::object();
  if (op != nullptr)
    for (const AttrSpec& spec : (*op)->attrs)
      json[spec.name] = spec.otherwise ? any_json(*spec.otherwise) : Json(nullptr);
  return json;
}

Json value_json(Value value) {
  return value.present() ? Json{value.node, value.result} : Json(nullptr);
}

Json graph_json(const Graph& graph) {
  Json nodes = Json::array(), outputs = Json::array();
  for (const Node& node : graph.nodes()) {
    Json inputs = Json::array(), types = Json::array();
    for (const Value input : node.inputs) inputs.push_back(value_json(input));
    for (const TensorType& type : node.types) types.push_back(name(type.dtype));
    Json json{{"op", node.op->name}, {"inputs", inputs}, {"types", types}, {"name", node.name}};
    json["attrs"] = attrs_json(node.attrs);
    nodes.push_back(std::move(json));
  }
  for (const GraphOutput& output : graph.outputs()) outputs.push_back(value_json(output.value));
  return {{"nodes", nodes}, {"outputs", outputs}};
}

}  // namespace

Json row_json(const OpCase& row, const OpSet& ops) {
  const CaseGraph built = case_graph(row, ops);
  Json inputs = Json::object();
  for (const auto& [name, tensor] : built.inputs) inputs[name] = tensor_json(tensor);
  return {{"op", row.op},
          {"row", describe(row)},
          {"fingerprint", fingerprint(row, ops)},
          {"composed", ops.find(row.op) == nullptr},
          {"defaults", defaults_json(ops.find(row.op))},
          {"symbols", row.symbols},
          {"inputs", std::move(inputs)},
          {"graph", graph_json(built.graph)}};
}

}  // namespace rlx::cli
