#include "rlx/tensor/dim.h"

#include <algorithm>
#include <memory>
#include <set>

#include "rlx/base/error.h"

namespace rlx {

// A symbol, or a function that sums of products cannot express.
struct Dim::Atom {
  Function function = Function::symbol;
  std::string key;  // its text: equal atoms have equal keys
  Dim a, b;
  size_t parts = 1;
};

namespace {

int64_t broadcast_number(int64_t a, int64_t b, const Dim& a_dim, const Dim& b_dim) {
  if (a != b && a != 1 && b != 1)
    fail(ErrorKind::invalid_input, "cannot broadcast ", a_dim, " with ", b_dim, ", they are ", a,
         " and ", b);
  return a == 1 ? b : a;
}

}  // namespace

bool is_symbol_name(const std::string& name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9') || name[0] == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  });
}

Dim::Dim(const std::string& symbol) {
  require(is_symbol_name(symbol), "'", symbol, "' is not a name for a symbol");
  *this = of_atom(Function::symbol, symbol, {}, {});
}
Dim::Dim(const Dim& other) = default;
Dim::Dim(Dim&& other) noexcept = default;
Dim& Dim::operator=(const Dim& other) = default;
Dim& Dim::operator=(Dim&& other) noexcept = default;
Dim::~Dim() = default;

Dim::Dim(const char* symbol) : Dim(std::string(symbol)) {}

int64_t Dim::number() const {
  require(is_number(), "dim ", *this, " is not a number, and one is needed here");
  return constant_;
}

std::optional<std::string> Dim::symbol() const {
  const Atom* atom = function(Function::symbol);
  return atom ? std::optional(atom->key) : std::nullopt;
}

std::vector<std::string> Dim::symbols() const {
  std::set<std::string> found;
  for (const Term& term : terms_)
    for (const AtomPtr& atom : term.factors) {
      if (atom->function == Function::symbol) found.insert(atom->key);
      for (const Dim* part : {&atom->a, &atom->b})
        for (std::string& name : part->symbols()) found.insert(std::move(name));
    }
  return {found.begin(), found.end()};
}

size_t Dim::parts() const {
  size_t parts = 0;
  for (const Term& term : terms_) {
    ++parts;
    for (const AtomPtr& atom : term.factors) parts += atom->parts;
  }
  return parts;
}

void Dim::check_parts() const {
  if (const size_t count = parts(); count > kMostParts)
    fail(ErrorKind::limit, "a dim is an expression of ", count, " parts, the limit is ",
         kMostParts);
}

int64_t Dim::atom_value(const Atom& atom, const SymbolValues& symbols) {
  if (atom.function == Function::symbol) {
    const auto found = symbols.find(atom.key);
    if (found == symbols.end())
      fail(ErrorKind::invalid_input, "symbol '", atom.key, "' has no value: no input binds it");
    return found->second;
  }
  const int64_t a = atom.a.value(symbols), b = atom.b.value(symbols);
  switch (atom.function) {
    case Function::floor_div:
      return floor_div_number(a, b);
    case Function::mod:
      return mod_number(a, b);
    case Function::min:
      return std::min(a, b);
    case Function::broadcast:
      return broadcast_number(a, b, atom.a, atom.b);
    default:
      return std::max(a, b);
  }
}

int64_t Dim::value(const SymbolValues& symbols) const {
  int64_t sum = constant_;
  for (const Term& term : terms_) {
    int64_t product = term.coefficient;
    for (const AtomPtr& atom : term.factors)
      product = checked_mul(product, atom_value(*atom, symbols));
    sum = checked_add(sum, product);
  }
  return sum;
}

Interval Dim::atom_range(const Atom& atom, const SymbolRanges& ranges) {
  if (atom.function == Function::symbol) {
    const auto found = ranges.find(atom.key);
    return found == ranges.end() ? Interval{0, kUnbounded} : found->second;
  }
  const Interval a = atom.a.range(ranges), b = atom.b.range(ranges);
  switch (atom.function) {
    case Function::min:
      return interval_min(a, b);
    case Function::max:
      return interval_max(a, b);
    case Function::broadcast:
      return interval_broadcast(a, b);
    case Function::mod:
      return interval_mod(a, b);
    default:
      return interval_floor_div(a, b);
  }
}

Interval Dim::range(const SymbolRanges& ranges) const {
  Interval sum{constant_, constant_};
  for (const Term& term : terms_) {
    Interval product{term.coefficient, term.coefficient};
    for (const AtomPtr& atom : term.factors)
      product = interval_product(product, atom_range(*atom, ranges));
    sum = interval_sum(sum, product);
  }
  return sum;
}

int32_t Dim::build(Builder& builder) const {
  std::optional<int32_t> sum;
  const auto add = [&](int32_t part) { sum = sum ? builder.sum(*sum, part) : part; };
  for (const Term& term : terms_) {
    std::optional<int32_t> product;
    for (const AtomPtr& atom : term.factors) {
      const int32_t factor =
          atom->function == Function::symbol
              ? builder.symbol(atom->key)
              : builder.call(atom->function, atom->a.build(builder), atom->b.build(builder));
      product = product ? builder.product(*product, factor) : factor;
    }
    if (term.coefficient != 1)
      product = builder.product(*product, builder.number(term.coefficient));
    add(*product);
  }
  if (constant_ != 0 || !sum) add(builder.number(constant_));
  return *sum;
}

Dim Dim::substitute(const std::map<std::string, Dim>& by) const {
  Dim sum(constant_);
  for (const Term& term : terms_) {
    Dim product(term.coefficient);
    for (const AtomPtr& atom : term.factors) {
      if (atom->function == Function::symbol) {
        const auto found = by.find(atom->key);
        product = product * (found == by.end() ? Dim(atom->key) : found->second);
        continue;
      }
      const Dim a = atom->a.substitute(by), b = atom->b.substitute(by);
      switch (atom->function) {
        case Function::floor_div:
          product = product * floor_div(a, b);
          break;
        case Function::mod:
          product = product * mod(a, b);
          break;
        case Function::min:
          product = product * min(a, b);
          break;
        case Function::broadcast:
          product = product * broadcast(a, b);
          break;
        default:
          product = product * max(a, b);
          break;
      }
    }
    sum = sum + product;
  }
  return sum;
}

// Longer products first, then by text: 2*a*b + a + 1.
int Dim::compare(const Term& a, const Term& b) {
  if (a.factors.size() != b.factors.size()) return a.factors.size() > b.factors.size() ? -1 : 1;
  for (size_t i = 0; i < a.factors.size(); ++i)
    if (const int order = a.factors[i]->key.compare(b.factors[i]->key)) return order;
  return 0;
}

void Dim::add_term(Term term) {
  const auto at = std::lower_bound(terms_.begin(), terms_.end(), term,
                                   [](const Term& a, const Term& b) { return compare(a, b) < 0; });
  if (at == terms_.end() || compare(*at, term) != 0) {
    if (term.coefficient != 0) terms_.insert(at, std::move(term));
    return;
  }
  at->coefficient = checked_add(at->coefficient, term.coefficient);
  if (at->coefficient == 0) terms_.erase(at);
}

Dim operator+(const Dim& a, const Dim& b) {
  Dim sum = a;
  sum.constant_ = checked_add(sum.constant_, b.constant_);
  for (const Dim::Term& term : b.terms_) sum.add_term(term);
  // max(x - n, 0) + min(n, x) is x: what is cut off one end and joined again at the other.
  const auto single = [](const Dim::Term& term, Dim::Function which) -> const Dim::Atom* {
    const Dim::Atom* atom = term.factors.size() == 1 ? term.factors[0].get() : nullptr;
    return atom && atom->function == which ? atom : nullptr;
  };
  for (const Dim::Term& high : sum.terms_) {
    const Dim::Atom* rest = single(high, Dim::Function::max);
    if (!rest || (!rest->a.is(0) && !rest->b.is(0))) continue;
    const Dim& behind = rest->a.is(0) ? rest->b : rest->a;
    for (const Dim::Term& low : sum.terms_) {
      const Dim::Atom* cut = single(low, Dim::Function::min);
      if (!cut || low.coefficient != high.coefficient) continue;
      const bool fits = cut->a - cut->b == behind || cut->b - cut->a == behind;
      if (!fits) continue;
      const Dim whole = cut->a - cut->b == behind ? cut->a : cut->b;
      const Dim::Term gone[] = {high, low};
      Dim others = sum;
      for (Dim::Term term : gone) {
        term.coefficient = -term.coefficient;
        others.add_term(std::move(term));
      }
      return others + whole * Dim(gone[0].coefficient);
    }
  }
  sum.check_parts();
  return sum;
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  Dim product(checked_mul(a.constant_, b.constant_));
  // Before they are multiplied: like terms may become one, but not all of so many.
  constexpr size_t kMostProducts = 4 * Dim::kMostParts;
  if (a.terms_.size() * b.terms_.size() > kMostProducts)
    fail(ErrorKind::limit, "a dim is a product of ", a.terms_.size(), " by ", b.terms_.size(),
         " terms, the limit is ", kMostProducts);
  const auto by_key = [](const Dim::AtomPtr& x, const Dim::AtomPtr& y) { return x->key < y->key; };
  for (const Dim::Term& term : a.terms_)
    product.add_term({checked_mul(term.coefficient, b.constant_), term.factors});
  for (const Dim::Term& term : b.terms_)
    product.add_term({checked_mul(term.coefficient, a.constant_), term.factors});
  for (const Dim::Term& x : a.terms_)
    for (const Dim::Term& y : b.terms_) {
      Dim::Term term{checked_mul(x.coefficient, y.coefficient), {}};
      std::merge(x.factors.begin(), x.factors.end(), y.factors.begin(), y.factors.end(),
                 std::back_inserter(term.factors), by_key);
      product.add_term(std::move(term));
    }
  product.check_parts();
  return product;
}

bool Dim::operator==(const Dim& other) const {
  if (constant_ != other.constant_ || terms_.size() != other.terms_.size()) return false;
  for (size_t i = 0; i < terms_.size(); ++i)
    if (terms_[i].coefficient != other.terms_[i].coefficient ||
        compare(terms_[i], other.terms_[i]) != 0)
      return false;
  return true;
}

Dim Dim::of_atom(Function function, std::string name, const Dim& a, const Dim& b) {
  Dim dim;
  const size_t parts = 1 + a.parts() + b.parts();
  if (parts > kMostParts)
    fail(ErrorKind::limit, "a dim is ", name, " of ", parts, " parts, the limit is ", kMostParts);
  if (function != Function::symbol) name = text(name, '(', a, ", ", b, ')');
  dim.terms_.push_back(
      {1, {std::make_shared<const Atom>(Atom{function, std::move(name), a, b, parts})}});
  return dim;
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b.is(1)) return a;
  if (a.is_number() && b.is_number() && b.constant_ != 0)
    return floor_div_number(a.constant_, b.constant_);
  if (a == b) return 1;
  const auto is_multiple = [&](const Dim& dim) {  // whatever the symbols are
    return dim.constant_ % b.constant_ == 0 &&
           std::all_of(dim.terms_.begin(), dim.terms_.end(),
                       [&](const Dim::Term& term) { return term.coefficient % b.constant_ == 0; });
  };
  if (b.is_number() && b.constant_ > 0)  // z + mod(-z, b) is z rounded up to a multiple of b
    for (const Dim::Term& term : a.terms_) {
      if (term.coefficient != 1 || term.factors.size() != 1) continue;
      const Dim::Atom& atom = *term.factors[0];
      if (atom.function != Dim::Function::mod || !(atom.b == b)) continue;
      Dim rest = a;  // and up to b - 1 more changes nothing
      rest.add_term({-1, term.factors});
      rest.constant_ -= mod_number(rest.constant_ + atom.a.constant_, b.constant_);
      if (is_multiple(rest + atom.a)) return floor_div(rest + b - 1, b);
    }
  if (b.is_number() && b.constant_ > 0) {  // what divides evenly leaves the fraction
    Dim whole, rest(mod(Dim(a.constant_), b));
    whole.constant_ = floor_div_number(a.constant_, b.constant_);
    for (const Dim::Term& term : a.terms_) {
      if (term.coefficient % b.constant_ == 0)
        whole.add_term({term.coefficient / b.constant_, term.factors});
      else
        rest.add_term(term);
    }
    if (rest.is_number()) return whole;
    return whole + Dim::of_atom(Dim::Function::floor_div, "floor_div", rest, b);
  }
  return Dim::of_atom(Dim::Function::floor_div, "floor_div", a, b);
}

Dim mod(const Dim& a, const Dim& b) {
  if (b.is(1)) return 0;
  if (a.is_number() && b.is_number() && b.constant_ != 0)
    return mod_number(a.constant_, b.constant_);
  if (a == b) return 0;
  if (b.is_number() && b.constant_ > 0) {
    // Multiples of b say nothing, and mod(x, b) no more than x.
    Dim rest(mod_number(a.constant_, b.constant_));
    for (const Dim::Term& term : a.terms_) {
      if (term.coefficient % b.constant_ == 0) continue;
      const Dim::Atom* atom = term.factors.size() == 1 ? term.factors[0].get() : nullptr;
      if (atom && atom->function == Dim::Function::mod && atom->b == b)
        rest = rest + atom->a * Dim(term.coefficient);
      else
        rest.add_term(term);
    }
    if (!(rest == a)) return mod(rest, b);
  }
  return Dim::of_atom(Dim::Function::mod, "mod", a, b);
}

Dim min(const Dim& a, const Dim& b) {
  if (a == b) return a;
  if ((a - b).is_number()) return (a - b).number() < 0 ? a : b;
  return Dim::of_atom(Dim::Function::min, "min", a, b);
}

Dim max(const Dim& a, const Dim& b) {
  if (a == b) return a;
  if ((a - b).is_number()) return (a - b).number() > 0 ? a : b;
  return Dim::of_atom(Dim::Function::max, "max", a, b);
}

const Dim::Atom* Dim::function(Function which) const {
  if (constant_ != 0 || terms_.size() != 1 || terms_[0].coefficient != 1) return nullptr;
  if (terms_[0].factors.size() != 1) return nullptr;
  const Atom* atom = terms_[0].factors[0].get();
  return atom->function == which ? atom : nullptr;
}

void Dim::add_broadcast_parts(std::vector<Dim>& parts) const {
  if (const Atom* atom = function(Function::broadcast)) {
    atom->a.add_broadcast_parts(parts);
    atom->b.add_broadcast_parts(parts);
  } else if (std::find(parts.begin(), parts.end(), *this) == parts.end()) {
    parts.push_back(*this);
  }
}

Dim broadcast(const Dim& a, const Dim& b) {
  if (a == b || b.is(1)) return a;
  if (a.is(1)) return b;
  if (a.is_number() && b.is_number())
    fail(ErrorKind::invalid_graph, "cannot broadcast ", a, " with ", b);
  if (a.is_number()) return a;
  if (b.is_number()) return b;
  // The result does not depend on the order of the parts or on repeated ones.
  std::vector<Dim> met, parts;
  a.add_broadcast_parts(met);
  b.add_broadcast_parts(met);
  const auto says_nothing = [&](const Dim& part) {  // min(1, n) beside n: both are 0, or it is 1
    const Dim::Atom* least = part.function(Dim::Function::min);
    const Dim* whole = !least           ? nullptr
                       : least->a.is(1) ? &least->b
                       : least->b.is(1) ? &least->a
                                        : nullptr;
    return whole && std::find(met.begin(), met.end(), *whole) != met.end();
  };
  for (const Dim& part : met)
    if (!says_nothing(part)) parts.push_back(part);
  std::sort(parts.begin(), parts.end(),
            [](const Dim& x, const Dim& y) { return text(x) < text(y); });
  Dim all = parts.back();
  for (size_t i = parts.size() - 1; i-- > 0;)
    all = Dim::of_atom(Dim::Function::broadcast, "broadcast", parts[i], all);
  return all;
}

std::ostream& operator<<(std::ostream& out, const Dim& dim) {
  bool first = true;
  const auto sign = [&](int64_t number) {
    if (first)
      out << (number < 0 ? "-" : "");
    else
      out << (number < 0 ? " - " : " + ");
    first = false;
  };
  for (const Dim::Term& term : dim.terms_) {
    sign(term.coefficient);
    const bool one = term.coefficient == 1 || term.coefficient == -1;
    if (!one)
      out << (term.coefficient < 0 ? 0 - static_cast<uint64_t>(term.coefficient)
                                   : static_cast<uint64_t>(term.coefficient));
    for (size_t i = 0; i < term.factors.size(); ++i)
      out << (i || !one ? "*" : "") << term.factors[i]->key;
  }
  if (first) return out << dim.constant_;
  if (dim.constant_ == 0) return out;
  sign(dim.constant_);
  return out << (dim.constant_ < 0 ? 0 - static_cast<uint64_t>(dim.constant_)
                                   : static_cast<uint64_t>(dim.constant_));
}

}  // namespace rlx
