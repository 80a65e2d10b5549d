#include "rlx/tensor/attrs.h"

#include <cmath>

namespace rlx {
namespace {

// So that a NaN equals itself and -0 is not 0.
bool same(double a, double b) {
  return (a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b));
}
bool same(const Floats& a, const Floats& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return same(x, y); });
}
bool same(const Tensor& a, const Tensor& b) { return same_bytes(a, b); }
template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}

}  // namespace

Attr::Attr(const char* value) : value_(std::string(value)) {}
Attr::Attr(std::string value) : value_(std::move(value)) {}
Attr::Attr(Dims value) : value_(std::move(value)) {}
Attr::Attr(Bools value) : value_(std::move(value)) {}
Attr::Attr(Ints value) : value_(std::move(value)) {}
Attr::Attr(Floats value) : value_(std::move(value)) {}
Attr::Attr(Strings value) : value_(std::move(value)) {}
Attr::Attr(DTypes value) : value_(std::move(value)) {}
Attr::Attr(Shapes value) : value_(std::move(value)) {}
Attr::Attr(Tensor value) : value_(std::move(value)) {}
Attr::Attr(GraphPtr value) : value_(std::move(value)) {}
Attr::Attr(const Attr& other) = default;
Attr::Attr(Attr&& other) noexcept = default;
Attr& Attr::operator=(const Attr& other) = default;
Attr& Attr::operator=(Attr&& other) noexcept = default;
Attr::~Attr() = default;

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

Attrs::Attrs() = default;
Attrs::Attrs(std::initializer_list<std::pair<const std::string, Attr>> attrs) : attrs_(attrs) {}
Attrs::Attrs(const Attrs& other) = default;
Attrs::Attrs(Attrs&& other) noexcept = default;
Attrs& Attrs::operator=(const Attrs& other) = default;
Attrs& Attrs::operator=(Attrs&& other) noexcept = default;
Attrs::~Attrs() = default;

void Attrs::set(const std::string& name, Attr value) {
  attrs_.insert_or_assign(name, std::move(value));
}
void Attrs::erase(const std::string& name) { attrs_.erase(name); }
bool Attrs::operator==(const Attrs& other) const = default;

const Attr* Attrs::find_any(const std::string& name) const {
  const auto found = attrs_.find(name);
  return found == attrs_.end() ? nullptr : &found->second;
}
void Attrs::missing(const std::string& name) {
  fail(ErrorKind::invalid_graph, "attribute '", name, "' is missing");
}
void Attrs::wrong_kind(const std::string& name, const Attr& attr) {
  fail(ErrorKind::invalid_graph, "attribute '", name, "' is ", attr.kind(),
       ", which is not what the op takes");
}

}  // namespace rlx
