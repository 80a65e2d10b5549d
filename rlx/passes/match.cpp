#include "rlx/passes/match.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "rlx/passes/near_misses.h"
#include "rlx/passes/pattern_part.h"

namespace rlx {
namespace {

using Part = Pattern::Part;

template <class T>
const T* find_part(const std::vector<std::pair<const Part*, T>>& found, const Pattern& pattern) {
  for (const auto& each : found)
    if (each.first == pattern.part()) return &each.second;
  return nullptr;
}

}  // namespace

bool Match::has(const Pattern& pattern) const { return find_part(values, pattern) != nullptr; }
Value Match::operator[](const Pattern& pattern) const {
  const Value* value = find_part(values, pattern);
  return value ? *value : Value{};
}
double Match::number(const Pattern& pattern) const {
  const double* found = find_part(numbers, pattern);
  require(found != nullptr, "a pattern has no such number");
  return *found;
}

namespace {

// What is to be done with a match so far; it is called while its maker waits.
class Next {
 public:
  template <class Callee, class = std::enable_if_t<!std::is_same_v<Callee, Next>>>
  Next(const Callee& callee)  // NOLINT(google-explicit-constructor)
      : callee_(&callee),
        call_([](const void* object) { return (*static_cast<const Callee*>(object))(); }) {}
  bool operator()() const { return call_(callee_); }

 private:
  const void* callee_;
  bool (*call_)(const void* callee);
};

// A value with its power in a product, or its sign in a sum.
struct Leaf {
  Value value = {};
  double times = 1;
};

// A few leaves, without memory of their own: they are copied at every turn of a search.
class Leaves {
 public:
  static constexpr size_t kMost = 16;
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Leaf* begin() { return leaves_.data(); }
  Leaf* end() { return leaves_.data() + size_; }
  const Leaf& operator[](size_t i) const { return leaves_[i]; }
  void add(const Leaf& leaf) { leaves_[size_++] = leaf; }
  Leaf take_last() { return leaves_[--size_]; }

 private:
  std::array<Leaf, kMost> leaves_;
  size_t size_ = 0;
};

// What a leaf is the product or sum of; none where it is neither.
struct Operands {
  size_t count = 0;
  Leaf first = {}, second = {};
  double sign = 1;
};

// A product or sum, taken apart: `open` may be taken further, `leaves` stay.
struct Unfolded {
  Leaves open, leaves;
  double number = 0;
  size_t kept = 0;   // how many leaves there were before equal ones became one
  size_t nodes = 0;  // that were taken apart
};

bool is_whole(double number) { return number == std::floor(number); }

// How far a search came before it failed for the last time; only where somebody asks.
struct Furthest {
  size_t found = 0;
  std::string reason;
};

// Tries every way in which a pattern may fit; the first that the rest accepts, too, is taken. There
// is one match, which grows as the search goes on and shrinks where it goes back.
class Search {
 public:
  Search(const MatchGraph& graph, Furthest* furthest, Match& match)
      : graph_(graph), furthest_(furthest), match_(match) {}

  bool fits(const Pattern& pattern, Value value, const Next& next) {
    const Part& part = *pattern.part();
    if (const Value* bound = find_part(match_.values, pattern))
      return *bound == value ? next() : miss([&] {
        return text(describe(value.producer()), " should be ", describe(bound->producer()),
                    " again");
      });
    // Before anything is noted: most are told apart by their ops.
    if (part.kind == Kind::op && !is_of_op(part, value))
      return miss([&] { return text(describe(value.producer()), " should be ", part.op->name); });
    const Mark mark = here();
    match_.values.emplace_back(&part, value);
    return fits_as(part, value, next) || back_to(mark);
  }

 private:
  struct Mark {
    size_t values, numbers, nodes;
  };
  Mark here() const { return {match_.values.size(), match_.numbers.size(), match_.nodes.size()}; }
  // False, with the match as it was.
  bool back_to(const Mark& mark) {
    match_.values.resize(mark.values);
    match_.numbers.resize(mark.numbers);
    match_.nodes.resize(mark.nodes);
    return false;
  }

  // False, after noting why.
  template <class Reason>
  bool miss(const Reason& reason) const {
    if (furthest_ && match_.nodes.size() > furthest_->found)
      *furthest_ = {match_.nodes.size(), reason()};
    return false;
  }

  bool fits_as(const Part& part, Value value, const Next& next) {
    switch (part.kind) {
      case Kind::once:
        if (!graph_.is_once(value))
          return miss([&] {
            return text(describe(value.producer()), " should be of weights and constants alone");
          });
        [[fallthrough]];
      case Kind::any:
        if (part.where_value && !part.where_value(value))
          return miss([&] {
            return text(describe(value.producer()), ", ", value.type(), ", is not of the kind");
          });
        return next();
      case Kind::number:
        return fits_number(part, number_of(value), value.dtype(), next) || miss([&] {
                 return text(describe(value.producer()), " should be ",
                             part.value ? text("the number ", *part.value) : "a known number");
               });
      case Kind::op:
        return fits_op(part, value, next);
      case Kind::either:
      case Kind::maybe:
        return std::any_of(part.operands.begin(), part.operands.end(),
                           [&](const Pattern& each) { return fits(each, value, next); });
      case Kind::product:
      case Kind::sum:
        break;
    }
    Unfolded apart;
    apart.open.add({value, 1});
    apart.number = part.kind == Kind::product ? 1.0 : 0.0;
    return unfold(part, apart, next);
  }

  bool fits_number(const Part& part, std::optional<double> number, DType dtype, const Next& next) {
    if (!number || (part.value && !same_number(*number, *part.value, dtype))) return false;
    for (const auto& [other, value] : match_.numbers)
      if (other == &part && !same_number(value, *number, dtype)) return false;
    const Mark mark = here();
    match_.numbers.emplace_back(&part, *number);
    return next() || back_to(mark);
  }

  static bool is_of_op(const Part& part, const Value& value) {
    const Node& node = value.producer();
    return node.op.get() == part.op && value.result == 0 &&
           node.inputs.size() >= part.operands.size();
  }

  bool fits_op(const Part& part, Value value, const Next& next) {
    const Node& node = value.producer();
    if (part.where_node && !part.where_node(node))
      return miss([&] { return text(describe(node), " has other attributes or shapes"); });
    match_.nodes.push_back(value.node);
    return operands_fit(part, node, 0, false, next) ||
           (part.commutes && operands_fit(part, node, 0, true, next));
  }

  bool operands_fit(const Part& part, const Node& node, size_t i, bool swapped, const Next& next) {
    if (i == part.operands.size()) return next();
    const Value operand = node.inputs[swapped && i < 2 ? 1 - i : i];
    if (!operand.present())
      return part.operands[i].part()->kind == Kind::maybe &&
             operands_fit(part, node, i + 1, swapped, next);
    return fits(part.operands[i], operand,
                [&] { return operands_fit(part, node, i + 1, swapped, next); });
  }

  // As far as the pattern needs. Repeated leaves count each time: of a value that is added to
  // itself again and again there would be more ways than can be tried.
  bool unfold(const Part& part, Unfolded apart, const Next& next) {
    constexpr size_t kRepeats = 3;     // x * x * x is one factor
    constexpr size_t kMostNodes = 32;  // most have two operands, some one
    require(part.terms.size() + kRepeats < Leaves::kMost, "a pattern has too many terms");
    if (apart.open.size() + apart.kept > part.terms.size() + kRepeats || apart.nodes > kMostNodes)
      return false;
    if (apart.open.empty()) return all_fit(part, apart.leaves, apart.number, next);
    const Leaf leaf = apart.open.take_last();
    const bool is_product = part.kind == Kind::product;
    if (const auto constant = number_of(leaf.value); constant && is_float(leaf.value.dtype())) {
      is_product ? apart.number *= std::pow(*constant, leaf.times)
                 : apart.number += *constant * leaf.times;
      return unfold(part, apart, next);
    }
    if (unfold_further(part, apart, leaf, next)) return true;
    add_leaf(apart.leaves, leaf);
    ++apart.kept;
    return unfold(part, apart, next);
  }

  // With the operands of the leaf instead of the leaf.
  bool unfold_further(const Part& part, Unfolded apart, const Leaf& leaf, const Next& next) {
    const Operands operands = operands_of(leaf, part.kind == Kind::product);
    if (operands.count == 0) return false;
    apart.open.add(operands.first);
    if (operands.count > 1) apart.open.add(operands.second);
    apart.number *= operands.sign;
    ++apart.nodes;
    const Mark mark = here();
    std::vector<int>& nodes = match_.nodes;
    if (std::find(nodes.begin(), nodes.end(), leaf.value.node) == nodes.end())
      nodes.push_back(leaf.value.node);
    return unfold(part, apart, next) || back_to(mark);
  }

  static void add_leaf(Leaves& leaves, const Leaf& leaf) {
    for (Leaf& other : leaves)
      if (other.value == leaf.value && is_whole(other.times) && is_whole(leaf.times)) {
        other.times += leaf.times;
        return;
      }
    leaves.add(leaf);
  }

  static Operands operands_of(const Leaf& leaf, bool is_product) {
    const Node& node = leaf.value.producer();
    const double times = leaf.times;
    const Values& in = node.inputs;
    const auto one = [&](double power) { return Operands{1, {in[0], power}}; };
    const auto two = [&](double sign) {
      return Operands{2, {in[0], times}, {in[1], sign * times}};
    };
    if (is_op(node, known_ops().neg)) {
      if (!is_product) return one(-times);
      if (!is_whole(times)) return {};
      Operands operands = one(times);
      if (std::fmod(times, 2) != 0) operands.sign = -1;
      return operands;
    }
    if (!is_product) {
      if (is_op(node, known_ops().add)) return two(1);
      if (is_op(node, known_ops().sub)) return two(-1);
      return {};
    }
    if (!is_float(leaf.value.dtype())) return {};
    if (is_whole(times)) {
      if (is_op(node, known_ops().mul)) return two(1);
      if (is_op(node, known_ops().div)) return two(-1);
      if (is_op(node, known_ops().reciprocal)) return one(-times);
    }
    if (std::abs(times) != 1) return {};
    if (is_op(node, known_ops().sqrt)) return one(0.5 * times);
    if (is_op(node, known_ops().rsqrt)) return one(-0.5 * times);
    if (!is_op(node, known_ops().pow)) return {};
    const std::optional<double> power = number_of(in[1]);
    if (!power || !is_whole(2 * *power) || std::abs(*power) > 4) return {};
    return one(*power * times);
  }

  bool all_fit(const Part& part, const Leaves& leaves, double number, const Next& next) {
    // Another number of them says little: any product or sum can be taken apart.
    if (leaves.size() != part.terms.size() || leaves.empty()) return false;
    const DType dtype = leaves[0].value.dtype();
    if (part.open)
      return fits_number(*part.open->part(), number, dtype,
                         [&] { return leaves_fit(part, leaves, 0, 0, next); });
    if (!same_number(number, part.wanted, dtype))
      return miss([&] {
        return text("the number in the ", part.kind == Kind::product ? "product" : "sum", " is ",
                    number, ", and ", part.wanted, " is wanted");
      });
    return leaves_fit(part, leaves, 0, 0, next);
  }

  // Terms from `at` on, by leaves that are not among `used`, a set of bits.
  bool leaves_fit(const Part& part, const Leaves& leaves, size_t at, unsigned used,
                  const Next& next) {
    if (at == part.terms.size()) return next();
    for (size_t i = 0; i < leaves.size(); ++i) {
      const unsigned bit = 1u << i;
      if ((used & bit) != 0 || leaves[i].times != part.terms[at].times) continue;
      if (fits(part.terms[at].pattern, leaves[i].value,
               [&] { return leaves_fit(part, leaves, at + 1, used | bit, next); }))
        return true;
    }
    return false;
  }

  const MatchGraph& graph_;
  Furthest* furthest_;
  Match& match_;
};

}  // namespace

bool may_be_root(const Pattern& pattern, const OpDef* op) {
  const Part& part = *pattern.part();
  const KnownOps& k = known_ops();
  const auto is_one_of = [&](std::initializer_list<const OpDef*> ops) {
    return std::find(ops.begin(), ops.end(), op) != ops.end();
  };
  switch (part.kind) {
    case Kind::op:
      return part.op == op;
    case Kind::either:
      return std::any_of(part.operands.begin(), part.operands.end(),
                         [&](const Pattern& each) { return may_be_root(each, op); });
    case Kind::product:
      return is_one_of({&k.mul, &k.div, &k.neg, &k.pow, &k.sqrt, &k.rsqrt, &k.reciprocal});
    case Kind::sum:
      return is_one_of({&k.add, &k.sub, &k.neg});
    default:
      return true;
  }
}

namespace {

// The nodes that a formula has at least.
size_t size_of(const Pattern& pattern) {
  const Part& part = *pattern.part();
  size_t inside = 0;
  for (const Weighted& term : part.terms) inside += size_of(term.pattern);
  if (part.kind == Kind::maybe) return 0;
  if (part.kind == Kind::either) {
    size_t least = SIZE_MAX;
    for (const Pattern& each : part.operands) least = std::min(least, size_of(each));
    return least;
  }
  for (const Pattern& operand : part.operands) inside += size_of(operand);
  const size_t joins = part.terms.empty() ? 0 : part.terms.size() - 1;
  return inside + (part.kind == Kind::op ? 1 : joins);
}

// What is found in part is worth telling from half of it on.
void note_miss(NearMisses& misses, const Pattern& pattern, Value root, Furthest furthest) {
  constexpr size_t kLeast = 3;
  if (furthest.found < kLeast || 2 * furthest.found < size_of(pattern)) return;
  const Node& node = root.producer();
  misses.note({root.node, node.op->name, node.name.empty() ? node.origin : node.name,
               furthest.found, std::move(furthest.reason)});
}

}  // namespace

std::optional<Match> match(const MatchGraph& graph, const Pattern& pattern, Value root) {
  if (!may_be_root(pattern, root.producer().op.get())) return std::nullopt;
  NearMisses* const misses = graph.misses();
  Furthest furthest;
  Match found;
  Search search(graph, misses ? &furthest : nullptr, found);
  const bool fits = search.fits(pattern, root, [&] {
    const auto outer = std::find_if(found.nodes.begin(), found.nodes.end(), [&](int node) {
      return node != root.node && !graph.is_inner(node, found.nodes);
    });
    if (outer == found.nodes.end()) return true;
    if (misses && found.nodes.size() > furthest.found)
      furthest = {found.nodes.size(),
                  text(describe(graph.graph().node(*outer)), " is read elsewhere, too")};
    return false;
  });
  if (!fits && misses) note_miss(*misses, pattern, root, std::move(furthest));
  if (!fits || found.nodes.empty()) return std::nullopt;
  return found;
}

}  // namespace rlx
