// A tensor on the host: an element type, a concrete shape, and bytes it may share with others.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "rlx/base/result.h"
#include "rlx/base/shared.h"
#include "rlx/tensor/half.h"
#include "rlx/tensor/type.h"

namespace rlx {

class Storage;  // the bytes, with an owner

template <class T>
constexpr bool holds(DType dtype);  // is T how `dtype` is kept in memory?

class Tensor {
 public:
  Tensor();                          // f32[0]
  Tensor(DType dtype, Shape shape);  // zeros
  Tensor(DType dtype, Shape shape, Shared<Storage> storage, size_t offset = 0);
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(const Tensor& other);
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor();
  // Converts each number to `dtype`.
  static Tensor of(DType dtype, Shape shape, std::span<const double> values);
  static Tensor of(DType dtype, Shape shape, std::initializer_list<double> values) {
    return of(dtype, std::move(shape), std::span(values.begin(), values.size()));
  }
  static Tensor scalar(DType dtype, double value) { return of(dtype, {}, {value}); }
  // Bytes that something else owns, for instance a mapped file, and may write to: see sealed().
  static Tensor view(DType dtype, Shape shape, std::span<const std::byte> bytes, Keep keep_alive);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  TensorType type() const { return {dtype_, shape_}; }
  int64_t count() const { return count_; }

  // A mutable span may be kept and written through between runs: until the tensor is sealed, every
  // run takes its elements again. So does a view.
  std::span<const std::byte> bytes() const;
  std::span<std::byte> mutable_bytes();
  template <class T>
  std::span<const T> data() const {
    check_holds(holds<T>(dtype_));
    check_aligned(alignof(T));
    return {reinterpret_cast<const T*>(bytes().data()), static_cast<size_t>(count_)};
  }
  template <class T>
  std::span<T> mutable_data() {
    check_holds(holds<T>(dtype_));
    return {reinterpret_cast<T*>(mutable_bytes().data()), static_cast<size_t>(count_)};
  }

  // Element i, whatever the type; slow, for references, printing and tests. An Error where there
  // is no such element.
  double at(int64_t i) const;
  int64_t integer_at(int64_t i) const;  // exact for 64-bit integers
  void set(int64_t i, double value);    // rounds as cast does: to nearest even, or toward zero
  void set_integer(int64_t i, int64_t value);

  Tensor reshaped(Shape shape) const;               // the same bytes
  Tensor first(Shape shape) const;                  // as many of them as the shape needs
  Tensor part(int64_t element, Shape shape) const;  // the same, from an element on
  Tensor copy() const;
  // Itself, or a copy where a file has it at an address from which data() cannot be read.
  Tensor aligned() const;

  // The same bytes, and the promise that no span or view is written through any more, so that a run
  // need not take them again. Asking for a mutable span, or setting an element, breaks the seal.
  // Graphs and Program::set_weight seal the tensors that they are given.
  Tensor sealed() const;
  bool may_change() const;  // without a new mark

  // Tensors with the same identity share their storage, or part of it.
  const void* identity() const { return storage_.get(); }
  // Tensors of one dtype with the same mark hold the same elements, unless they may_change().
  struct Mark {
    uint64_t version = 0;  // of the storage, or its seal; one that changed has another
    size_t offset = 0;
    int64_t count = -1;
    bool operator==(const Mark&) const = default;
  };
  Mark mark() const;

 private:
  void check_holds(bool right) const;
  void check_aligned(size_t alignment) const;
  void check_index(int64_t i) const {
    if (i < 0 || i >= count_) fail_index(i);
  }
  bool is_sealed() const;
  [[noreturn]] void fail_index(int64_t i) const;

  DType dtype_;
  Shape shape_;
  int64_t count_ = 0;
  size_t offset_ = 0;
  uint64_t seal_ = 0, sealed_at_ = 0;  // at which version of the storage
  Shared<Storage> storage_;
};

using TensorMap = std::map<std::string, Tensor>;

// Equal types and equal bytes (so a NaN equals itself).
bool same_bytes(const Tensor& a, const Tensor& b);

template <class T>
constexpr bool holds(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return std::is_same_v<T, float>;
    case DType::f16:
      return std::is_same_v<T, Half>;
    case DType::bf16:
      return std::is_same_v<T, BFloat16>;
    case DType::f64:
      return std::is_same_v<T, double>;
    case DType::c64:
      return std::is_same_v<T, float[2]>;
    case DType::i8:
      return std::is_same_v<T, int8_t>;
    case DType::u8:
      return std::is_same_v<T, uint8_t>;
    case DType::i16:
      return std::is_same_v<T, int16_t>;
    case DType::u16:
      return std::is_same_v<T, uint16_t>;
    case DType::i32:
      return std::is_same_v<T, int32_t>;
    case DType::u32:
      return std::is_same_v<T, uint32_t>;
    case DType::i64:
      return std::is_same_v<T, int64_t>;
    case DType::u64:
      return std::is_same_v<T, uint64_t>;
    case DType::boolean:
      return std::is_same_v<T, uint8_t>;  // 0 or 1
  }
  return false;
}

}  // namespace rlx
