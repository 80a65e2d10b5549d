#include "rlx/ir/attrs.h"

#include <cmath>

#include "rlx/ir/text.h"

namespace rlx {
namespace {

// As bits, so that a NaN equals itself and -0 is not 0.
bool same(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }
bool same(const Floats& a, const Floats& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return same(x, y); });
}
bool same(const Tensor& a, const Tensor& b) { return same_bytes(a, b); }
bool same(const GraphPtr& a, const GraphPtr& b) {
  const PrintOptions whole{.inline_elements = INT64_MAX, .large = {}};
  return a == b || print(*a, whole) == print(*b, whole);
}
template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}

}  // namespace

const char* Attr::kind() const {
  static constexpr const char* kKinds[] = {"a bool",           "an integer",
                                           "a float",          "a string",
                                           "a dtype",          "a shape",
                                           "a list of bools",  "a list of integers",
                                           "a list of floats", "a list of strings",
                                           "a list of dtypes", "a list of shapes",
                                           "a tensor",         "a graph"};
  return kKinds[value_.index()];
}

bool Attr::operator==(const Attr& other) const {
  if (value_.index() != other.value_.index()) return false;
  return std::visit(
      [&](const auto& value) {
        return same(value, std::get<std::decay_t<decltype(value)>>(other.value_));
      },
      value_);
}

}  // namespace rlx
