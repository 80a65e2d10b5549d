#include "rlx/import/onnx/site.h"

#include <set>

#include "rlx/import/onnx/import.h"
#include "rlx/ir/graph.h"
#include "rlx/ir/known.h"

namespace rlx::onnx {

Sequence::Sequence(std::vector<Item> items)
    : items_(std::make_shared<std::deque<Item>>(items.begin(), items.end())), size_(items.size()) {}

const Item& Sequence::at(size_t k) const {
  if (k >= size_)
    fail(ErrorKind::invalid_model, "there is no element ", k, " of a sequence of ", size_);
  return (*items_)[k];
}

std::vector<Item> Sequence::all() const {
  return {items_->begin(), items_->begin() + static_cast<int64_t>(size_)};
}

bool Sequence::is_shared() const { return items_->size() != size_; }

Sequence Sequence::with(const Item& item) const {
  Sequence longer = is_shared() ? Sequence(all()) : *this;
  longer.items_->push_back(item);
  ++longer.size_;
  return longer;
}

Sequence Sequence::first(size_t count) const {
  Sequence shorter = *this;
  shorter.size_ = count;
  return shorter;
}

Value NodeSite::in(size_t i) const {
  if (!has(i)) fail_node("input ", i, " is missing");
  if (is_text(i))
    fail_node("input ", i,
              " is of strings, which only Cast, CastLike, Identity and StringNormalizer take");
  if (!inputs[i].value.present()) fail_node("input ", i, " must be a tensor of numbers");
  return inputs[i].value;
}
Value NodeSite::maybe(size_t i) const { return has(i) ? in(i) : Value{}; }
Value NodeSite::text_in(size_t i) const {
  if (!is_text(i)) fail_node("input ", i, " must be a tensor of strings");
  return inputs[i].text;
}

const Sequence& NodeSite::sequence(size_t i) const {
  if (!has(i) || !inputs[i].sequence)
    fail_node("input ", i, " must be a sequence",
              has(i) && inputs[i].rows ? " of which the length is known" : "");
  return inputs[i].sequence;
}

Values NodeSite::all_inputs(size_t from) const {
  Values values;
  for (size_t i = from; i < inputs.size(); ++i) values.push_back(in(i));
  return values;
}

namespace {

// As AttributeProto numbers them.
enum class AttributeType { none, real, integer, string, tensor, graph, reals, integers, strings };

// The attribute, which is of this type where it says of which it is: the numbers of another would
// be read as none.
const Attribute* found_as(const NodeSite& site, std::string_view name, AttributeType type) {
  constexpr const char* kNames[] = {"",      "float",  "int",  "string", "tensor",
                                    "graph", "floats", "ints", "strings"};
  const Attribute* found = site.node.find(name);
  if (!found || found->type == 0 || found->type == static_cast<int>(type)) return found;
  const bool is_known = found->type > 0 && static_cast<size_t>(found->type) < std::size(kNames);
  site.fail_node("attribute '", name, "' is of type ",
                 is_known ? kNames[found->type] : text(found->type), ", not ",
                 kNames[static_cast<size_t>(type)]);
}

}  // namespace

int64_t NodeSite::integer(std::string_view name, int64_t otherwise) const {
  const Attribute* found = found_as(*this, name, AttributeType::integer);
  return found ? found->i : otherwise;
}
int64_t NodeSite::integer(std::string_view name) const {
  if (!node.find(name)) fail_node("attribute '", name, "' is missing");
  return integer(name, 0);
}
bool NodeSite::flag(std::string_view name, bool otherwise) const {
  return integer(name, otherwise ? 1 : 0) != 0;
}
double NodeSite::real(std::string_view name, double otherwise) const {
  const Attribute* found = found_as(*this, name, AttributeType::real);
  return found ? found->f : otherwise;
}
std::string NodeSite::string(std::string_view name, const std::string& otherwise) const {
  const Attribute* found = found_as(*this, name, AttributeType::string);
  return found ? found->s : otherwise;
}
Ints NodeSite::ints(std::string_view name, const Ints& otherwise) const {
  const Attribute* found = found_as(*this, name, AttributeType::integers);
  return found ? Ints(found->ints.begin(), found->ints.end()) : otherwise;
}
Floats NodeSite::floats(std::string_view name, const Floats& otherwise) const {
  const Attribute* found = found_as(*this, name, AttributeType::reals);
  return found ? Floats(found->floats.begin(), found->floats.end()) : otherwise;
}
Strings NodeSite::strings(std::string_view name) const {
  const Attribute* found = found_as(*this, name, AttributeType::strings);
  return found ? Strings(found->strings.begin(), found->strings.end()) : Strings{};
}
const Graph& NodeSite::body(std::string_view name) const {
  const Attribute* found = node.find(name);
  if (!found || !found->g) fail_node("attribute '", name, "' must be a graph");
  return *found->g;
}

std::optional<Tensor> NodeSite::maybe_tensor(size_t i) const {
  return has(i) && inputs[i].value.present() ? known_elements(inputs[i].value) : std::nullopt;
}

// The structure of a graph may be read from a weight or a state as it comes in the file.
std::optional<Tensor> known_elements(Value value) {
  const rlx::Node& producer = value.producer();
  if (const Tensor* tensor = is_state(producer) ? initial_of(producer) : tensor_of(producer))
    return *tensor;
  return rlx::known_tensor(value);
}

std::optional<Ints> known_numbers(Value value) {
  const std::optional<Tensor> tensor = known_elements(value);
  if (!tensor) return std::nullopt;
  Ints numbers;
  for (int64_t k = 0; k < tensor->count(); ++k) numbers.push_back(tensor->integer_at(k));
  return numbers;
}

std::optional<Ints> NodeSite::maybe_ints(size_t i) const {
  return has(i) ? known_numbers(in(i)) : std::nullopt;
}

namespace {

// The names of the graph's inputs that a value is computed from.
Strings inputs_behind(Value value) {
  Strings names;
  std::set<int> seen;
  Values open{value};
  while (!open.empty()) {
    const Value next = open.back();
    open.pop_back();
    if (!next || !seen.insert(next.node).second) continue;
    const rlx::Node& producer = next.producer();
    if (is_input(producer)) names.push_back(producer.name);
    open.insert(open.end(), producer.inputs.begin(), producer.inputs.end());
  }
  return names;
}

}  // namespace

Ints NodeSite::known_ints(size_t i) const {
  if (std::optional<Ints> known = maybe_ints(i)) return *known;
  const std::string name = i < node.inputs.size() ? node.inputs[i] : "";
  throw UnknownInput(inputs_behind(in(i)),
                     text(node.op, ": input ", i, " ('", name,
                          "') decides the graph's structure, so it must be a constant"));
}

Dims NodeSite::known_dims(size_t i) const {
  if (const std::optional<Ints> numbers = maybe_ints(i)) return {numbers->begin(), numbers->end()};
  const Value value = in(i);
  const auto& host = value.producer().host_values[static_cast<size_t>(value.result)];
  if (host) return {host->elements.begin(), host->elements.end()};
  const Ints numbers = known_ints(i);  // says what is wrong
  return {numbers.begin(), numbers.end()};
}

Tensor NodeSite::known_tensor(size_t i) const {
  if (const std::optional<Tensor> known = known_elements(in(i))) return *known;
  known_ints(i);  // says what is wrong
  return {};
}

double NodeSite::known_number(size_t i) const {
  const Tensor tensor = known_tensor(i);
  if (tensor.count() == 0) fail_node("input ", i, " has no element");
  return tensor.at(0);
}

Value NodeSite::scalar(DType dtype, double value) const {
  return graph.constant(Tensor::scalar(dtype, value));
}

Value NodeSite::list(const Ints& numbers) const {
  Tensor tensor(DType::i64, {static_cast<int64_t>(numbers.size())});
  for (size_t i = 0; i < numbers.size(); ++i)
    tensor.set_integer(static_cast<int64_t>(i), numbers[i]);
  return graph.constant(tensor);
}

}  // namespace rlx::onnx
