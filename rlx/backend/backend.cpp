#include "rlx/backend/backend.h"

#include <optional>

namespace rlx::detail {

ExecutablePtr prepare(Backend& backend, PrepareOptions options) {
  return wait_for<ExecutablePtr>(backend, [&](Receive<ExecutablePtr> done) {
    backend.prepare_async(std::move(options), std::move(done));
  });
}

}  // namespace rlx::detail
