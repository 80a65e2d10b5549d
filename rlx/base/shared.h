// Shared ownership for headers that users include: std::shared_ptr is most of what they would else
// compile, for <memory> brings streams and atomics along.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace rlx {

// Keeps alive what an object owns, for instance a std::shared_ptr: `Keep keep = file;`. Copies keep
// the same object, which goes with the last of them.
class Keep {
 public:
  Keep() = default;
  Keep(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  template <class Owner, class = std::enable_if_t<!std::is_same_v<std::decay_t<Owner>, Keep>>>
  Keep(Owner&& owner) {  // NOLINT(google-explicit-constructor)
    using Kept = std::decay_t<Owner>;
    Kept* kept = new Kept(std::forward<Owner>(owner));
    begin(kept, [](void* object) { delete static_cast<Kept*>(object); });
  }
  Keep(const Keep& other) noexcept;
  Keep(Keep&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Keep& operator=(Keep other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Keep() {
    if (block_ != nullptr) end();
  }

  void* object() const;  // the owner itself; null: none

 private:
  struct Block;
  void begin(void* object, void (*destroy)(void*));
  void end() noexcept;

  Block* block_ = nullptr;
};

// A pointer to a T that it keeps alive; T may be incomplete where it is only passed along.
template <class T>
class Shared {
 public:
  Shared() = default;
  Shared(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  // Of any pointer that owns: a std::shared_ptr, or a Shared to what T is a const form or base of.
  template <class Pointer, class = decltype(std::declval<Pointer&>().get())>
  Shared(Pointer pointer)  // NOLINT(google-explicit-constructor)
      : object_(pointer.get()), keep_(std::move(pointer)) {}
  Shared(const Shared& other) = default;
  Shared(Shared&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), keep_(std::move(other.keep_)) {}
  Shared& operator=(Shared other) noexcept {
    std::swap(object_, other.object_);
    std::swap(keep_, other.keep_);
    return *this;
  }
  ~Shared() = default;

  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Shared& a, const Shared& b) { return a.object_ == b.object_; }
  friend bool operator==(const Shared& a, std::nullptr_t) { return a.object_ == nullptr; }

 private:
  T* object_ = nullptr;
  Keep keep_;
};

}  // namespace rlx
