#include "rlx/ir/extent_facts.h"

#include <algorithm>

namespace rlx {
namespace {

using Pairs = std::vector<std::pair<Dim, Dim>>;

// Makes an expression again, each min(n, c) of what is known to be at most c as n, and each
// max(n, 0) of an extent.
class Again : public Dim::Builder {
 public:
  Again(const Pairs& at_most, const Dims& extents) : at_most_(at_most), extents_(extents) {}

  Dim operator()(const Dim& dim) { return at(dim.build(*this)); }
  const Pairs& cuts() const { return cuts_; }  // each min(n, c) that was met

 private:
  const Dim& at(int32_t i) const { return made_[static_cast<size_t>(i)]; }
  int32_t add(Dim dim) {
    made_.push_back(std::move(dim));
    return static_cast<int32_t>(made_.size()) - 1;
  }

  int32_t number(int64_t value) override { return add(value); }
  int32_t symbol(const std::string& name) override { return add(Dim(name)); }
  int32_t sum(int32_t a, int32_t b) override { return add(at(a) + at(b)); }
  int32_t product(int32_t a, int32_t b) override { return add(at(a) * at(b)); }
  int32_t call(Dim::Function function, int32_t a, int32_t b) override {
    const Dim x = at(a), y = at(b);
    switch (function) {
      case Dim::Function::floor_div:
        return add(floor_div(x, y));
      case Dim::Function::mod:
        return add(mod(x, y));
      case Dim::Function::max:
        return add(x.is(0) && is_extent(y) ? y : y.is(0) && is_extent(x) ? x : max(x, y));
      case Dim::Function::min:
        return add(x.is_number() ? cut(y, x) : cut(x, y));
      default:
        return add(broadcast(x, y));
    }
  }
  Dim cut(const Dim& whole, const Dim& most) {
    if (most.is_number()) cuts_.emplace_back(whole, most);
    const bool known = std::any_of(at_most_.begin(), at_most_.end(), [&](const auto& pair) {
      return pair.first == whole && pair.second == most;
    });
    return known ? whole : min(whole, most);
  }

  bool is_extent(const Dim& dim) const {
    return std::find(extents_.begin(), extents_.end(), dim) != extents_.end();
  }

  const Pairs& at_most_;
  const Dims& extents_;
  Pairs cuts_;
  std::vector<Dim> made_;
};

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

// The number c of min(whole, c), if `part` is that.
std::optional<Dim> limit_of(const Dim& part, const Dim& whole) {
  if (part.is_number() || whole.is_number() || part == whole) return std::nullopt;
  const Pairs nothing;
  const Dims no_extents;
  Again again(nothing, no_extents);
  again(part);
  for (const auto& [n, most] : again.cuts())
    if (n == whole && most.number() >= 2 && min(whole, most) == part) return most;
  return std::nullopt;
}

// The same of a part of what is the broadcast of several.
std::optional<Dim> limit_within(const Dim& extent, const Dim& whole) {
  if (extent.is_number() || whole.is_number()) return std::nullopt;
  for (const Dim& part : broadcast_parts(extent))
    if (const auto limit = limit_of(part, whole)) return limit;
  return std::nullopt;
}

}  // namespace

std::vector<Dim> broadcast_parts(const Dim& extent) { return Parts::of(extent); }

bool tells_limit(const Dim& a, const Dim& b) { return limit_within(a, b) || limit_within(b, a); }

bool is_cut_of(const Dim& part, const Dim& whole) { return limit_of(part, whole).has_value(); }

std::optional<Dim> same_extent(const Dim& a, const Dim& b) {
  if (a == b) return a;
  if (a.is_number() || b.is_number()) return std::nullopt;
  if (a == max(b, 0)) return b;
  return b == max(a, 0) ? std::optional(a) : std::nullopt;
}

ExtentFacts::ExtentFacts(const Dims& a, const Dims& b) {
  extents_ = a;
  extents_.insert(extents_.end(), b.begin(), b.end());
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const Dim &x = a[a.size() - i], &y = b[b.size() - i];
    if (const auto limit = limit_within(x, y)) at_most_.emplace_back(y, *limit);
    if (const auto limit = limit_within(y, x)) at_most_.emplace_back(x, *limit);
  }
}

Dim ExtentFacts::operator()(const Dim& extent) const {
  return at_most_.empty() || extent.is_number() ? extent : Again(at_most_, extents_)(extent);
}

}  // namespace rlx
