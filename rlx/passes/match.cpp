#include "rlx/passes/match.h"

#include <algorithm>
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

using Next = std::function<bool(Match&)>;

// A value with its power in a product, or its sign in a sum.
struct Leaf {
  Value value;
  double times;
};

bool is_whole(double number) { return number == std::floor(number); }

// How far a search came before it failed for the last time; only where somebody asks.
struct Furthest {
  size_t found = 0;
  std::string reason;
};

// Tries every way in which a pattern may fit; the first that the rest accepts, too, is taken.
class Search {
 public:
  Search(const MatchGraph& graph, Furthest* furthest) : graph_(graph), furthest_(furthest) {}

  bool fits(const Pattern& pattern, Value value, Match& match, const Next& next) const {
    const Part& part = *pattern.part();
    if (const Value* bound = find_part(match.values, pattern))
      return *bound == value ? next(match) : miss(match, [&] {
        return text(describe(value.producer()), " should be ", describe(bound->producer()),
                    " again");
      });
    // Before anything is copied: most are told apart by their ops.
    if (part.kind == Kind::op && !is_of_op(part, value))
      return miss(match,
                  [&] { return text(describe(value.producer()), " should be ", part.op->name); });
    Match with = match;
    with.values.emplace_back(&part, value);
    switch (part.kind) {
      case Kind::once:
        if (!graph_.is_once(value))
          return miss(match, [&] {
            return text(describe(value.producer()), " should be of weights and constants alone");
          });
        [[fallthrough]];
      case Kind::any:
        if (part.where_value && !part.where_value(value))
          return miss(match, [&] {
            return text(describe(value.producer()), ", ", value.type(), ", is not of the kind");
          });
        return taken(next, with, match);
      case Kind::number:
        return fits_number(part, number_of(value), value.dtype(), with, match, next) ||
               miss(match, [&] {
                 return text(describe(value.producer()), " should be ",
                             part.value ? text("the number ", *part.value) : "a known number");
               });
      case Kind::op:
        return fits_op(part, value, with, match, next);
      case Kind::either:
      case Kind::maybe:
        for (const Pattern& each : part.operands)
          if (fits(each, value, with, [&](Match& found) { return taken(next, found, match); }))
            return true;
        return false;
      case Kind::product:
      case Kind::sum:
        break;
    }
    return unfold(part, {{{value, 1}}, {}, part.kind == Kind::product ? 1.0 : 0.0}, with,
                  [&](Match& found) { return taken(next, found, match); });
  }

 private:
  // False, after noting why.
  template <class Reason>
  bool miss(const Match& match, const Reason& reason) const {
    if (furthest_ && match.nodes.size() > furthest_->found)
      *furthest_ = {match.nodes.size(), reason()};
    return false;
  }

  static bool taken(const Next& next, Match& found, Match& match) {
    if (!next(found)) return false;
    match = std::move(found);
    return true;
  }

  static bool fits_number(const Part& part, std::optional<double> number, DType dtype, Match& with,
                          Match& match, const Next& next) {
    if (!number || (part.value && !same_number(*number, *part.value, dtype))) return false;
    for (const auto& [other, value] : with.numbers)
      if (other == &part && !same_number(value, *number, dtype)) return false;
    with.numbers.emplace_back(&part, *number);
    return taken(next, with, match);
  }

  static bool is_of_op(const Part& part, const Value& value) {
    const Node& node = value.producer();
    return node.op.get() == part.op && value.result == 0 &&
           node.inputs.size() >= part.operands.size();
  }

  bool fits_op(const Part& part, Value value, Match& with, Match& match, const Next& next) const {
    const Node& node = value.producer();
    if (part.where_node && !part.where_node(node))
      return miss(match, [&] { return text(describe(node), " has other attributes or shapes"); });
    with.nodes.push_back(value.node);
    const Next end = [&](Match& found) { return taken(next, found, match); };
    if (operands_fit(part, node, 0, false, with, end)) return true;
    return part.commutes && operands_fit(part, node, 0, true, with, end);
  }

  bool operands_fit(const Part& part, const Node& node, size_t i, bool swapped, Match& match,
                    const Next& next) const {
    if (i == part.operands.size()) return next(match);
    const Value operand = node.inputs[swapped && i < 2 ? 1 - i : i];
    if (!operand.present())
      return part.operands[i].part()->kind == Kind::maybe &&
             operands_fit(part, node, i + 1, swapped, match, next);
    return fits(part.operands[i], operand, match, [&](Match& found) {
      return operands_fit(part, node, i + 1, swapped, found, next);
    });
  }

  // A product or sum, taken apart: `open` may be taken further, `leaves` stay.
  struct Unfolded {
    std::vector<Leaf> open, leaves;
    double number;
    size_t kept = 0;   // how many leaves there were before equal ones became one
    size_t nodes = 0;  // that were taken apart
  };
  // As far as the pattern needs. Repeated leaves count each time: of a value that is added to
  // itself again and again there would be more ways than can be tried.
  bool unfold(const Part& part, Unfolded apart, Match& match, const Next& next) const {
    constexpr size_t kRepeats = 3;     // x * x * x is one factor
    constexpr size_t kMostNodes = 32;  // most have two operands, some one
    if (apart.open.size() + apart.kept > part.terms.size() + kRepeats || apart.nodes > kMostNodes)
      return false;
    if (apart.open.empty()) return all_fit(part, apart.leaves, apart.number, match, next);
    const Leaf leaf = apart.open.back();
    apart.open.pop_back();
    const bool is_product = part.kind == Kind::product;
    if (const auto constant = number_of(leaf.value); constant && is_float(leaf.value.dtype())) {
      is_product ? apart.number *= std::pow(*constant, leaf.times)
                 : apart.number += *constant * leaf.times;
      return unfold(part, std::move(apart), match, next);
    }
    double sign = 1;
    if (const auto parts = operands_of(leaf, is_product, sign)) {
      Unfolded more = apart;
      more.open.insert(more.open.end(), parts->begin(), parts->end());
      more.number *= sign;
      ++more.nodes;
      Match with = match;
      if (std::find(with.nodes.begin(), with.nodes.end(), leaf.value.node) == with.nodes.end())
        with.nodes.push_back(leaf.value.node);
      if (unfold(part, std::move(more), with,
                 [&](Match& found) { return taken(next, found, match); }))
        return true;
    }
    add_leaf(apart.leaves, leaf);
    ++apart.kept;
    return unfold(part, std::move(apart), match, next);
  }

  static void add_leaf(std::vector<Leaf>& leaves, const Leaf& leaf) {
    for (Leaf& other : leaves)
      if (other.value == leaf.value && is_whole(other.times) && is_whole(leaf.times)) {
        other.times += leaf.times;
        return;
      }
    leaves.push_back(leaf);
  }

  static std::optional<std::vector<Leaf>> operands_of(const Leaf& leaf, bool is_product,
                                                      double& sign) {
    const Node& node = leaf.value.producer();
    const double times = leaf.times;
    const Values& in = node.inputs;
    if (is_op(node, known_ops().neg)) {
      if (!is_product) return {{{in[0], -times}}};
      if (!is_whole(times)) return std::nullopt;
      if (std::fmod(times, 2) != 0) sign = -1;
      return {{{in[0], times}}};
    }
    if (!is_product) {
      if (is_op(node, known_ops().add)) return {{{in[0], times}, {in[1], times}}};
      if (is_op(node, known_ops().sub)) return {{{in[0], times}, {in[1], -times}}};
      return std::nullopt;
    }
    if (!is_float(leaf.value.dtype())) return std::nullopt;
    if (is_whole(times)) {
      if (is_op(node, known_ops().mul)) return {{{in[0], times}, {in[1], times}}};
      if (is_op(node, known_ops().div)) return {{{in[0], times}, {in[1], -times}}};
      if (is_op(node, known_ops().reciprocal)) return {{{in[0], -times}}};
    }
    if (std::abs(times) != 1) return std::nullopt;
    if (is_op(node, known_ops().sqrt)) return {{{in[0], 0.5 * times}}};
    if (is_op(node, known_ops().rsqrt)) return {{{in[0], -0.5 * times}}};
    if (!is_op(node, known_ops().pow)) return std::nullopt;
    const std::optional<double> power = number_of(in[1]);
    if (!power || !is_whole(2 * *power) || std::abs(*power) > 4) return std::nullopt;
    return {{{in[0], *power * times}}};
  }

  bool all_fit(const Part& part, const std::vector<Leaf>& leaves, double number, Match& match,
               const Next& next) const {
    // Another number of them says little: any product or sum can be taken apart.
    if (leaves.size() != part.terms.size() || leaves.empty()) return false;
    const DType dtype = leaves[0].value.dtype();
    const Next end = [&](Match& found) { return taken(next, found, match); };
    if (!part.open) {
      if (!same_number(number, part.wanted, dtype))
        return miss(match, [&] {
          return text("the number in the ", part.kind == Kind::product ? "product" : "sum", " is ",
                      number, ", and ", part.wanted, " is wanted");
        });
      Match with = match;
      return leaves_fit(part, leaves, {}, with, end);
    }
    Match with = match, out;
    return fits_number(*part.open->part(), number, dtype, with, out, [](Match&) { return true; }) &&
           leaves_fit(part, leaves, {}, out, end);
  }

  bool leaves_fit(const Part& part, const std::vector<Leaf>& leaves,
                  const std::vector<size_t>& used, Match& match, const Next& next) const {
    const size_t at = used.size();
    if (at == part.terms.size()) return next(match);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (std::find(used.begin(), used.end(), i) != used.end() ||
          leaves[i].times != part.terms[at].times)
        continue;
      std::vector<size_t> more = used;
      more.push_back(i);
      if (fits(part.terms[at].pattern, leaves[i].value, match,
               [&](Match& found) { return leaves_fit(part, leaves, more, found, next); }))
        return true;
    }
    return false;
  }

  const MatchGraph& graph_;
  Furthest* furthest_;
};

// Told at a glance, since nearly every node is the root of nothing.
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
  const Search search(graph, misses ? &furthest : nullptr);
  const bool fits = search.fits(pattern, root, found, [&](Match& whole) {
    const auto outer = std::find_if(whole.nodes.begin(), whole.nodes.end(), [&](int node) {
      return node != root.node && !graph.is_inner(node, whole.nodes);
    });
    if (outer == whole.nodes.end()) return true;
    if (misses && whole.nodes.size() > furthest.found)
      furthest = {whole.nodes.size(),
                  text(describe(graph.graph().node(*outer)), " is read elsewhere, too")};
    return false;
  });
  if (!fits && misses) note_miss(*misses, pattern, root, std::move(furthest));
  if (!fits || found.nodes.empty()) return std::nullopt;
  return found;
}

}  // namespace rlx
