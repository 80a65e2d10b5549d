// What the converter of one ONNX operator sees: its node, its operands as values of the graph that
// is being built, its attributes with their defaults.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rlx/import/onnx/budget.h"
#include "rlx/import/onnx/model.h"
#include "rlx/ir/graph.h"

namespace rlx::onnx {

struct Item;

// The elements of a sequence. One that grew at its end shares them with the shorter one it was made
// of: a loop that appends ten thousand would else copy fifty million.
class Sequence {
 public:
  Sequence() = default;  // none
  explicit Sequence(std::vector<Item> items);

  explicit operator bool() const { return items_ != nullptr; }
  size_t size() const { return size_; }
  const Item& at(size_t k) const;
  std::vector<Item> all() const;
  Sequence with(const Item& item) const;  // after the last
  Sequence first(size_t count) const;
  // Would with() have to copy, because another grew already?
  bool is_shared() const;

 private:
  std::shared_ptr<std::deque<Item>> items_;
  size_t size_ = 0;
};

// A value of an ONNX graph: a tensor, a sequence of items, strings, or nothing.
struct Item {
  Value value = {};
  Value integers = {};  // those that a tensor of floats was cast from
  Sequence sequence = {};
  // The elements of a sequence that have one type, as rows: then only a run may know how many
  // there are.
  Value rows = {};
  Value repeats = {};         // how often each row is there, one behind the other; else once
  int64_t repeats_along = 0;  // the axis of a row
  Value text = {};            // of strings, their bytes: few operators know what to do with it
  bool is_none = false;       // an optional without an element

  Item() = default;
  Item(Value v) : value(v) {}  // NOLINT(google-explicit-constructor): most items are tensors
  bool present() const { return value.present() || is_sequence() || text.present(); }
  bool is_sequence() const { return sequence || rows.present(); }
};
// A tensor of numbers or of strings.
inline Item tensor_item(Value value, bool is_string) {
  Item item(is_string ? Value{} : value);
  if (is_string) item.text = value;
  return item;
}
using Items = std::vector<Item>;

// Bodies of If, Loop or Scan as graphs of their own, and the outer values they read, which come
// last among the inputs of each, in the same order.
struct Bodies {
  std::vector<rlx::Graph> graphs;
  Values captured;
};

class NodeSite {
 public:
  const Node& node;
  const int64_t opset;  // of the node's domain
  rlx::Graph& graph;
  Items inputs;
  // Makes bodies whose own inputs have the given types.
  std::function<Bodies(const std::vector<const Graph*>& bodies, const Types& inputs)> make_bodies;
  // Adds a body's nodes here, its inputs being the items; what its outputs are.
  std::function<Items(const Graph& body, const Items& inputs)> inline_body;
  // What a name stands for here.
  std::function<Item(const std::string& name)> named = {};
  Spending* spending = nullptr;  // of the budget; null where no more than one small node is made
  bool exact_resize = false;     // ImportOptions'

  bool has(size_t i) const { return i < inputs.size() && inputs[i].present(); }
  Value in(size_t i) const;     // must be there
  Value maybe(size_t i) const;  // absent: none
  bool is_text(size_t i) const { return has(i) && inputs[i].text.present(); }
  Value text_in(size_t i) const;             // must be strings
  const Sequence& sequence(size_t i) const;  // must be one
  Values all_inputs(size_t from = 0) const;
  size_t outputs() const { return node.outputs.size(); }
  bool wants(size_t i) const { return i < node.outputs.size() && !node.outputs[i].empty(); }

  int64_t integer(std::string_view name, int64_t otherwise) const;
  int64_t integer(std::string_view name) const;  // must be given
  bool flag(std::string_view name, bool otherwise = false) const;
  double real(std::string_view name, double otherwise) const;
  std::string string(std::string_view name, const std::string& otherwise = "") const;
  Ints ints(std::string_view name, const Ints& otherwise = {}) const;
  Floats floats(std::string_view name, const Floats& otherwise = {}) const;
  Strings strings(std::string_view name) const;
  const Attribute* attribute(std::string_view name) const { return node.find(name); }
  const Graph& body(std::string_view name) const;

  // The elements of an operand that must be known now: a constant, or numbers found on the way. If
  // they are not, an UnknownInput.
  Ints known_ints(size_t i) const;
  std::optional<Ints> maybe_ints(size_t i) const;  // none: known only when a run is bound
  // The same as dims, which may be expressions over symbols.
  Dims known_dims(size_t i) const;
  Tensor known_tensor(size_t i) const;
  double known_number(size_t i) const;  // its first element
  std::optional<Tensor> maybe_tensor(size_t i) const;

  // What the converter is about to make, where a few bytes can ask for much of it.
  void spend_nodes(int64_t count) const {
    if (spending) spending->nodes(count);
  }
  void spend_elements(int64_t count) const {
    if (spending) spending->elements(count);
  }

  // Constants of the graph.
  Value scalar(DType dtype, double value) const;
  Value constant(const Tensor& tensor) const { return graph.constant(tensor); }
  Value list(const Ints& numbers) const;  // as i64

  template <class... Parts>
  [[noreturn]] void fail_node(const Parts&... parts) const {
    fail(ErrorKind::unsupported, node.op, ": ", parts...);
  }
};

// The elements of a value that a file alone decides.
std::optional<Tensor> known_elements(Value value);
std::optional<Ints> known_numbers(Value value);

struct Operator {
  std::string_view name;
  Items (*convert)(const NodeSite& site);
};

// By domain: "" is ONNX's own.
std::span<const Operator> math_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> shape_operators();
std::span<const Operator> window_operators();
std::span<const Operator> control_operators();
std::span<const Operator> sequence_operators();
std::span<const Operator> quantised_operators();
std::span<const Operator> signal_operators();
std::span<const Operator> text_operators();
std::span<const Operator> training_operators();
std::span<const Operator> transformer_operators();
std::span<const Operator> vision_operators();
std::span<const Operator> microsoft_operators();
std::span<const Operator> microsoft_attention_operators();
std::span<const Operator> microsoft_block_operators();
std::span<const Operator> microsoft_quantised_operators();

}  // namespace rlx::onnx
