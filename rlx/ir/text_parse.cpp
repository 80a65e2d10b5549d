// Reads a graph from text.

#include <set>

#include "rlx/ir/graph.h"
#include "rlx/ir/text.h"
#include "rlx/ir/text_literals.h"
#include "rlx/ir/text_numbers.h"
#include "rlx/ir/text_scan.h"

namespace rlx {
namespace {

constexpr int kDeepest = 64;

const OpDef* source_named(std::string_view name) {
  for (const OpDef* op : {&input_op(), &weight_op(), &constant_op(), &state_op()})
    if (op->name == name) return op;
  return nullptr;
}

// One graph of the text: the whole, or a body in the attributes of a node.
class GraphParser {
 public:
  GraphParser(Scanner& in, const OpSet& ops, const ParseOptions& options, int depth)
      : in_(in), ops_(ops), options_(options), depth_(depth) {}

  Graph parse_all() {
    for (in_.skip_lines(); !in_.at_end(); in_.skip_lines()) parse_statement();
    return std::move(graph_);
  }

  Graph parse_body() {
    const size_t start = in_.position();
    if (depth_ > kDeepest) in_.fail_here("graphs are nested more than ", kDeepest, " deep");
    in_.expect("{");
    for (in_.skip_lines(); !in_.accept("}"); in_.skip_lines()) {
      if (in_.at_end()) in_.fail_at(start, "the graph that starts here is not closed with '}'");
      parse_statement();
    }
    return std::move(graph_);
  }

 private:
  // What the text says of a node.
  struct Line {
    size_t start = 0;  // of the op's name
    std::string op;
    size_t results = 0;
    Values operands;
    Attrs attrs;
    std::optional<std::string> name;
    std::string origin;
    Types types;
    std::vector<size_t> type_starts;
  };

  void parse_statement() {
    if (in_.next_is('%'))
      parse_node();
    else if (in_.accept_word("symbol"))
      parse_symbol();
    else if (in_.accept_word("update"))
      parse_update();
    else if (in_.accept_word("output"))
      parse_output();
    else
      in_.fail_here("expected '%', 'symbol', 'update' or 'output', found ", in_.found());
    const bool closes = depth_ > 0 && in_.next_is('}');
    if (!in_.at_line_end() && !closes)
      in_.fail_here("expected the end of the line, found ", in_.found());
  }

  void parse_symbol() {
    const size_t start = in_.position();
    const std::string name = in_.name("a symbol");
    int64_t low = 0;
    if (in_.accept_word("in")) {
      low = in_.integer("a symbol's least value");
      in_.expect("..");
    } else if (!in_.accept("<=")) {
      in_.fail_here("expected '<=' or 'in' after symbol '", name, "', found ", in_.found());
    }
    const int64_t high = in_.integer("a symbol's greatest value");
    in_.located(start, [&] { return graph_.symbol(name, high, low); });
    symbols_.insert(name);
  }

  void parse_update() {
    const size_t start = in_.position();
    const Value state = parse_value();
    in_.expect("<-");
    const Value next = parse_value();
    in_.located(start, [&] { graph_.update(state, next); });
  }

  void parse_output() {
    const size_t start = in_.position();
    const std::string name = in_.string("an output's name");
    const Value value = parse_value();
    in_.located(start, [&] { graph_.output(name, value); });
  }

  Value parse_value() {
    const size_t start = in_.position();
    in_.expect("%");
    const uint64_t id = in_.digits("a value's number");
    if (id < values_.size()) return values_[id];
    if (values_.empty()) in_.fail_at(start, "%", id, " is not a value: there is none before");
    in_.fail_at(start, "%", id, " is not a value before here; the last is %", values_.size() - 1);
  }

  void parse_node() {
    const Line line = parse_line();
    const OpDef* source = source_named(line.op);
    const int fresh_before = graph_.data()->fresh_symbols;
    const Value first = source ? add_source(*source, line) : add_node(line);
    Node& node = graph_.data()->nodes.back();
    node.name = line.name.value_or(node.name);
    node.origin = line.origin;
    if (node.types.size() != line.results)
      in_.fail_at(line.start, line.op, " has ", node.types.size(), " results, here are ",
                  line.results);
    keep_printed_names(node, line.types, fresh_before);
    for (size_t i = 0; i < line.results; ++i) {
      if (!(node.types[i] == line.types[i]))
        in_.fail_at(line.type_starts[i], "result ", i, " of ", line.op, " is ", node.types[i],
                    ", not ", line.types[i]);
      for (const Dim& dim : node.types[i].shape)
        for (const std::string& symbol : dim.symbols()) symbols_.insert(symbol);
      values_.push_back(first.of(static_cast<int>(i)));
    }
  }

  Line parse_line() {
    Line line;
    do {
      const size_t start = in_.position();
      in_.expect("%");
      const uint64_t id = in_.digits("a value's number"), expected = values_.size() + line.results;
      if (id != expected)
        in_.fail_at(start, "expected %", expected, ", found %", id,
                    ": results are numbered in order");
      ++line.results;
    } while (in_.accept(","));
    in_.expect("=");
    line.start = in_.position();
    line.op = in_.name("the name of an op");
    parse_operands(line);
    parse_attrs(line);
    if (in_.accept("@")) line.name = in_.string("a node's name");
    if (in_.accept_word("from")) line.origin = in_.string("a node's origin");
    in_.expect(":");
    for (size_t i = 0; i < line.results; ++i) {
      if (i > 0) in_.expect(",");
      line.type_starts.push_back(in_.position());
      line.types.push_back(parse_type(in_));
    }
    return line;
  }

  void parse_operands(Line& line) {
    const auto is_operand = [&] { return in_.next_is('%') || in_.peek_word() == "_"; };
    if (!is_operand()) return;
    do {
      if (!is_operand()) in_.fail_here("expected an operand, found ", in_.found());
      line.operands.push_back(in_.accept_word("_") ? Value{} : parse_value());
    } while (in_.accept(","));
  }

  void parse_attrs(Line& line) {
    while (in_.next_is('"') || (!in_.peek_word().empty() && in_.peek_word() != "from")) {
      const size_t start = in_.position();
      const std::string name = in_.name("an attribute's name");
      if (line.attrs.has(name)) in_.fail_at(start, "attribute '", name, "' is given twice");
      in_.expect("=");
      line.attrs.set(name, in_.next_is('{') ? Attr(parse_nested()) : parse_literal(in_, options_));
    }
  }

  GraphPtr parse_nested() {
    return std::make_shared<const Graph>(GraphParser(in_, ops_, options_, depth_ + 1).parse_body());
  }

  Value add_source(const OpDef& op, const Line& line) {
    if (!line.operands.empty())
      in_.fail_at(line.start, op.name, " has no operands, here are ", line.operands.size());
    if (line.results != 1)
      in_.fail_at(line.start, op.name, " has 1 result, here are ", line.results);
    if (&op == &state_op() && !is_concrete(line.types[0].shape))
      in_.fail_at(line.type_starts[0], "a state has a fixed shape, not ", line.types[0].shape);
    return in_.located(line.start, [&] {
      return graph_.add_source(op, line.types[0], line.attrs, line.name.value_or(""));
    });
  }

  Value add_node(const Line& line) {
    constexpr size_t kLongest = 256;  // looking for the nearest name takes time
    if (line.op.size() > kLongest)
      in_.fail_at(line.start, "there is no op with a name of ", line.op.size(), " characters");
    return in_.located(line.start, [&] {
      return graph_.add(ops_.at(line.op), line.operands, line.attrs, line.name.value_or(""));
    });
  }

  // Extents that only a run can tell were given names when the node was first made, and passes may
  // have changed the order since: takes those of the text, unless they mean something already.
  void keep_printed_names(Node& node, const Types& printed, int fresh_before) {
    GraphData& data = *graph_.data();
    std::map<std::string, Dim> renamed;
    for (int number = fresh_before; number < data.fresh_symbols; ++number) {
      const std::string fresh = text('s', number);
      if (const auto name = printed_name_of(Dim(fresh), node.types, printed);
          name && *name != fresh)
        if (symbols_.insert(*name).second) renamed.emplace(fresh, *name);
    }
    if (renamed.empty()) return;
    for (TensorType& type : node.types)
      for (Dim& dim : type.shape) dim = dim.substitute(renamed);
    for (DimCheck& check : node.checks) {
      check.a = check.a.substitute(renamed);
      check.b = check.b.substitute(renamed);
    }
    for (std::optional<HostValue>& host : node.host_values)
      if (host)
        for (Dim& element : host->elements) element = element.substitute(renamed);
    std::map<std::string, Dim> definitions;
    for (const auto& [symbol, meaning] : node.definitions) {
      const auto now = renamed.find(symbol);
      definitions.emplace(now == renamed.end() ? symbol : *now->second.symbol(),
                          meaning.substitute(renamed));
    }
    node.definitions = std::move(definitions);
    for (const auto& [fresh, name] : renamed) skip_fresh_symbol(data, *name.symbol());
  }

  static std::optional<std::string> printed_name_of(const Dim& fresh, const Types& types,
                                                    const Types& printed) {
    for (size_t i = 0; i < types.size(); ++i) {
      const Dims &a = types[i].shape, &b = printed[i].shape;
      for (size_t d = 0; d < std::min(a.size(), b.size()); ++d)
        if (a[d] == fresh) return b[d].symbol();
    }
    return std::nullopt;
  }

  Scanner& in_;
  const OpSet& ops_;
  const ParseOptions& options_;
  const int depth_;
  Graph graph_;
  Values values_;                  // by number
  std::set<std::string> symbols_;  // that have a meaning already
};

}  // namespace

Graph parse(std::string_view source, const OpSet& ops, const ParseOptions& options) {
  constexpr uint64_t kVersion = 1;
  Scanner in(source, options.file);
  in.skip_lines();
  if (!in.accept_word("rlx"))
    in.fail_here("expected 'rlx ", kVersion, "' on the first line, found ", in.found());
  const size_t start = in.position();
  if (const uint64_t version = in.digits("a version"); version != kVersion)
    in.fail_at(start, "the text is of version ", version, ", expected ", kVersion);
  if (!in.at_line_end()) in.fail_here("expected the end of the line, found ", in.found());
  return GraphParser(in, ops, options, 0).parse_all();
}

}  // namespace rlx
