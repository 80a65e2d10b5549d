// Equal extents and extents that broadcast are compared by trying: the expressions in them count as
// unknowns, and since only equality and being 1 matter, few values stand for all there are: 1, the
// numbers that are named, and three others (those of both sides of a check that fails, and one for
// the rest).

#include "rlx/passes/extents.h"

#include <algorithm>

#include "rlx/ir/extent_facts.h"

namespace rlx {
namespace {

using Checks = std::vector<DimCheck>;

bool is_about_equality(const DimCheck& check) {
  return check.relation == Relation::equal || check.relation == Relation::broadcast ||
         check.relation == Relation::broadcasts_to;
}

bool same_check(const DimCheck& a, const DimCheck& b) {
  const bool turns = a.relation == Relation::equal || a.relation == Relation::broadcast;
  return a.relation == b.relation &&
         ((a.a == b.a && a.b == b.b) || (turns && a.a == b.b && a.b == b.a));
}

// Checks over numbered unknowns and numbers.
class Trial {
 public:
  bool same(const Checks& a, const Checks& b) {
    const std::vector<Check> first = read(a), second = read(b);
    constexpr size_t kMostUnknowns = 6;
    if (unknowns_.size() > kMostUnknowns) return false;
    values_.assign(unknowns_.size(), 0);
    for (size_t part = 0; part < unknowns_.size(); ++part)
      for (size_t whole = 0; whole < unknowns_.size(); ++whole)
        if (is_cut_of(unknowns_[part], unknowns_[whole])) cuts_.emplace_back(part, whole);
    return same_from(0, first, second);
  }

 private:
  struct Part {
    bool is_number;
    int64_t number;  // or which unknown
  };
  struct Check {
    std::vector<Part> a, b;
    Relation relation;
  };

  std::vector<Part> read(const Dim& extent) {
    std::vector<Part> parts;
    for (const Dim& part : broadcast_parts(extent)) {
      if (part.is_number()) {
        domain_.push_back(part.number());
        parts.push_back({true, part.number()});
        continue;
      }
      auto at = std::find(unknowns_.begin(), unknowns_.end(), part);
      if (at == unknowns_.end()) at = unknowns_.insert(unknowns_.end(), part);
      parts.push_back({false, at - unknowns_.begin()});
    }
    return parts;
  }
  std::vector<Check> read(const Checks& checks) {
    std::vector<Check> result;
    for (const DimCheck& check : checks)
      if (is_about_equality(check))
        result.push_back({read(check.a), read(check.b), check.relation});
    std::sort(domain_.begin(), domain_.end());
    domain_.erase(std::unique(domain_.begin(), domain_.end()), domain_.end());
    return result;
  }

  bool same_from(size_t unknown, const std::vector<Check>& a, const std::vector<Check>& b) {
    if (unknown == values_.size()) return !is_possible() || all_hold(a) == all_hold(b);
    return std::all_of(domain_.begin(), domain_.end(), [&](int64_t value) {
      values_[unknown] = value;
      return same_from(unknown + 1, a, b);
    });
  }
  // min(n, c) is n, or a number above 1.
  bool is_possible() const {
    return std::none_of(cuts_.begin(), cuts_.end(), [&](const auto& cut) {
      return values_[cut.first] == 1 && values_[cut.second] != 1;
    });
  }
  bool all_hold(const std::vector<Check>& checks) const {
    return std::all_of(checks.begin(), checks.end(),
                       [&](const Check& check) { return holds(check); });
  }
  bool holds(const Check& check) const {
    int64_t a = 1, b = 1;
    if (!resolve(check.a, a) || !resolve(check.b, b)) return false;
    if (a == b) return true;
    return (check.relation != Relation::equal && a == 1) ||
           (check.relation == Relation::broadcast && b == 1);
  }
  // The extent, if its parts broadcast.
  bool resolve(const std::vector<Part>& parts, int64_t& extent) const {
    for (const Part& part : parts) {
      const int64_t value = part.is_number ? part.number : values_[size_t(part.number)];
      if (value == 1 || value == extent) continue;
      if (extent != 1) return false;
      extent = value;
    }
    return true;
  }

  std::vector<Dim> unknowns_;
  std::vector<int64_t> values_;
  std::vector<std::pair<size_t, size_t>> cuts_;  // unknowns, the first min(the second, a number)
  std::vector<int64_t> domain_ = {1, (int64_t{1} << 40) + 1, (int64_t{1} << 40) + 2,
                                  (int64_t{1} << 40) + 3};
};

}  // namespace

bool ask_the_same(const Checks& a, const Checks& b) {
  const auto within = [](const Checks& some, const Checks& others, bool equality_too) {
    return std::all_of(some.begin(), some.end(), [&](const DimCheck& check) {
      return (is_about_equality(check) && !equality_too) ||
             std::any_of(others.begin(), others.end(),
                         [&](const DimCheck& other) { return same_check(check, other); });
    });
  };
  if (within(a, b, true) && within(b, a, true)) return true;
  return within(a, b, false) && within(b, a, false) && Trial().same(a, b);
}

}  // namespace rlx
