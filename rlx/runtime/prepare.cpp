// From an image to a program: without the compiler, which whoever only runs images need not link.

#include "rlx/backend/cpu/fast_ops.h"
#include "rlx/image/verify.h"
#include "rlx/lower/references.h"
#include "rlx/runtime/internals.h"

namespace rlx {

using namespace detail;
namespace {

// The CPU adds what it does fast itself; what another device leaves to the host is fast here.
image::Implementations implementations_of(const OpSet& ops, const Device& device) {
  image::Implementations table =
      device.is_cpu() ? image::Implementations() : fast_implementations();
  for (auto& [op, list] : references(ops))
    table[op].insert(table[op].end(), list.begin(), list.end());
  return table;
}

}  // namespace

void prepare_async(const Device& device, const Image& image, const OpSet& ops,
                   int64_t memory_budget, Receive<Program> done) {
  const auto state = std::make_shared<detail::ProgramState>();
  PrepareOptions options;
  std::optional<Error> failure;
  try {
    image::check_device(image.data(), device.traits());
    state->device = device;
    const auto kept = std::make_shared<const Image>(image);
    state->image = {kept, &kept->data()};
    options = {state->image,
               std::make_shared<const image::Implementations>(implementations_of(ops, device)),
               memory_budget};
  } catch (...) {
    failure = current_error();
  }
  if (failure) return done(*failure);
  detail::backend_of(device)->prepare_async(
      std::move(options), [state, done = std::move(done)](Result<ExecutablePtr> made) {
        if (!made.ok()) return done(made.error());
        state->executable = made.take();
        done(Program(state));
      });
}

Program prepare(const Device& device, const Image& image, const OpSet& ops, int64_t memory_budget) {
  return wait_for<Program>(*detail::backend_of(device), [&](Receive<Program> done) {
    prepare_async(device, image, ops, memory_budget, std::move(done));
  });
}

}  // namespace rlx
