// A callable of any type, for headers that users include: std::function costs them much more to
// compile. Copies share what they call.
#pragma once

#include "rlx/base/shared.h"

namespace rlx {

template <class Signature>
class Function;

template <class R, class... Args>
class Function<R(Args...)> {
 public:
  Function() = default;
  Function(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  template <class Callee,
            class = std::enable_if_t<!std::is_same_v<std::decay_t<Callee>, Function> &&
                                     std::is_invocable_r_v<R, std::decay_t<Callee>&, Args...>>>
  Function(Callee&& callee)  // NOLINT(google-explicit-constructor)
      : callee_(std::forward<Callee>(callee)), call_([](void* object, Args... args) -> R {
          return (*static_cast<std::decay_t<Callee>*>(object))(std::forward<Args>(args)...);
        }) {}

  R operator()(Args... args) const { return call_(callee_.object(), std::forward<Args>(args)...); }
  explicit operator bool() const { return call_ != nullptr; }

 private:
  Keep callee_;
  R (*call_)(void* object, Args... args) = nullptr;
};

}  // namespace rlx
