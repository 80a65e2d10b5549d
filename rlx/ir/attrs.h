// The constants of a node, by name: one form to print, hash, save and import.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "rlx/base/error.h"
#include "rlx/tensor/tensor.h"

namespace rlx {

class Graph;
using GraphPtr = std::shared_ptr<const Graph>;

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;
using Bools = std::vector<bool>;
using Strings = std::vector<std::string>;
using DTypes = std::vector<DType>;
using Shapes = std::vector<Dims>;

class Attr {
 public:
  using Variant = std::variant<bool, int64_t, double, std::string, DType, Dims, Bools, Ints, Floats,
                               Strings, DTypes, Shapes, Tensor, GraphPtr>;

  // Not explicit: {{"axis", -1}, {"keep", true}} should read as it looks. NOLINTBEGIN
  Attr(bool value) : value_(value) {}
  Attr(int value) : value_(int64_t{value}) {}
  Attr(int64_t value) : value_(value) {}
  Attr(double value) : value_(value) {}
  Attr(const char* value) : value_(std::string(value)) {}
  Attr(std::string value) : value_(std::move(value)) {}
  Attr(DType value) : value_(value) {}
  Attr(Dims value) : value_(std::move(value)) {}
  Attr(Bools value) : value_(std::move(value)) {}
  Attr(Ints value) : value_(std::move(value)) {}
  Attr(Floats value) : value_(std::move(value)) {}
  Attr(Strings value) : value_(std::move(value)) {}
  Attr(DTypes value) : value_(std::move(value)) {}
  Attr(Shapes value) : value_(std::move(value)) {}
  Attr(Tensor value) : value_(std::move(value)) {}
  Attr(GraphPtr value) : value_(std::move(value)) {}
  // NOLINTEND

  const Variant& variant() const { return value_; }
  const char* kind() const;  // "an integer", "a list of floats", ... for messages
  bool operator==(const Attr& other) const;

 private:
  Variant value_;
};

class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<const std::string, Attr>> attrs) : attrs_(attrs) {}

  template <class T>
  const T& get(const std::string& name) const {
    const T* value = find<T>(name);
    require(value != nullptr, "attribute '", name, "' is missing");
    return *value;
  }
  template <class T>
  T get_or(const std::string& name, T otherwise) const {
    const T* value = find<T>(name);
    return value ? *value : otherwise;
  }
  template <class T>
  const T* find(const std::string& name) const {
    const auto found = attrs_.find(name);
    if (found == attrs_.end()) return nullptr;
    const T* value = std::get_if<T>(&found->second.variant());
    require(value != nullptr, "attribute '", name, "' is ", found->second.kind(),
            ", which is not what the op takes");
    return value;
  }
  bool has(const std::string& name) const { return attrs_.count(name) != 0; }
  void set(const std::string& name, Attr value) { attrs_.insert_or_assign(name, std::move(value)); }
  void erase(const std::string& name) { attrs_.erase(name); }
  size_t size() const { return attrs_.size(); }
  auto begin() const { return attrs_.begin(); }
  auto end() const { return attrs_.end(); }
  bool operator==(const Attrs&) const = default;

 private:
  std::map<std::string, Attr> attrs_;
};

}  // namespace rlx
