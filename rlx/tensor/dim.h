// A dimension: a number, or an expression over named symbols, kept in a canonical form so that
// equal expressions compare equal.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rlx/base/shared.h"
#include "rlx/tensor/interval.h"

namespace rlx {

using SymbolValues = std::map<std::string, int64_t>;

// What is known of symbols before they are bound; one that is missing is in [0, unbounded).
using SymbolRanges = std::map<std::string, Interval>;

class Dim {
 public:
  enum class Function { symbol, floor_div, mod, min, max, broadcast };
  Dim(int64_t number = 0) : constant_(number) {}  // NOLINT(google-explicit-constructor)
  Dim(int number) : constant_(number) {}          // NOLINT(google-explicit-constructor)
  Dim(size_t number)
      : constant_(static_cast<int64_t>(number)) {}  // NOLINT(google-explicit-constructor)
  Dim(const char* symbol);                          // NOLINT(google-explicit-constructor)
  Dim(const std::string& symbol);                   // NOLINT(google-explicit-constructor)
  // Not inline: nearly every struct has dims, and each file would get its own copy of all this.
  Dim(const Dim& other);
  Dim(Dim&& other) noexcept;
  Dim& operator=(const Dim& other);
  Dim& operator=(Dim&& other) noexcept;
  ~Dim();

  bool is_number() const { return terms_.empty(); }
  int64_t number() const;  // only when it is one
  bool is(int64_t number) const { return is_number() && constant_ == number; }
  // The name, when the dimension is one symbol and nothing else.
  std::optional<std::string> symbol() const;
  std::vector<std::string> symbols() const;  // all it mentions, each once
  // How many terms, symbols and functions it is made of. An expression of more than kMostParts is
  // an Error: squaring a symbol thirty times would else fill the memory.
  size_t parts() const;
  static constexpr size_t kMostParts = 4096;

  // The value under a binding; a symbol without one is an Error that names it.
  int64_t value(const SymbolValues& symbols) const;
  // The interval the value lies in; `high` is kUnbounded where a symbol has no bound.
  Interval range(const SymbolRanges& ranges) const;
  // Says the expression in the words of somebody else, whose values are numbered.
  struct Builder {
    virtual ~Builder() = default;
    virtual int32_t number(int64_t value) = 0;
    virtual int32_t symbol(const std::string& name) = 0;
    virtual int32_t sum(int32_t a, int32_t b) = 0;
    virtual int32_t product(int32_t a, int32_t b) = 0;
    virtual int32_t call(Function function, int32_t a, int32_t b) = 0;
  };
  int32_t build(Builder& builder) const;
  // Replaces symbols by expressions.
  Dim substitute(const std::map<std::string, Dim>& by) const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  bool operator==(const Dim& other) const;

  friend Dim floor_div(const Dim& a, const Dim& b);
  friend Dim mod(const Dim& a, const Dim& b);  // of the sign of b
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);
  // The extent of two that broadcast: both are equal, or one is 1. Two numbers that do not are an
  // Error, as are two such values under a binding. A number other than 1 is itself beside any
  // expression: whoever asks also holds the run to it (InferSite::broadcast).
  friend Dim broadcast(const Dim& a, const Dim& b);

  friend std::ostream& operator<<(std::ostream& out, const Dim& dim);

 private:
  struct Atom;
  using AtomPtr = Shared<const Atom>;
  struct Term {
    int64_t coefficient = 1;
    std::vector<AtomPtr> factors;  // sorted by key
  };

  static Dim of_atom(Function function, std::string name, const Dim& a, const Dim& b);
  static int compare(const Term& a, const Term& b);
  static int64_t atom_value(const Atom& atom, const SymbolValues& symbols);
  static Interval atom_range(const Atom& atom, const SymbolRanges& ranges);
  const Atom* function(Function which) const;  // where the dim is that and nothing else
  void add_broadcast_parts(std::vector<Dim>& parts) const;
  void add_term(Term term);
  void check_parts() const;

  int64_t constant_ = 0;
  std::vector<Term> terms_;  // sorted, no two alike, no zero coefficient
};

inline Dim ceil_div(const Dim& a, const Dim& b) { return floor_div(a + b - 1, b); }
inline Dim align_up(const Dim& a, int64_t to) { return ceil_div(a, to) * Dim(to); }

// letters, digits, '_' and '.', not starting with a digit or '.'
bool is_symbol_name(const std::string& name);

}  // namespace rlx
