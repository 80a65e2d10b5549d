// Equal extents and extents that broadcast are compared by trying: the expressions in them count as
// unknowns, and since only equality and being 1 matter, few values stand for all there are: 1, the
// numbers that are named, and three others (those of both sides of a check that fails, and one for
// the rest).

#include "rlx/passes/extents.h"

#include <algorithm>

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

// Takes an extent apart into those that it is the broadcast of.
class Parts : public Dim::Builder {
 public:
  static std::vector<Dim> of(const Dim& extent) {
    Parts parts;
    return parts.found_[static_cast<size_t>(extent.build(parts))].parts;
  }

 private:
  struct Found {
    Dim whole;
    std::vector<Dim> parts;
  };
  int32_t add(const Dim& whole, std::vector<Dim> parts = {}) {
    if (parts.empty()) parts = {whole};
    found_.push_back({whole, std::move(parts)});
    return static_cast<int32_t>(found_.size()) - 1;
  }
  const Found& at(int32_t i) const { return found_[static_cast<size_t>(i)]; }

  int32_t number(int64_t value) override { return add(value); }
  int32_t symbol(const std::string& name) override { return add(Dim(name)); }
  int32_t sum(int32_t a, int32_t b) override { return add(at(a).whole + at(b).whole); }
  int32_t product(int32_t a, int32_t b) override { return add(at(a).whole * at(b).whole); }
  int32_t call(Dim::Function function, int32_t a, int32_t b) override {
    const Dim &x = at(a).whole, &y = at(b).whole;
    switch (function) {
      case Dim::Function::floor_div:
        return add(floor_div(x, y));
      case Dim::Function::mod:
        return add(mod(x, y));
      case Dim::Function::min:
        return add(min(x, y));
      case Dim::Function::max:
        return add(max(x, y));
      default:
        break;
    }
    std::vector<Dim> parts = at(a).parts;
    parts.insert(parts.end(), at(b).parts.begin(), at(b).parts.end());
    return add(broadcast(x, y), std::move(parts));
  }

  std::vector<Found> found_;
};

// Checks over numbered unknowns and numbers.
class Trial {
 public:
  bool same(const Checks& a, const Checks& b) {
    const std::vector<Check> first = read(a), second = read(b);
    constexpr size_t kMostUnknowns = 6;
    if (unknowns_.size() > kMostUnknowns) return false;
    values_.assign(unknowns_.size(), 0);
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
    for (const Dim& part : Parts::of(extent)) {
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
    if (unknown == values_.size()) return all_hold(a) == all_hold(b);
    return std::all_of(domain_.begin(), domain_.end(), [&](int64_t value) {
      values_[unknown] = value;
      return same_from(unknown + 1, a, b);
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
