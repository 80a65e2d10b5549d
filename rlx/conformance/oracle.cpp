#include "rlx/conformance/oracle.h"

#include <cstdio>
#include <cstdlib>
#include <span>
#include <sstream>

#include "rlx/base/text.h"
#include "rlx/conformance/case_data.h"
#include "rlx/conformance/runner.h"
#include "rlx/ir/graph.h"
#include "rlx/ir/text.h"
#include "rlx/ir/text_literals.h"

namespace rlx {
namespace {

// The words of a line, one at a time.
class Words {
 public:
  Words(std::string_view line, std::string place) : line_(line), place_(std::move(place)) {}

  std::string next(const char* what) {
    const std::string_view found = take(line_.find(' '));
    if (found.empty()) fail(ErrorKind::invalid_model, place_, what, " is missing");
    return std::string(found);
  }
  std::string rest() { return std::string(take(std::string_view::npos)); }
  bool at_end() const { return line_.empty(); }
  const std::string& place() const { return place_; }

 private:
  std::string_view take(size_t length) {
    const std::string_view taken = line_.substr(0, length);
    line_.remove_prefix(std::min(line_.size(), taken.size() + 1));
    return taken;
  }

  std::string_view line_;
  std::string place_;
};

void read_element(const std::string& word, Tensor& tensor, int64_t i) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::u64)
    tensor.set_integer(i, static_cast<int64_t>(std::strtoull(word.c_str(), nullptr, 10)));
  else if (is_integer(dtype) || dtype == DType::boolean)
    tensor.set_integer(i, std::strtoll(word.c_str(), nullptr, 10));
  else
    tensor.set(i, std::strtod(word.c_str(), nullptr));
}

// "f32[2, 3]: 1 2 3 4 5 6", complex numbers as two.
Tensor read_tensor(const std::string& line, const std::string& place) {
  const size_t colon = line.find(':');
  if (colon == std::string::npos) fail(ErrorKind::invalid_model, place, "a tensor has no ':'");
  Scanner scanner(std::string_view(line).substr(0, colon), place);
  const TensorType type = parse_type(scanner);
  Tensor tensor(type.dtype, concrete(type.shape));
  Words words(std::string_view(line).substr(std::min(line.size(), colon + 2)), place);
  if (type.dtype == DType::c64) {
    for (auto& z : tensor.mutable_data<float[2]>())
      for (float& part : z) part = std::strtof(words.next("a number").c_str(), nullptr);
  } else {
    for (int64_t i = 0; i < tensor.count(); ++i) read_element(words.next("a number"), tensor, i);
  }
  if (!words.at_end()) fail(ErrorKind::invalid_model, place, "more numbers than ", type, " has");
  return tensor;
}

// FNV-1a of all that is added.
class Hash {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  void add(const Tensor& tensor) {
    add(text(tensor.type()));
    const std::span<const std::byte> bytes = tensor.bytes();
    add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  void add(bool value) { add(text(value)); }
  void add(int64_t value) { add(text(value)); }
  void add(double value) { add(print_float(value)); }
  void add(const std::string& value) { add(std::string_view(value)); }
  void add(DType value) { add(name(value)); }
  void add(const Dims& value) { add(text(value)); }
  void add(const GraphPtr& value) { add_graph(*value); }
  template <class Item>
  void add(const std::vector<Item>& list) {
    for (const Item& item : list) {
      add(item);
      add(std::string_view(", "));
    }
  }
  // By what its outputs are made of: compilers differ in the order in which they add nodes.
  void add_graph(const Graph& graph) {
    for (const GraphOutput& output : graph.outputs()) add_value(output.value);
  }

  std::string text_of() const {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value_));
    return digits;
  }

 private:
  void add_value(Value value) {
    if (!value.present()) return add(std::string_view("_"));
    const Node& node = value.producer();
    add(text('(', node.op->name, ' ', value.result, ' ', is_input(node) ? node.name : ""));
    for (const auto& [name, attr] : node.attrs) {
      add(text(' ', name, '='));
      std::visit([&](const auto& held) { add(held); }, attr.variant());
    }
    for (const Value& input : node.inputs) add_value(input);
    add(std::string_view(")"));
  }

  uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace

std::vector<OracleRow> parse_oracle(std::string_view source, const std::string& file) {
  std::vector<OracleRow> rows;
  std::string op, by;
  std::istringstream lines{std::string(source)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    Words words(line, text(file, ':', ++number, ": "));
    if (line.empty() || line[0] == '#') continue;
    const std::string kind = words.next("a word");
    if (kind == "op") {
      op = words.next("the op");
      by = words.next("who computed it");
    } else if (kind == "row") {
      const std::string hash = words.next("the fingerprint");
      rows.push_back({op, by, words.rest(), hash, {}});
    } else if (kind == "is" && !rows.empty()) {
      rows.back().results.push_back(read_tensor(words.rest(), words.place()));
    } else {
      fail(ErrorKind::invalid_model, words.place(), "'", kind, "' is not op, row or is");
    }
  }
  return rows;
}

std::string fingerprint(const OpCase& row, const OpSet& ops) {
  const CaseGraph built = case_graph(row, ops);
  Hash hash;
  // A composition may become another graph that computes the same.
  if (ops.find(row.op))
    hash.add_graph(built.graph);
  else
    hash.add(describe(row));
  for (const auto& [name, tensor] : built.inputs) {
    hash.add(name);
    hash.add(tensor);
  }
  return hash.text_of();
}

}  // namespace rlx
