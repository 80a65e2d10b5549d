#include "rlx/tensor/tensor.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "rlx/base/error.h"
#include "rlx/tensor/storage.h"

namespace rlx {
namespace {

// Versions are unique over all storages: memory that is freed and reused never looks unchanged.
uint64_t next_version() {
  static std::atomic<uint64_t> counter{0};
  return ++counter;
}

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <class T>
void save(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

// Toward zero; what does not fit is cut to the nearest end, NaN is 0.
template <class T>
T truncated(double value) {
  if (std::isnan(value)) return 0;
  constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double kHigh = static_cast<double>(std::numeric_limits<T>::max());
  if (value <= kLow) return std::numeric_limits<T>::min();
  if (value >= kHigh) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

// f64 -> f32 -> f16 would round twice. Rounding to odd first keeps the result of the last rounding
// exact.
float to_odd_float(double value) {
  const float nearest = static_cast<float>(value);
  if (std::isnan(value) || std::isinf(nearest) || static_cast<double>(nearest) == value)
    return nearest;
  const bool away = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  const float toward_zero = away ? std::nextafter(nearest, 0.0f) : nearest;
  return float_of(bits_of(toward_zero) | 1u);
}

}  // namespace

Storage::Storage(size_t bytes) : version_(next_version()) {
  if (bytes > 0) own_ = static_cast<std::byte*>(std::calloc(bytes, 1));
  if (bytes > 0 && own_ == nullptr)
    fail(ErrorKind::out_of_memory, "the host has no ", bytes, " bytes for a tensor");
  bytes_ = {own_, bytes};
}
Storage::Storage(size_t bytes, LargePages& pages) : Storage(bytes) {
  if (bytes < 2 * kLargePage) return;
  pages.ask(own_, bytes);
  pages.make(own_, bytes, own_ + bytes);
}
Storage::Storage(std::span<const std::byte> bytes, Keep keep_alive)
    : bytes_(bytes), keep_alive_(std::move(keep_alive)), version_(next_version()), open_(true) {}
Storage::~Storage() { std::free(own_); }

std::byte* Storage::change() {
  require(own_ != nullptr || bytes_.empty(),
          "a tensor that only views a file's bytes cannot be changed");
  version_.store(next_version(), std::memory_order_relaxed);
  return own_;
}
std::byte* Storage::mutable_bytes() {
  std::byte* bytes = change();
  open_.store(true, std::memory_order_relaxed);
  return bytes;
}

Tensor::Tensor() : Tensor(DType::f32, Shape{0}) {}
Tensor::Tensor(const Tensor& other) = default;
Tensor::Tensor(Tensor&& other) noexcept = default;
Tensor& Tensor::operator=(const Tensor& other) = default;
Tensor& Tensor::operator=(Tensor&& other) noexcept = default;
Tensor::~Tensor() = default;

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype), shape_(std::move(shape)), count_(rlx::count(shape_)) {
  require(count_ >= 0, "a tensor cannot have shape ", shape_);
  const Dim bytes = Dim(count_) * Dim(bytes_of(dtype));  // checked
  try {
    storage_ = std::make_shared<Storage>(static_cast<size_t>(bytes.number()));
  } catch (Error& error) {
    error.add_note(text("the tensor is ", type()));
    throw;
  }
}
Tensor::Tensor(DType dtype, Shape shape, Shared<Storage> storage, size_t offset)
    : dtype_(dtype),
      shape_(std::move(shape)),
      count_(rlx::count(shape_)),
      offset_(offset),
      storage_(std::move(storage)) {
  require(count_ >= 0, "a tensor cannot have shape ", shape_);
  const size_t bytes = static_cast<size_t>((Dim(count_) * Dim(bytes_of(dtype))).number());
  require(offset <= storage_->bytes().size() && bytes <= storage_->bytes().size() - offset,
          "a tensor ", TensorType{dtype, shape_}, " needs ", bytes, " bytes, there are ",
          storage_->bytes().size() - offset);
}

Tensor Tensor::of(DType dtype, Shape shape, std::span<const double> values) {
  Tensor tensor(dtype, std::move(shape));
  require(static_cast<int64_t>(values.size()) == tensor.count(), "a tensor ", tensor.type(),
          " has ", tensor.count(), " elements, got ", values.size());
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, values[static_cast<size_t>(i)]);
  return tensor;
}

Tensor Tensor::view(DType dtype, Shape shape, std::span<const std::byte> bytes, Keep keep_alive) {
  return {dtype, std::move(shape), std::make_shared<Storage>(bytes, std::move(keep_alive))};
}

bool Tensor::is_sealed() const { return sealed_at_ == storage_->version(); }
bool Tensor::may_change() const { return storage_->is_open() && !is_sealed(); }
Tensor Tensor::sealed() const {
  Tensor tensor = *this;
  if (!may_change()) return tensor;
  tensor.seal_ = next_version();
  tensor.sealed_at_ = storage_->version();
  return tensor;
}

Tensor::Mark Tensor::mark() const {
  return {is_sealed() ? seal_ : storage_->version(), offset_, count_};
}

std::span<const std::byte> Tensor::bytes() const {
  return storage_->bytes().subspan(offset_, static_cast<size_t>(count_ * bytes_of(dtype_)));
}
std::span<std::byte> Tensor::mutable_bytes() {
  return {storage_->mutable_bytes() + offset_, static_cast<size_t>(count_ * bytes_of(dtype_))};
}

void Tensor::check_holds(bool right) const {
  if (right) return;  // the type is made for the message only
  require(right, "the elements of ", type(), " were asked for as another type");
}

void Tensor::check_aligned(size_t alignment) const {
  const bool right = reinterpret_cast<uintptr_t>(bytes().data()) % alignment == 0;
  if (!right)
    require(right, "the elements of ", type(), " are not at a multiple of ", alignment,
            " bytes: ask for those of aligned()");
}

void Tensor::fail_index(int64_t i) const {
  fail(ErrorKind::invalid_input, "there is no element ", i, " of a tensor ", type(), ": it has ",
       count_);
}

double Tensor::at(int64_t i) const {
  check_index(i);
  const std::byte* at = bytes().data() + i * bytes_of(dtype_);
  switch (dtype_) {
    case DType::f32:
    case DType::c64:
      return load<float>(at);
    case DType::f16:
      return Half::to_float(load<uint16_t>(at));
    case DType::bf16:
      return float_of(uint32_t{load<uint16_t>(at)} << 16);
    case DType::f64:
      return load<double>(at);
    case DType::u64:
      return static_cast<double>(load<uint64_t>(at));
    default:
      return static_cast<double>(integer_at(i));
  }
}

int64_t Tensor::integer_at(int64_t i) const {
  check_index(i);
  const std::byte* at = bytes().data() + i * bytes_of(dtype_);
  switch (dtype_) {
    case DType::i8:
      return load<int8_t>(at);
    case DType::u8:
      return load<uint8_t>(at);
    case DType::boolean:
      return load<uint8_t>(at) != 0;
    case DType::i16:
      return load<int16_t>(at);
    case DType::u16:
      return load<uint16_t>(at);
    case DType::i32:
      return load<int32_t>(at);
    case DType::u32:
      return load<uint32_t>(at);
    case DType::i64:
      return load<int64_t>(at);
    case DType::u64:
      return static_cast<int64_t>(load<uint64_t>(at));
    default:
      return truncated<int64_t>(this->at(i));
  }
}

void Tensor::set(int64_t i, double value) {
  check_index(i);
  std::byte* at = storage_->change() + offset_ + i * bytes_of(dtype_);
  switch (dtype_) {
    case DType::f32:
      return save(at, static_cast<float>(value));
    case DType::c64:
      save(at + 4, 0.0f);
      return save(at, static_cast<float>(value));
    case DType::f16:
      return save(at, Half(to_odd_float(value)).bits);
    case DType::bf16:
      return save(at, BFloat16(to_odd_float(value)).bits);
    case DType::f64:
      return save(at, value);
    case DType::i8:
      return save(at, truncated<int8_t>(value));
    case DType::u8:
      return save(at, truncated<uint8_t>(value));
    case DType::i16:
      return save(at, truncated<int16_t>(value));
    case DType::u16:
      return save(at, truncated<uint16_t>(value));
    case DType::i32:
      return save(at, truncated<int32_t>(value));
    case DType::u32:
      return save(at, truncated<uint32_t>(value));
    case DType::i64:
      return save(at, truncated<int64_t>(value));
    case DType::u64:
      return save(at, truncated<uint64_t>(value));
    case DType::boolean:
      return save(at, static_cast<uint8_t>(value != 0));
  }
}

void Tensor::set_integer(int64_t i, int64_t value) {
  check_index(i);
  std::byte* at = storage_->change() + offset_ + i * bytes_of(dtype_);
  switch (dtype_) {  // integers wrap, as two's complement does
    case DType::i8:
    case DType::u8:
      return save(at, static_cast<uint8_t>(value));
    case DType::i16:
    case DType::u16:
      return save(at, static_cast<uint16_t>(value));
    case DType::i32:
    case DType::u32:
      return save(at, static_cast<uint32_t>(value));
    case DType::i64:
    case DType::u64:
      return save(at, value);
    default:
      return set(i, static_cast<double>(value));
  }
}

Tensor Tensor::reshaped(Shape shape) const {
  require(rlx::count(shape) == count_, "cannot reshape ", type(), " to ", shape);
  return part(0, std::move(shape));
}

Tensor Tensor::first(Shape shape) const { return part(0, std::move(shape)); }
Tensor Tensor::part(int64_t element, Shape shape) const {
  Tensor part(dtype_, std::move(shape), storage_,
              offset_ + static_cast<size_t>(element * bytes_of(dtype_)));
  part.seal_ = seal_;
  part.sealed_at_ = sealed_at_;
  return part;
}

Tensor Tensor::copy() const {
  Tensor copy(dtype_, shape_);
  if (!bytes().empty()) std::memcpy(copy.storage_->change(), bytes().data(), bytes().size());
  return copy;
}
Tensor Tensor::aligned() const {
  const auto alignment = static_cast<uintptr_t>(std::min<int64_t>(bytes_of(dtype_), 8));
  return reinterpret_cast<uintptr_t>(bytes().data()) % alignment == 0 ? *this : copy();
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes().empty() ||
          std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0);
}

}  // namespace rlx
