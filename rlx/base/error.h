// How a failure is told: fail() and require(), with what went wrong as any number of printable
// parts.
#pragma once

#include "rlx/base/result.h"
#include "rlx/base/text.h"

namespace rlx {

template <class... Parts>
[[noreturn]] void fail(ErrorKind kind, const Parts&... parts) {
  throw Error(kind, text(parts...));
}

// Checks what a graph's author controls. The message is only built on failure.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) fail(ErrorKind::invalid_graph, parts...);
}

}  // namespace rlx
