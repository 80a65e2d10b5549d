// Writes a graph as text.

#include <cassert>
#include <locale>
#include <set>
#include <tuple>

#include "rlx/ir/graph.h"
#include "rlx/ir/text.h"
#include "rlx/ir/text_numbers.h"
#include "rlx/ir/text_scan.h"

namespace rlx {
namespace {

// Tensors that are named instead of written. One that several nodes share has one name.
class LargeTensors {
 public:
  explicit LargeTensors(const PrintOptions& options) : options_(options) {}

  bool is_large(const Tensor& tensor) const { return tensor.count() > options_.inline_elements; }

  const std::string& key_of(const Tensor& tensor, const std::string& wanted) {
    std::string& key = keys_[{tensor.bytes().data(), tensor.dtype(), tensor.shape()}];
    if (!key.empty()) return key;
    key = wanted;
    for (int number = 2; !taken_.insert(key).second; ++number) key = text(wanted, '#', number);
    if (options_.large) options_.large(key, tensor);
    return key;
  }

 private:
  const PrintOptions& options_;
  std::map<std::tuple<const std::byte*, DType, std::vector<int64_t>>, std::string> keys_;
  std::set<std::string> taken_;
};

class Printer {
 public:
  Printer(const PrintOptions& options) : large_(options) { out_.imbue(std::locale::classic()); }

  std::string print_all(const Graph& graph) {
    out_ << "rlx 1\n";
    print_graph(graph, "", "");
    return out_.str();
  }

 private:
  // Where in the text an attribute is.
  struct Place {
    std::string indent;
    std::string key;  // for a tensor, and the start of the keys in a body
  };

  void print_graph(const Graph& graph, const std::string& indent, const std::string& key) {
    for (const auto& [name, bounds] : graph.symbols()) {
      out_ << indent << "symbol " << name;
      if (bounds.low == 0)
        out_ << " <= " << bounds.high << '\n';
      else
        out_ << " in " << bounds.low << ".." << bounds.high << '\n';
    }
    std::vector<size_t> first_ids;  // of each node's results
    size_t ids = 0;
    for (const Node& node : graph.nodes()) {
      first_ids.push_back(ids);
      print_node(node, first_ids, {indent, key});
      ids += node.types.size();
    }
    for (const StateUpdate& update : graph.updates()) {
      print_value(update.state, first_ids, indent + "update ");
      print_value(update.next, first_ids, " <- ");
      out_ << '\n';
    }
    for (const GraphOutput& output : graph.outputs()) {
      print_value(output.value, first_ids, indent + "output " + quoted(output.name) + " ");
      out_ << '\n';
    }
  }

  void print_value(Value value, const std::vector<size_t>& first_ids, const std::string& before) {
    out_ << before;
    if (!value.present())
      out_ << '_';
    else
      out_ << '%' << first_ids[static_cast<size_t>(value.node)] + static_cast<size_t>(value.result);
  }

  void print_node(const Node& node, const std::vector<size_t>& first_ids, const Place& place) {
    const size_t id = first_ids.back();
    out_ << place.indent;
    for (size_t i = 0; i < node.types.size(); ++i) out_ << (i ? ", %" : "%") << id + i;
    out_ << " = " << printed_name(node.op->name);
    for (size_t i = 0; i < node.inputs.size(); ++i)
      print_value(node.inputs[i], first_ids, i ? ", " : " ");
    const std::string node_key =
        place.key + (node.name.empty() || !is_utf8(node.name) ? text('%', id) : node.name);
    for (const auto& [name, attr] : node.attrs) {
      out_ << ' ' << printed_name(name) << '=';
      const bool plain = name == "value" || !is_utf8(name);
      const Place attr_place{place.indent, plain ? node_key : text(node_key, '.', name)};
      std::visit([&](const auto& value) { print_attr(value, attr_place); }, attr.variant());
    }
    out_ << " @" << quoted(node.name);
    if (!node.origin.empty()) out_ << " from " << quoted(node.origin);
    out_ << " : " << joined(node.types) << '\n';
  }

  void print_attr(bool value, const Place&) { out_ << (value ? "true" : "false"); }
  void print_attr(int64_t value, const Place&) { out_ << value; }
  void print_attr(double value, const Place&) { out_ << print_float(value); }
  void print_attr(const std::string& value, const Place&) { out_ << quoted(value); }
  void print_attr(DType value, const Place&) { out_ << value; }
  void print_attr(const Dims& value, const Place&) { out_ << "dims" << value; }
  void print_attr(const Bools& values, const Place& place) {
    print_list<bool>("bools", values, place);
  }
  void print_attr(const Ints& values, const Place& place) {
    print_list<int64_t>("ints", values, place);
  }
  void print_attr(const Floats& values, const Place& place) {
    print_list<double>("floats", values, place);
  }
  void print_attr(const Strings& values, const Place& place) {
    print_list<std::string>("strings", values, place);
  }
  void print_attr(const DTypes& values, const Place& place) {
    print_list<DType>("dtypes", values, place);
  }
  void print_attr(const Shapes& values, const Place& place) {
    print_list<Dims>("shapes", values, place);
  }

  template <class Item, class List>
  void print_list(const char* kind, const List& list, const Place& place) {
    if (list.empty()) out_ << kind;  // there is no item to tell it by
    out_ << '[';
    bool first = true;
    for (const Item& item : list) {
      if (!first) out_ << ", ";
      print_attr(item, place);
      first = false;
    }
    out_ << ']';
  }

  void print_attr(const Tensor& tensor, const Place& place) {
    out_ << tensor.type();
    if (large_.is_large(tensor)) {
      out_ << '@' << quoted(large_.key_of(tensor, place.key));
      return;
    }
    out_ << '{';
    const std::byte* at = tensor.bytes().data();
    for (int64_t i = 0; i < tensor.count(); ++i, at += bytes_of(tensor.dtype())) {
      if (i > 0) out_ << ", ";
      if (tensor.dtype() == DType::c64)
        out_ << '(' << print_element(DType::f32, at) << ", " << print_element(DType::f32, at + 4)
             << ')';
      else
        out_ << print_element(tensor.dtype(), at);
    }
    out_ << '}';
  }

  void print_attr(const GraphPtr& body, const Place& place) {
    assert(body != nullptr);
    out_ << "{\n";
    print_graph(*body, place.indent + "  ", place.key + "/");
    out_ << place.indent << '}';
  }

  std::ostringstream out_;
  LargeTensors large_;
};

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  return Printer(options).print_all(graph);
}

bool same_attrs(const Attrs& a, const Attrs& b) {
  if (a.size() != b.size()) return false;
  for (auto x = a.begin(), y = b.begin(); x != a.end(); ++x, ++y) {
    if (x->first != y->first) return false;
    if (x->second == y->second) continue;
    const auto* first = std::get_if<GraphPtr>(&x->second.variant());
    const auto* second = std::get_if<GraphPtr>(&y->second.variant());
    const PrintOptions whole{.inline_elements = INT64_MAX, .large = {}};
    if (!first || !second || print(**first, whole) != print(**second, whole)) return false;
  }
  return true;
}

}  // namespace rlx
