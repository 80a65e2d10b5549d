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

class Attr {
 public:
  using Variant = std::variant<bool, int64_t, double, std::string, DType, Dims, Bools, Ints, Floats,
                               Strings, DTypes, Shapes, Tensor, GraphPtr>;

  // Not explicit: {{"axis", -1}, {"keep", true}} should read as it looks. NOLINTBEGIN
  Attr(bool value) : value_(value) {}
  Attr(int value) : value_(int64_t{value}) {}
  Attr(int64_t value) : value_(value) {}
  Attr(double value) : value_(value) {}
  Attr(DType value) : value_(value) {}
  Attr(const char* value);
  Attr(std::string value);
  Attr(Dims value);
  Attr(Bools value);
  Attr(Ints value);
  Attr(Floats value);
  Attr(Strings value);
  Attr(DTypes value);
  Attr(Shapes value);
  Attr(Tensor value);
  Attr(GraphPtr value);
  // NOLINTEND
  // Not inline, here and below: every op has attributes, and a variant is much code.
  Attr(const Attr& other);
  Attr(Attr&& other) noexcept;
  Attr& operator=(const Attr& other);
  Attr& operator=(Attr&& other) noexcept;
  ~Attr();

  const Variant& variant() const { return value_; }
  const char* kind() const;  // "an integer", "a list of floats", ... for messages
  // Graphs by their address: same_attrs() of ir compares what they say.
  bool operator==(const Attr& other) const;

 private:
  Variant value_;
};

class Attrs {
 public:
  Attrs();
  Attrs(std::initializer_list<std::pair<const std::string, Attr>> attrs);
  Attrs(const Attrs& other);
  Attrs(Attrs&& other) noexcept;
  Attrs& operator=(const Attrs& other);
  Attrs& operator=(Attrs&& other) noexcept;
  ~Attrs();

  template <class T>
  const T& get(const std::string& name) const {
    const T* value = find<T>(name);
    if (value == nullptr) missing(name);
    return *value;
  }
  template <class T>
  T get_or(const std::string& name, T otherwise) const {
    const T* value = find<T>(name);
    return value ? *value : otherwise;
  }
  template <class T>
  const T* find(const std::string& name) const {
    const Attr* attr = find_any(name);
    if (attr == nullptr) return nullptr;
    const T* value = std::get_if<T>(&attr->variant());
    if (value == nullptr) wrong_kind(name, *attr);
    return value;
  }
  bool has(const std::string& name) const { return find_any(name) != nullptr; }
  void set(const std::string& name, Attr value);
  void erase(const std::string& name);
  size_t size() const { return attrs_.size(); }
  auto begin() const { return attrs_.begin(); }
  auto end() const { return attrs_.end(); }
  bool operator==(const Attrs& other) const;

 private:
  const Attr* find_any(const std::string& name) const;
  [[noreturn]] static void missing(const std::string& name);
  [[noreturn]] static void wrong_kind(const std::string& name, const Attr& attr);

  std::map<std::string, Attr> attrs_;
};

}  // namespace rlx
