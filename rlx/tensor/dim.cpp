#include "rlx/tensor/dim.h"

#include <algorithm>
#include <set>

#include "rlx/base/error.h"

namespace rlx {

// A symbol, or a function that sums of products cannot express.
struct Dim::Atom {
  Function function = Function::symbol;
  std::string key;  // its text: equal atoms have equal keys
  Dim a, b;
};

namespace {

int64_t checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    fail(ErrorKind::limit, "a size of ", a, " + ", b, " does not fit 64 bits");
  return sum;
}

int64_t checked_mul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    fail(ErrorKind::limit, "a size of ", a, " * ", b, " does not fit 64 bits");
  return product;
}

int64_t mod_number(int64_t a, int64_t b) {
  if (b == 0) fail(ErrorKind::invalid_graph, "a dimension divides by zero");
  if (b == -1) return 0;  // the smallest number has no quotient
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t floor_div_number(int64_t a, int64_t b) {
  if (b == 0) fail(ErrorKind::invalid_graph, "a dimension divides by zero");
  if (b == -1) return checked_mul(a, -1);
  const int64_t quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}

// Interval arithmetic that keeps "unbounded" unbounded.
int64_t bounded_add(int64_t a, int64_t b) {
  if (a == kUnbounded || b == kUnbounded) return kUnbounded;
  if (a == -kUnbounded || b == -kUnbounded) return -kUnbounded;
  return checked_add(a, b);
}
int64_t bounded_mul(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a == kUnbounded || b == kUnbounded || a == -kUnbounded || b == -kUnbounded)
    return ((a < 0) == (b < 0)) ? kUnbounded : -kUnbounded;
  return checked_mul(a, b);
}
int64_t broadcast_number(int64_t a, int64_t b, const Dim& a_dim, const Dim& b_dim) {
  if (a == b || b == 1) return a;
  if (a != 1)
    fail(ErrorKind::invalid_input, "cannot broadcast ", a_dim, " with ", b_dim, ", they are ", a,
         " and ", b);
  return b;
}

// Where both are at least 1 the larger of them is it; 0 beside 1 is 0. One that is at least 2 is
// it, or the binding is an Error.
Interval broadcast_range(Interval a, Interval b) {
  const int64_t least = std::min(a.low, b.low), most = std::max(a.low, b.low);
  Interval range{least >= 1 || most >= 2 ? most : least, std::max(a.high, b.high)};
  if (a.low >= 2) range.high = a.high;
  if (b.low >= 2) range.high = std::min(range.high, b.high);
  return range;
}
Interval multiply(Interval x, Interval y) {
  const int64_t corners[] = {bounded_mul(x.low, y.low), bounded_mul(x.low, y.high),
                             bounded_mul(x.high, y.low), bounded_mul(x.high, y.high)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
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
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case Function::max:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case Function::broadcast:
      return broadcast_range(a, b);
    case Function::mod:
      return {0, b.high == kUnbounded ? kUnbounded : std::max<int64_t>(b.high - 1, 0)};
    default:
      break;
  }
  if (b.low <= 0) return {-kUnbounded, kUnbounded};  // a divisor that may be zero says nothing
  const auto divide = [](int64_t x, int64_t y) {
    if (x == kUnbounded || x == -kUnbounded) return x;
    return y == kUnbounded ? int64_t{x < 0 ? -1 : 0} : floor_div_number(x, y);
  };
  return {std::min(divide(a.low, b.low), divide(a.low, b.high)),
          std::max(divide(a.high, b.low), divide(a.high, b.high))};
}

Interval Dim::range(const SymbolRanges& ranges) const {
  Interval sum{constant_, constant_};
  for (const Term& term : terms_) {
    Interval product{term.coefficient, term.coefficient};
    for (const AtomPtr& atom : term.factors) product = multiply(product, atom_range(*atom, ranges));
    sum = {bounded_add(sum.low, product.low), bounded_add(sum.high, product.high)};
  }
  return sum;
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
  return sum;
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  Dim product(checked_mul(a.constant_, b.constant_));
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
  if (function != Function::symbol) name = text(name, '(', a, ", ", b, ')');
  Dim dim;
  dim.terms_.push_back({1, {std::make_shared<const Atom>(Atom{function, std::move(name), a, b})}});
  return dim;
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b.is(1)) return a;
  if (a.is_number() && b.is_number() && b.constant_ != 0)
    return floor_div_number(a.constant_, b.constant_);
  if (a == b) return 1;
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
  // In whatever order dims met, and however often one came again, it is the same dim.
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
