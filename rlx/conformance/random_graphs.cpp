#include "rlx/conformance/random_graphs.h"

#include <cmath>
#include <set>

#include "rlx/conformance/case_data.h"
#include "rlx/ir/text.h"
#include "rlx/ops/ops.h"

namespace rlx {
namespace {

using Fill = CaseInput::Fill;
constexpr int64_t kMostElements = 4096;
constexpr double kTame = 1e4;  // beyond it, rounding errors drown what is compared

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  RandomGraph generate() {
    choose_dims();
    for (int64_t inputs = random_.between(1, 3); inputs > 0; --inputs) add_float_input();
    const int64_t wanted = random_.between(3, 20);
    for (int tries = 0; tries < 60 && computed() < wanted; ++tries) try_step();
    add_outputs();
    return {std::move(graph_), std::move(inputs_)};
  }

 private:
  // A value of the graph. One is exact when every device must have the same bits: only such may
  // decide (be compared, rounded to integers, sorted).
  struct Entry {
    Value value;
    bool exact;
  };
  using Step = void (Generator::*)();

  void choose_dims() {
    constexpr int64_t kExtents[] = {1, 1, 2, 3, 4, 5, 7, 8, 13, 17, 33};
    for (int i = 0; i < 4; ++i)
      dims_.emplace_back(random_.chance(0.04) ? 0 : kExtents[random_.between(0, 10)]);
    for (const char* symbol : {"n", "m"}) {
      if (!random_.chance(0.25)) continue;
      symbols_[symbol] = random_.between(1, 19);
      dims_.push_back(random_.chance(0.5) ? graph_.symbol(symbol, 24) : Dim(symbol));
    }
  }

  int64_t computed() const {
    int64_t nodes = 0;
    for (const Node& node : graph_.nodes()) nodes += !is_source(node);
    return nodes;
  }
  int64_t extent(const Dim& dim) const { return dim.value(symbols_); }

  // ---- Sources ----

  Value add_input(DType dtype, const Dims& shape, Fill fill = Fill::normal, int64_t limit = 0) {
    const std::string name = text('x', inputs_.size());
    const Shape extents = bound(shape, symbols_);
    if (count(extents) > kMostElements)
      fail(ErrorKind::limit, "an input of ", count(extents), " elements");
    inputs_.emplace(name, random_tensor(dtype, extents, fill, limit, false, random_));
    const Value value = graph_.input(name, {dtype, shape});
    pool_.push_back({value, true});
    return value;
  }
  void add_float_input() {
    const DType dtype = random_.chance(0.15) ? DType::f16 : DType::f32;
    for (int tries = 0; tries < 10; ++tries) {
      Dims shape;
      for (int64_t rank = random_.between(0, 4); rank > 0; --rank)
        shape.push_back(random_.pick(dims_));
      if (count(bound(shape, symbols_)) > kMostElements) continue;
      add_input(dtype, shape);
      return;
    }
    add_input(dtype, {random_.pick(dims_)});
  }

  // ---- Choosing operands ----

  template <class Predicate>
  Entry choose(const Predicate& fits) {
    std::vector<Entry> found;
    for (const Entry& entry : pool_)
      if (fits(entry)) found.push_back(entry);
    if (found.empty()) fail(ErrorKind::unsupported, "no operand fits");
    // The newest as a rule, so that graphs are deep.
    return random_.chance(0.5) ? found.back() : random_.pick(found);
  }
  Entry any() {
    return choose([](const Entry&) { return true; });
  }
  Entry any_float(int64_t rank_from = 0) {
    return choose([&](const Entry& e) {
      return is_float(e.value.dtype()) && rank(e.value.type()) >= rank_from;
    });
  }
  Entry any_exact_float(int64_t rank_from = 0) {
    return choose([&](const Entry& e) {
      return e.exact && is_float(e.value.dtype()) && rank(e.value.type()) >= rank_from;
    });
  }
  Entry any_ranked() {
    return choose([](const Entry& e) { return rank(e.value.type()) > 0; });
  }
  int64_t axis_of(Value x) { return random_.between(0, rank(x.type()) - 1); }
  const Dim& dim_of(Value x, int64_t axis) { return x.shape()[static_cast<size_t>(axis)]; }

  // A value like x that broadcasts with it: another one, or a new input with some dims 1 or gone.
  Entry partner_of(Value x) {
    if (random_.chance(0.4)) {
      for (size_t i = pool_.size(); i-- > 0;)
        if (pool_[i].value.type() == x.type() && pool_[i].value != x) return pool_[i];
    }
    Dims shape = x.shape();
    shape.erase(shape.begin(),
                shape.begin() + random_.between(0, random_.chance(0.3) ? rank(x.type()) : 0));
    for (Dim& dim : shape)
      if (random_.chance(0.2)) dim = 1;
    return {add_input(x.dtype(), shape), true};
  }

  void keep(Value value, bool exact) { pool_.push_back({value, exact}); }

  // ---- Steps ----

  void unary_step() {
    using Function = Value (*)(Value);
    constexpr Function kExact[] = {neg, abs, relu};
    constexpr Function kRounded[] = {tanh, sigmoid, silu, gelu, gelu_tanh, sin, cos, erf, softplus};
    if (random_.chance(0.3)) {
      const Entry x = any_float();
      return keep(random_.pick(kExact)(x.value), x.exact);
    }
    keep(random_.pick(kRounded)(any_float().value), false);
  }
  void guarded_step() {
    const Value x = any_float().value;
    switch (random_.between(0, 3)) {
      case 0:
        return keep(exp(clip(x, -3, 3)), false);
      case 1:
        return keep(log(abs(x) + scalar(x, 0.5)), false);
      case 2:
        return keep(sqrt(abs(x) + scalar(x, 0.25)), false);
      default:
        return keep(reciprocal(abs(x) + scalar(x, 0.5)), false);
    }
  }
  void clip_step() {
    const Entry x = any_float();
    keep(clip(x.value, -2, 1.5), x.exact);
  }
  void binary_step() {
    const Entry x = any_float(), y = partner_of(x.value);
    switch (random_.between(0, 5)) {
      case 0:
        return keep(x.value + y.value, false);
      case 1:
        return keep(x.value - y.value, false);
      case 2:
        return keep(x.value * y.value, false);
      case 3:
        return keep(maximum(x.value, y.value), x.exact && y.exact);
      case 4:
        return keep(minimum(x.value, y.value), x.exact && y.exact);
      default:
        return keep(x.value / (abs(y.value) + scalar(y.value, 1)), false);
    }
  }
  void integer_step() {
    const Entry x = random_.chance(0.5)
                        ? Entry{add_input(DType::i32, any().value.shape()), true}
                        : choose([](const Entry& e) { return e.value.dtype() == DType::i32; });
    const Value y = partner_of(x.value).value;
    using Function = Value (*)(Value, Value);
    constexpr Function kFunctions[] = {operator+, operator-, operator*, maximum, minimum};
    keep(random_.pick(kFunctions)(x.value, y), true);
  }
  void compare_step() {
    const Entry x = any_exact_float();
    const Value y = add_input(x.value.dtype(), x.value.shape());
    using Function = Value (*)(Value, Value);
    constexpr Function kFunctions[] = {less, less_equal, greater, greater_equal, equal, not_equal};
    keep(random_.pick(kFunctions)(x.value, y), true);
  }
  void where_step() {
    const Entry condition =
        choose([](const Entry& e) { return e.value.dtype() == DType::boolean; });
    const Value like = condition.value;
    const Value x = add_input(DType::f32, like.shape());
    const Entry y = random_.chance(0.5) ? partner_of(x) : Entry{scalar(x, 0.5), true};
    keep(where(condition.value, x, y.value), y.exact);
  }
  void rounding_step() {
    using Function = Value (*)(Value);
    constexpr Function kFunctions[] = {floor, ceil, round, sign};
    keep(random_.pick(kFunctions)(any_exact_float().value), true);
  }
  void cast_step() {
    const Entry x = any();
    switch (x.value.dtype()) {
      case DType::f32:
        return keep(cast(x.value, random_.chance(0.7) ? DType::f16 : DType::bf16), x.exact);
      case DType::i32:
        return keep(cast(x.value, random_.chance(0.5) ? DType::f32 : DType::i64), true);
      default:
        return keep(cast(x.value, DType::f32), x.exact);
    }
  }
  void truncate_step() { keep(cast(any_exact_float().value, DType::i32), true); }

  void reduction_step() {
    using Function = Value (*)(Value, const Ints&, bool);
    constexpr Function kFunctions[] = {sum, mean, reduce_max, reduce_min};
    const Entry x = any_float(1);
    Ints axes;
    for (int64_t axis = 0; axis < rank(x.value.type()); ++axis)
      if (random_.chance(0.5)) axes.push_back(axis);
    const int64_t which = random_.between(0, 3);
    keep(kFunctions[which](x.value, axes, random_.chance(0.5)), which >= 2 && x.exact);
  }
  void norm_step() {
    const Value x = any_float(1).value;
    switch (random_.between(0, 3)) {
      case 0:
        return keep(layer_norm(x, {}, {}, axis_of(x), 0.1), false);
      case 1:
        return keep(rms_norm(x, {}, axis_of(x), 0.1), false);
      default:
        return keep(softmax(x, axis_of(x)), false);
    }
  }
  void matmul_step() {
    const Value x = any_float(1).value;
    if (rank(x.type()) > 1 && random_.chance(0.25)) return keep(matmul(x, x, false, true), false);
    const Dim columns = random_.pick(dims_);
    const bool transposed = random_.chance(0.3);
    const Dims shape =
        transposed ? Dims{columns, x.shape().back()} : Dims{x.shape().back(), columns};
    const Value w = add_input(x.dtype(), shape);
    if (random_.chance(0.5)) return keep(matmul(x, w, false, transposed), false);
    const Value bias = random_.chance(0.6) ? add_input(x.dtype(), {columns}) : Value{};
    constexpr const char* kActivations[] = {"", "relu", "gelu", "silu", "tanh"};
    keep(linear(x, w, bias, kActivations[random_.between(0, 4)], transposed), false);
  }

  void transpose_step() {
    const Entry x = any_ranked();
    Ints order;
    for (int64_t axis = 0; axis < rank(x.value.type()); ++axis)
      order.insert(order.begin() + random_.between(0, axis), axis);
    keep(transpose(x.value, order), x.exact);
  }
  void reshape_step() {
    const Entry x = any();
    if (rank(x.value.type()) < 2 || random_.chance(0.3))
      return keep(reshape(x.value, Dims{count(x.value.shape())}), x.exact);
    Dims shape = x.value.shape();
    const size_t at =
        static_cast<size_t>(random_.between(0, static_cast<int64_t>(shape.size()) - 2));
    shape[at] = shape[at] * shape[at + 1];
    shape.erase(shape.begin() + static_cast<int64_t>(at) + 1);
    keep(reshape(x.value, shape), x.exact);
  }
  void rank_step() {
    const Entry x = any();
    for (int64_t axis = 0; axis < rank(x.value.type()); ++axis)
      if (dim_of(x.value, axis).is(1)) return keep(squeeze(x.value, {axis}), x.exact);
    keep(unsqueeze(x.value, {random_.between(0, rank(x.value.type()))}), x.exact);
  }
  void expand_step() {
    const Entry x = any();
    Dims shape = x.value.shape();
    shape.insert(shape.begin(), random_.pick(dims_));
    keep(expand(x.value, shape), x.exact);
  }
  void slice_step() {
    const Entry x = any_ranked();
    const int64_t axis = axis_of(x.value), length = extent(dim_of(x.value, axis));
    if (random_.chance(0.3))
      return keep(slice(x.value, Ints{-1}, Ints{INT64_MIN}, {axis}, {-random_.between(1, 2)}),
                  x.exact);
    const int64_t start = random_.between(0, length), end = random_.between(start, length);
    keep(slice(x.value, Ints{start}, Ints{end}, {axis}, {random_.between(1, 3)}), x.exact);
  }
  void concat_step() {
    const Entry x = any_ranked();
    const int64_t axis = axis_of(x.value);
    Dims shape = x.value.shape();
    shape[static_cast<size_t>(axis)] = random_.pick(dims_);
    const Value other = add_input(x.value.dtype(), shape);
    keep(concat(random_.chance(0.5) ? Values{x.value, other} : Values{other, x.value, other}, axis),
         x.exact);
  }
  Value add_indices(int64_t limit) {
    if (limit == 0) fail(ErrorKind::unsupported, "nothing to index");
    return add_input(random_.chance(0.5) ? DType::i32 : DType::i64, {random_.pick(dims_)},
                     Fill::index, limit);
  }
  void gather_step() {
    const Entry x = any_ranked();
    const int64_t axis = axis_of(x.value);
    keep(gather(x.value, add_indices(extent(dim_of(x.value, axis))), axis), x.exact);
  }
  void scatter_step() {
    const Value x = any_float(1).value;
    const int64_t axis = axis_of(x);
    const Value indices = add_indices(extent(dim_of(x, axis)));
    Dims shape = x.shape();
    shape[static_cast<size_t>(axis)] = indices.shape()[0];
    keep(scatter(x, indices, add_input(x.dtype(), shape), axis, "add"), false);
  }
  void sort_step() {
    const Value x = any_exact_float(1).value;
    const int64_t axis = axis_of(x), length = extent(dim_of(x, axis));
    const bool whole = random_.chance(0.5), down = random_.chance(0.5);
    const TopK sorted =
        whole ? sort(x, axis, down) : top_k(x, random_.between(0, length), axis, down);
    keep(sorted.values, true);
    keep(sorted.indices, true);
  }

  void try_step() {
    constexpr Step kSteps[] = {
        &Generator::unary_step,     &Generator::unary_step,     &Generator::guarded_step,
        &Generator::binary_step,    &Generator::binary_step,    &Generator::binary_step,
        &Generator::clip_step,      &Generator::integer_step,   &Generator::compare_step,
        &Generator::where_step,     &Generator::rounding_step,  &Generator::cast_step,
        &Generator::truncate_step,  &Generator::reduction_step, &Generator::reduction_step,
        &Generator::norm_step,      &Generator::matmul_step,    &Generator::matmul_step,
        &Generator::transpose_step, &Generator::reshape_step,   &Generator::rank_step,
        &Generator::expand_step,    &Generator::slice_step,     &Generator::concat_step,
        &Generator::gather_step,    &Generator::scatter_step,   &Generator::sort_step};
    const size_t nodes = graph_.nodes().size(), entries = pool_.size();
    try {
      (this->*random_.pick(kSteps))();
      if (binds_all_symbols(graph_) && is_tame(nodes)) return;
    } catch (const Error&) {  // the operands did not fit after all
    }
    undo(nodes, entries);
  }

  void undo(size_t nodes, size_t entries) {
    auto& list = graph_.data()->nodes;
    for (size_t i = nodes; i < list.size(); ++i)
      if (is_input(list[i])) inputs_.erase(list[i].name);
    list.resize(nodes, Node{});
    pool_.resize(entries, Entry{});
  }

  // Are the values from node `first` on small and finite?
  bool is_tame(size_t first) const {
    const Evaluation evaluation = evaluate(graph_, inputs_, {.keep_results = true});
    for (size_t node = first; node < evaluation.results.size(); ++node)
      for (const Tensor& tensor : evaluation.results[node]) {
        if (tensor.count() > kMostElements) return false;
        for (int64_t i = 0; i < tensor.count(); ++i)
          if (!(std::abs(tensor.at(i)) < kTame)) return false;
      }
    return true;
  }

  // What nobody reads, and sometimes more.
  void add_outputs() {
    std::vector<bool> read(graph_.nodes().size(), false);
    for (const Node& node : graph_.nodes())
      for (const Value& input : node.inputs)
        if (input.present()) read[static_cast<size_t>(input.node)] = true;
    int outputs = 0;
    for (const Entry& entry : pool_) {
      const bool source = is_source(entry.value.producer());
      if (!read[static_cast<size_t>(entry.value.node)] ? !source : random_.chance(0.1))
        graph_.output(text('y', outputs++), entry.value);
    }
    if (outputs == 0) graph_.output("y0", pool_.back().value);
  }

  Random random_;
  Graph graph_;
  TensorMap inputs_;
  std::vector<Entry> pool_;
  std::vector<Dim> dims_;
  SymbolValues symbols_;
};

}  // namespace

RandomGraph random_graph(uint64_t seed) { return Generator(seed).generate(); }

bool binds_all_symbols(const Graph& graph) {
  std::set<std::string> bound;
  for (const Node& node : graph.nodes())
    if (is_input(node))
      for (const Dim& dim : node.types[0].shape)
        if (const auto symbol = dim.symbol()) bound.insert(*symbol);
  for (const Node& node : graph.nodes())
    for (const TensorType& type : node.types)
      for (const Dim& dim : type.shape)
        for (const std::string& symbol : dim.symbols())
          if (!bound.count(symbol)) return false;
  return true;
}

std::string to_text(const RandomGraph& random) {
  std::string result = print(random.graph);
  for (const auto& [name, tensor] : random.inputs) {
    result += text("# ", name, " = ", tensor.type());
    for (int64_t i = 0; i < std::min<int64_t>(tensor.count(), 8); ++i)
      result += text(i ? ", " : ": ", tensor.at(i));
    result += tensor.count() > 8 ? ", ...\n" : "\n";
  }
  return result;
}

}  // namespace rlx
