// The text form: what is printed reads back as the same graph, and what is wrong is named.

#include "rlx/ir/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <ctime>
#include <limits>
#include <random>

#include "rlx/ir/graph.h"
#include "rlx/ir/text_numbers.h"

namespace rlx {
namespace {

// An op that takes anything: its results are its operands' types, then vectors.
OpDef anything() {
  OpDef op;
  op.name = "anything";
  op.inputs = {0, kMany, {"x"}};
  op.results = {1, 4, {}};
  for (const char* name :
       {"bool", "int", "float", "string", "dtype", "dims", "bools", "ints", "floats", "strings",
        "dtypes", "shapes", "tensor", "body", "other body", "from", "_", "results"})
    op.attrs.push_back({name, {}, true});
  op.infer = [](const InferSite& site) {
    Types types;
    const int64_t results = site.attrs.get_or<int64_t>("results", 1);
    for (size_t i = 0; i < static_cast<size_t>(results); ++i)
      types.push_back(site.has(i) ? site.in(i) : f32({site.inputs.size(), Dim("seq") * 2 + i}));
    if (site.has(0) && site.has(1) && rank(site.in(0)) > 0 && rank(site.in(1)) > 0)
      if (!site.in(0).shape[0].is_number())
        site.equal(site.in(0).shape[0], site.in(1).shape[0], "rows");
    return types;
  };
  return op;
}

// An op whose result only a run can measure.
OpDef measured() {
  OpDef op;
  op.name = "measured";
  op.inputs = {0, 1, {"x"}};
  op.infer = [](const InferSite& site) {
    const Dim rows = site.fresh(), columns = site.fresh();
    return Types{i64({rows, columns, rows + columns * 2}), f32({rows})};
  };
  return op;
}

OpDef same_type(const char* name) {
  OpDef op;
  op.name = name;
  op.inputs = {1, 1, {"x"}};
  op.attrs = {{"axis", Attr(-1)}};
  op.infer = [](const InferSite& site) { return Types{site.in(0)}; };
  return op;
}

const OpSet& test_ops() {
  static const OpSet ops = [] {
    OpSet set;
    set.add(std::make_shared<OpDef>(anything()));
    set.add(std::make_shared<OpDef>(measured()));
    set.add(std::make_shared<OpDef>(same_type("softmax")));
    set.add(std::make_shared<OpDef>(same_type("an op::with \"odd\" name")));
    return set;
  }();
  return ops;
}

// Random things, with a taste for the odd ones.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  uint64_t bits() { return engine_(); }
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(limit));
  }
  bool once_in(int64_t times) { return below(times) == 0; }

  double real() {
    const double odd[] = {0.0,
                          -0.0,
                          1.0,
                          100.0,
                          0.1,
                          1e300,
                          5e-324,
                          -2.5e-310,
                          1e16,
                          123456789012345678.0,
                          std::numeric_limits<double>::infinity(),
                          -std::numeric_limits<double>::infinity(),
                          std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::max()};
    if (once_in(2)) return odd[below(std::size(odd))];
    const uint64_t pattern =
        once_in(4) ? 0x7ff0000000000000 | bits() >> 14 : bits();  // a NaN with a payload
    double value = 0;
    std::memcpy(&value, &pattern, sizeof value);
    return value;
  }
  int64_t integer() {
    return once_in(4) ? static_cast<int64_t>(bits()) : once_in(8) ? INT64_MIN : below(9) - 4;
  }
  DType dtype() {
    return all_dtypes()[static_cast<size_t>(below(static_cast<int64_t>(all_dtypes().size())))];
  }

  std::string string() {
    static const char* const parts[] = {"a", "b/c", "\"",   "\\",   "\n", "\t", "\r",
                                        "é", "模",  "\x01", "\xff", "#",  " ",  "%1"};
    std::string out;
    for (int64_t i = below(5); i > 0; --i) out += parts[below(std::size(parts))];
    if (once_in(8)) out += '\0';
    return out;
  }

  Dim dim(int depth = 0) {
    static const char* const names[] = {"seq", "past", "a.b", "_x", "min", "batch"};
    Dim number = once_in(6) ? Dim(below(1'000'000'000)) : Dim(below(7));
    switch (below(depth > 2 ? 3 : 9)) {
      case 0:
        return number;
      case 1:
      case 2:
        return Dim(names[below(std::size(names))]);
      case 3:
        return dim(depth + 1) + dim(depth + 1);
      case 4:
        return dim(depth + 1) - dim(depth + 1);
      case 5:
        return once_in(2) ? dim(depth + 1) * Dim(below(5) - 2)
                          : broadcast(Dim(names[below(std::size(names))]), dim(depth + 1));
      case 6:
        return floor_div(dim(depth + 1), Dim(1 + below(9)));
      case 7:
        return once_in(2) ? mod(dim(depth + 1), Dim(7)) : Dim("seq") * dim(depth + 1);
      default:
        return once_in(2) ? min(dim(depth + 1), dim(depth + 1))
                          : max(dim(depth + 1), dim(depth + 1));
    }
  }
  Dims dims() {
    Dims dims;
    for (int64_t i = below(4); i > 0; --i) dims.push_back(dim());
    return dims;
  }
  TensorType type() {
    TensorType type{dtype(), dims()};
    for (Dim& extent : type.shape)
      if (extent.is_number() && extent.number() < 0) extent = 3;
    return type;
  }
  Tensor tensor() {
    Shape shape;
    for (int64_t i = below(3); i > 0; --i) shape.push_back(below(4));
    Tensor tensor(dtype(), shape);
    for (std::byte& byte : tensor.mutable_bytes())
      byte = static_cast<std::byte>(once_in(3) ? 0xff : bits());
    return tensor;
  }

  template <class List, class Make>
  List list(Make make) {
    List list;
    for (int64_t i = below(4); i > 0; --i) list.push_back(make());
    return list;
  }

 private:
  std::mt19937_64 engine_;
};

Graph random_graph(Random& random, int depth);

Attr random_attr(Random& random, int64_t kind, int depth) {
  switch (kind) {
    case 0:
      return random.once_in(2);
    case 1:
      return random.integer();
    case 2:
      return random.real();
    case 3:
      return random.string();
    case 4:
      return random.dtype();
    case 5:
      return random.dims();
    case 6:
      return random.list<Bools>([&] { return random.once_in(2); });
    case 7:
      return random.list<Ints>([&] { return random.integer(); });
    case 8:
      return random.list<Floats>([&] { return random.real(); });
    case 9:
      return random.list<Strings>([&] { return random.string(); });
    case 10:
      return random.list<DTypes>([&] { return random.dtype(); });
    case 11:
      return random.list<Shapes>([&] { return random.dims(); });
    case 12:
      return random.tensor();
    default:
      if (depth >= 2) return random.tensor();
      return GraphPtr(std::make_shared<const Graph>(random_graph(random, depth + 1)));
  }
}

Value random_value(Random& random, const Graph& graph) {
  const int node = static_cast<int>(random.below(static_cast<int64_t>(graph.nodes().size())));
  return graph.value(
      node, static_cast<int>(random.below(static_cast<int64_t>(graph.node(node).types.size()))));
}

void add_random_node(Random& random, Graph& graph, int depth) {
  Values inputs;
  for (int64_t i = random.below(4); i > 0; --i)
    inputs.push_back(random.once_in(4) ? Value{} : random_value(random, graph));
  Attrs attrs;
  const std::vector<AttrSpec>& specs = test_ops().at("anything")->attrs;
  for (int64_t i = random.below(5); i > 0; --i) {
    const size_t which = static_cast<size_t>(random.below(static_cast<int64_t>(specs.size()) - 1));
    attrs.set(specs[which].name, random_attr(random, static_cast<int64_t>(which), depth));
  }
  if (random.once_in(2)) attrs.set("results", 1 + random.below(4));
  const std::string name = random.once_in(2) ? random.string() : "";
  if (random.once_in(6))
    graph.add(test_ops().at("measured"), {}, {}, name);
  else if (random.once_in(6))
    graph.add(test_ops().at("an op::with \"odd\" name"), {random_value(random, graph)});
  else
    graph.add(test_ops().at("anything"), inputs, attrs, name);
}

Graph random_graph(Random& random, int depth) {
  Graph graph;
  if (random.once_in(2)) graph.symbol("seq", random.below(1000) + 10, random.below(10));
  if (random.once_in(4)) graph.symbol("past.1", kUnbounded);
  const TensorType state_type{random.dtype(), Shape{2, random.below(3)}};
  const Value state = graph.state("state " + random.string(), state_type);
  graph.input("x" + random.string(), random.type());
  for (int64_t i = random.below(12); i > 0; --i) {
    switch (random.below(6)) {
      case 0:
        graph.input(text("input ", i, random.string()),
                    random.once_in(4) ? state_type : random.type());
        break;
      case 1:
        graph.weight(text("weight ", i), random.tensor());
        break;
      case 2:
        graph.weight(text("weight ", i), random.type());
        break;
      case 3:
        graph.constant(random.tensor(), random.string());
        break;
      default:
        add_random_node(random, graph, depth);
        break;
    }
    const Value last = graph.value(static_cast<int>(graph.nodes().size()) - 1);
    if (random.once_in(3)) graph.set_origin(last, random.string());
    if (random.once_in(10) && !is_source(last.producer())) graph.set_name(last, "");
  }
  const Value next = random_value(random, graph);
  if (next.type() == state_type) graph.update(state, next);
  for (int64_t i = random.below(3); i > 0; --i)
    graph.output(text(random.string(), i), random_value(random, graph));
  return graph;
}

void expect_same(const Graph& a, const Graph& b);

bool same_host(const std::optional<HostValue>& a, const std::optional<HostValue>& b) {
  return a.has_value() == b.has_value() &&
         (!a || (a->shape == b->shape && a->elements == b->elements));
}

void expect_same_attrs(const Attrs& a, const Attrs& b) {
  ASSERT_EQ(a.size(), b.size());
  for (auto x = a.begin(), y = b.begin(); x != a.end(); ++x, ++y) {
    EXPECT_EQ(x->first, y->first);
    ASSERT_EQ(x->second.variant().index(), y->second.variant().index()) << x->first;
    if (const GraphPtr* body = std::get_if<GraphPtr>(&x->second.variant()))
      expect_same(**body, *std::get<GraphPtr>(y->second.variant()));
    else
      EXPECT_TRUE(x->second == y->second) << x->first;
  }
}

void expect_same_value(const Graph& a, const Graph& b, Value x, Value y) {
  EXPECT_TRUE(x.node == y.node && x.result == y.result && x.present() == y.present());
  EXPECT_TRUE(!x.present() || x.graph == a.data());
  EXPECT_TRUE(!y.present() || y.graph == b.data());
}

void expect_same(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.nodes().size(), b.nodes().size());
  for (size_t i = 0; i < a.nodes().size(); ++i) {
    const Node &x = a.nodes()[i], &y = b.nodes()[i];
    EXPECT_EQ(x.op.get(), y.op.get());
    ASSERT_EQ(x.inputs.size(), y.inputs.size());
    for (size_t j = 0; j < x.inputs.size(); ++j) expect_same_value(a, b, x.inputs[j], y.inputs[j]);
    expect_same_attrs(x.attrs, y.attrs);
    EXPECT_TRUE(x.types == y.types) << joined(x.types) << " and " << joined(y.types);
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.origin, y.origin);
    ASSERT_EQ(x.checks.size(), y.checks.size());
    for (size_t j = 0; j < x.checks.size(); ++j) EXPECT_EQ(x.checks[j].what, y.checks[j].what);
    ASSERT_EQ(x.host_values.size(), y.host_values.size());
    for (size_t j = 0; j < x.host_values.size(); ++j)
      EXPECT_TRUE(same_host(x.host_values[j], y.host_values[j]));
  }
  ASSERT_EQ(a.outputs().size(), b.outputs().size());
  for (size_t i = 0; i < a.outputs().size(); ++i) {
    EXPECT_EQ(a.outputs()[i].name, b.outputs()[i].name);
    expect_same_value(a, b, a.outputs()[i].value, b.outputs()[i].value);
  }
  ASSERT_EQ(a.updates().size(), b.updates().size());
  for (size_t i = 0; i < a.updates().size(); ++i) {
    expect_same_value(a, b, a.updates()[i].state, b.updates()[i].state);
    expect_same_value(a, b, a.updates()[i].next, b.updates()[i].next);
  }
  ASSERT_EQ(a.symbols().size(), b.symbols().size());
  for (const auto& [name, bounds] : a.symbols()) {
    ASSERT_EQ(b.symbols().count(name), 1u);
    EXPECT_EQ(bounds.low, b.symbols().at(name).low);
    EXPECT_EQ(bounds.high, b.symbols().at(name).high);
  }
  EXPECT_EQ(a.data()->fresh_symbols, b.data()->fresh_symbols);
}

TEST(TextForm, RandomGraphsReadBackAsTheyWere) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const Graph graph = random_graph(random, 0);
    const std::string printed = print(graph);
    SCOPED_TRACE(text("seed ", seed, "\n", printed));
    const Graph parsed = parse(printed, test_ops());
    EXPECT_EQ(print(parsed), printed);
    expect_same(graph, parsed);
    if (HasFailure()) return;
  }
}

TEST(TextForm, TensorsBeyondTheLimitAreNamed) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const Graph graph = random_graph(random, 0);
    std::map<std::string, Tensor> large;
    const std::string printed = print(graph, {0, [&](const std::string& key, const Tensor& tensor) {
                                                EXPECT_TRUE(large.emplace(key, tensor).second)
                                                    << key << " names two tensors";
                                              }});
    const auto find = [&](const std::string& key) { return large.at(key); };
    const Graph parsed = parse(printed, test_ops(), {find, "large.rlx"});
    expect_same(graph, parsed);
    EXPECT_EQ(print(parsed, {0}), printed);
    if (HasFailure()) return;
  }
}

TEST(TextForm, ASharedTensorIsNamedOnce) {
  const Tensor shared(DType::f32, {4, 5});
  Graph graph;
  graph.weight("a", shared);
  graph.weight("b", shared);
  graph.constant(Tensor(DType::f32, {4, 5}), "a");
  std::vector<std::string> keys;
  print(graph, {16, [&](const std::string& key, const Tensor&) { keys.push_back(key); }});
  EXPECT_EQ(keys, (std::vector<std::string>{"a", "a#2"}));
}

TEST(TextForm, ReadsAsItLooks) {
  Graph graph;
  graph.symbol("seq", 512);
  graph.symbol("batch", 8, 1);
  const Value x = graph.input("x", f32({"batch", Dim("seq") * 2 + Dim("past") - 1}));
  const Value w = graph.weight("w", Tensor::of(DType::f32, {2, 2}, {1, 2, -0.0, 4.5}));
  const Value big = graph.constant(Tensor(DType::f32, {512, 512}), "big \"one\"");
  const Value state = graph.state("cache", f32({2, 2}));
  const Value y = graph.add(test_ops().at("softmax"), {x}, {}, "attn/probs");
  graph.set_origin(y, "bert.onnx:Softmax_3");
  Graph body;
  body.output("y", body.input("a", f32({2})));
  const Attrs attrs = {{"results", 2},
                       {"body", GraphPtr(std::make_shared<const Graph>(std::move(body)))},
                       {"float", 2.0},
                       {"ints", Ints{}},
                       {"dims", Dims{2, Dim("seq") * 2}},
                       {"bools", Bools{true, false}}};
  const Value z = graph.add(test_ops().at("anything"), {big, {}, w}, attrs, "z");
  graph.update(state, w);
  graph.output("probabilities", y);
  graph.output("rest", z.of(1));
  EXPECT_EQ(print(graph), R"(rlx 1
symbol batch in 1..8
symbol seq <= 512
%0 = input @"x" : f32[batch, past + 2*seq - 1]
%1 = weight value=f32[2, 2]{1, 2, -0, 4.5} @"w" : f32[2, 2]
%2 = constant value=f32[512, 512]@"big \"one\"" @"big \"one\"" : f32[512, 512]
%3 = state @"cache" : f32[2, 2]
%4 = softmax %0 axis=-1 @"attn/probs" from "bert.onnx:Softmax_3" : f32[batch, past + 2*seq - 1]
%5, %6 = anything %2, _, %1 body={
  %0 = input @"a" : f32[2]
  output "y" %0
} bools=[true, false] dims=dims[2, 2*seq] float=2.0 ints=ints[] results=2 @"z" : f32[512, 512], f32[3, 2*seq + 1]
update %3 <- %1
output "probabilities" %4
output "rest" %6
)");
}

TEST(TextForm, TextByHandMayBeLoose) {
  const Graph graph = parse(
      "# a comment\r\n\r\nrlx 1 # and another\n\n"
      "%0=input @\"x\":f32[ (2+seq)*3 , min(4,seq)*-1+2*floor_div(seq,2) ]\n"
      "  %1 = softmax %0 : f32[6 + 3*seq, 2*floor_div(seq, 2) - min(4, seq)]\n"
      "output \"\\x41\" %1",
      test_ops());
  EXPECT_EQ(graph.node(0).types[0].shape[0], Dim("seq") * 3 + 6);
  EXPECT_EQ(graph.node(1).name, "softmax_1");
  EXPECT_EQ(graph.outputs()[0].name, "A");
}

TEST(TextForm, ABroadcastIsReadInWhateverOrder) {
  const Graph graph = parse(
      "rlx 1\n%0 = input @\"x\" : f32[broadcast(n, broadcast(k, m)), 2*broadcast(m, 1)]\n"
      "output \"y\" %0",
      test_ops());
  EXPECT_EQ(graph.node(0).types[0].shape,
            (Dims{broadcast(broadcast(Dim("m"), Dim("n")), Dim("k")), Dim(2) * Dim("m")}));
  EXPECT_EQ(text(graph.node(0).types[0].shape[0]), "broadcast(k, broadcast(m, n))");
}

TEST(TextForm, PrintedNamesOfUnknownExtentsAreKept) {
  const char* const source =
      "rlx 1\n"
      "%0, %1 = measured @\"a\" : i64[s4, rows, s4 + 2*rows], f32[s4]\n"
      "%2, %3 = measured @\"b\" : i64[s0, s6, 2*s6 + s0], f32[s0]\n"
      "%4, %5 = measured @\"c\" : i64[s7, s8, 2*s8 + s7], f32[s7]\n";
  const Graph graph = parse(source, test_ops());
  const std::string printed = print(graph);
  EXPECT_EQ(print(parse(printed, test_ops())), printed);
  EXPECT_EQ(graph.node(0).types[0], i64({"s4", "rows", Dim("s4") + Dim("rows") * 2}));
  EXPECT_EQ(graph.node(1).types[0], i64({"s0", "s6", Dim("s0") + Dim("s6") * 2}));
  EXPECT_EQ(graph.node(2).types[0], i64({"s7", "s8", Dim("s7") + Dim("s8") * 2}));
}

TEST(TextForm, AKnownSymbolIsNoNameForAnUnknownExtent) {
  EXPECT_THROW(
      parse("rlx 1\n%0 = input @\"x\" : f32[n]\n%1, %2 = measured : i64[n, m, n + 2*m], f32[n]\n",
            test_ops()),
      Error);
}

TEST(TextForm, EveryFloatReadsBackAsTheSameBits) {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      std::byte element[2], back[2];
      std::memcpy(element, &bits, 2);
      const std::string printed = print_element(dtype, element);
      ASSERT_TRUE(read_element(dtype, printed, back)) << printed;
      ASSERT_EQ(std::memcmp(element, back, 2), 0) << dtype << ' ' << printed;
    }
  Random random(1);
  const auto bits_of_double = [](double value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, 8);
    return bits;
  };
  for (int i = 0; i < 20000; ++i) {
    const double value = random.real();
    const std::optional<double> back = read_double(print_float(value));
    ASSERT_TRUE(back && bits_of_double(value) == bits_of_double(*back)) << print_float(value);
    std::byte single[4], single_back[4];
    const uint32_t bits = static_cast<uint32_t>(random.bits());
    std::memcpy(single, &bits, 4);
    const std::string printed = print_element(DType::f32, single);
    ASSERT_TRUE(read_element(DType::f32, printed, single_back)) << printed;
    ASSERT_EQ(std::memcmp(single, single_back, 4), 0) << printed;
  }
}

TEST(TextForm, FloatsAreShort) {
  EXPECT_EQ(print_float(1), "1.0");
  EXPECT_EQ(print_float(-0.0), "-0.0");
  EXPECT_EQ(print_float(0.1), "0.1");
  EXPECT_EQ(print_float(0.1f), "0.10000000149011612");
  EXPECT_EQ(print_float(0.1f, true), "0.1");
  EXPECT_EQ(print_float(100), "100.0");
  EXPECT_EQ(print_float(0.00125), "0.00125");
  EXPECT_EQ(print_float(16777216, true), "16777216.0");
  EXPECT_EQ(print_float(1e16), "1e16");
  EXPECT_EQ(print_float(1.5e-7), "1.5e-7");
  EXPECT_EQ(print_float(5e-324), "5e-324");
  EXPECT_EQ(print_float(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(print_float(std::numeric_limits<double>::quiet_NaN()), "nan");
}

std::string error_of(std::string_view source, const ParseOptions& options = {}) {
  try {
    parse(source, test_ops(), options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_model);
    return error.what();
  }
  return "no error";
}

TEST(TextForm, ErrorsSayWhereAndWhat) {
  const struct {
    const char *line, *message;
  } cases[] = {
      {"%1 = input @\"x\" : f32[2]", "2:1: expected %0, found %1: results are numbered in order"},
      {"%0 = input @\"x\"", "2:16: expected ':', found the end of the text"},
      {"%0 = input @\"x\" : f31[2]", "2:19: expected a type such as f32[2, 3], found 'f31'"},
      {"%0 = input @\"x\" : f32[2", "2:24: expected ',' or ']', found the end of the text"},
      {"%0 = input @\"x\" : f32[-2]", "2:23: an extent cannot be -2"},
      {"%0 = input @\"x\" : f32[sum(a, b)]",
       "2:23: there is no function 'sum' of dimensions; there are floor_div, mod, min, max, "
       "broadcast"},
      {"%0 = input @\"x\" : f32[9223372036854775807 + 1]",
       "2:46: a size of 9223372036854775807 + 1 does not fit 64 bits"},
      {"%0 = input @\"x\" : f32[floor_div(-9223372036854775808, -1)]",
       "2:23: floor_div of -9223372036854775808 and -1 does not fit 64 bits"},
      {"%0 = input @\"x : f32[2]", "2:13: the string is not closed before the end of the line"},
      {"%0 = input @\"é\\q\" : f32[2]",
       "2:15: a backslash is followed by \"q\"; the escapes are \\\" \\\\ \\n \\t \\xNN"},
      {"%0 = input @\"x\" : f32[2] extra", "2:26: expected the end of the line, found 'extra'"},
      {"%0 = input : f32[2]", "2:6: input: needs a name"},
      {"%0 = state @\"x\" : f32[n]", "2:19: a state has a fixed shape, not [n]"},
      {"%0, %1 = input @\"x\" : f32[2], f32[2]", "2:10: input has 1 result, here are 2"},
      {"%0 = constant : f32[2]", "2:6: constant '': has no value"},
      {"%0 = constant value=f32[2]{1} : f32[2]",
       "2:27: a tensor f32[2] has 2 elements, here are 1"},
      {"%0 = constant value=f32[2]{1, 2, 3} : f32[2]",
       "2:34: a tensor f32[2] has 2 elements, here are more"},
      {"%0 = constant value=i8[1]{128} : i8[1]",
       "2:27: expected a number that i8 has, found '128'"},
      {"%0 = constant value=f32[1]{1e99} : f32[1]",
       "2:28: expected a number that f32 has, found '1e99'"},
      {"%0 = constant value=f32[1]{nan:0x1} : f32[1]",
       "2:28: expected a number that f32 has, found 'nan:0x1'"},
      {"%0 = constant value=f32[n]{1} : f32[1]", "2:24: a tensor's shape is numbers, found [n]"},
      {"%0 = constant value=f32[1]{1} : f32[2]",
       "2:6: constant '': its tensor is f32[1], not f32[2]"},
      {"%0 = constant value=f32[1]@\"k\" : f32[1]",
       "2:28: tensor \"k\" is not in this text, and there is nothing to find it in"},
      {"%0 = sotfmax : f32[2]", "2:6: there is no op 'sotfmax'; did you mean 'softmax'?"},
      {"%0 = softmax : f32[2]", "2:6: softmax: takes 1 input, got 0"},
      {"%0 = softmax %0 : f32[2]", "2:14: %0 is not a value: there is none before"},
      {"%0 = anything axis=1 : f32[2]",
       "2:6: anything: has no attribute 'axis'; it takes bool, int, "},
      {"%0 = anything int=1 int=1 : f32[2]", "2:21: attribute 'int' is given twice"},
      {"%0 = anything int= : f32[2]", "2:20: expected a value, found ':'"},
      {"%0 = anything int=9223372036854775808 : f32[2]",
       "2:19: expected a number of 64 bits, found '9223372036854775808'"},
      {"%0 = anything ints=[1, 2.5] : f32[2]",
       "2:24: expected an integer as before in this list, found a float"},
      {"%0 = anything ints=[] : f32[2]",
       "2:20: an empty list says of what: bools[], ints[], floats[], strings[], dtypes[] or shapes[]"},
      {"%0 = anything results=2 : f32[0, 2*seq]", "2:6: anything has 2 results, here are 1"},
      {"%0 = anything : f32[0, 2]", "2:17: result 0 of anything is f32[0, 2*seq], not f32[0, 2]"},
      {"%0 = anything body={\n  output \"y\" %3\n} : f32[0, 2]",
       "3:14: %3 is not a value: there is none before"},
      {"%0 = anything body={ : f32[0, 2]",
       "2:22: expected '%', 'symbol', 'update' or 'output', found ':'"},
      {"%0 = anything body={\n", "2:20: the graph that starts here is not closed with '}'"},
      {"symbol 3 <= 4", "2:8: expected a symbol, found '3'"},
      {"symbol n < 4", "2:10: expected '<=' or 'in' after symbol 'n', found '<'"},
      {"symbol n in 5..4", "2:8: symbol 'n': cannot lie in 5..4"},
      {"}", "2:1: expected '%', 'symbol', 'update' or 'output', found '}'"},
      {"\xff", "2:1: expected '%', 'symbol', 'update' or 'output', found \"\\xff\""},
  };
  for (const auto& [line, message] : cases) {
    const std::string error = error_of(text("rlx 1\n", line));
    EXPECT_EQ(error.substr(0, std::strlen(message)), message) << line;
  }
  EXPECT_EQ(error_of("rlx 2"), "1:5: the text is of version 2, expected 1");
  EXPECT_EQ(error_of(""), "1:1: expected 'rlx 1' on the first line, found the end of the text");
  EXPECT_EQ(error_of("rlx 1\nx", {{}, "model.rlx"}),
            "model.rlx:2:1: expected '%', 'symbol', 'update' or 'output', found 'x'");
}

std::string repeated(std::string_view part, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += part;
  return out;
}

TEST(TextForm, HostileTextIsRefusedAtOnce) {
  const std::string input = "rlx 1\n%0 = input @\"x\" : f32[";
  const auto refused = [](const std::string& source, const char* reason) {
    const std::clock_t before = std::clock();  // other work on the machine does not count
    const std::string error = error_of(source);
    EXPECT_NE(error.find(reason), std::string::npos) << error.substr(0, 200);
    EXPECT_LT(std::clock() - before, 2 * CLOCKS_PER_SEC) << error;
  };
  refused("rlx 1\n%0 = constant value=f32[1000000000000]{1} : f32[1]",
          "has 1000000000000 elements, here are 1");
  refused("rlx 1\n%0 = constant value=f32[1000000000000, 1000000000000]{1} : f32[1]",
          "does not fit 64 bits");
  refused("rlx 1\n" + repeated("%0 = anything body={\n", 100000),
          "graphs are nested more than 64 deep");
  refused(input + repeated("(", 100000), "nested more than 64 deep");
  refused(input + repeated("min(a, ", 100000), "nested more than 64 deep");
  refused(input + "1" + repeated("*(a + b)", 100), "more than 16384 characters");
  refused(input + "1" + repeated("*floor_div(2*a + b, 2)", 100), "more than 16384 characters");
  refused(input + "a" + repeated("*a", 100000), "more than 64 factors");
  refused(input + "a" + repeated("*(b)", 100000), "more than 64 factors");
  refused(input + "a" + repeated(" + b", 100000), "more than 16384 characters");
  refused("rlx 1\n%0 = " + std::string(1000000, 'a') + " : f32[2]", "a name of 1000000 characters");
}

}  // namespace
}  // namespace rlx
