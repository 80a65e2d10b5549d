// From an image to a program: without the compiler, which whoever only runs images need not link.

#include "rlx/backend/cpu/fast_ops.h"
#include "rlx/image/needs.h"
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

// `made` gives the table, and may throw.
template <class Made>
void prepare_with(const Device& device, const Image& image, int64_t memory_budget,
                  Receive<Program> done, const Made& made) {
  const auto state = std::make_shared<detail::ProgramState>();
  PrepareOptions options;
  std::optional<Error> failure;
  try {
    image::check_device(image.data(), device.traits());
    state->device = device;
    const auto kept = std::make_shared<const Image>(image);
    state->image = {kept, &kept->data()};
    options = {state->image, std::make_shared<const image::Implementations>(made()), memory_budget};
  } catch (...) {
    failure = current_error();
  }
  if (failure) return done(*failure);
  detail::backend_of(device)->prepare_async(
      std::move(options), [state, done = std::move(done)](Result<ExecutablePtr> ready) {
        if (!ready.ok()) return done(ready.error());
        state->executable = ready.take();
        done(Program(state));
      });
}

}  // namespace

image::Holdings detail::holdings_of(const Device& device, const Image& image, const OpSet& ops,
                                    const SymbolValues& symbols) {
  SymbolValues all = symbols;
  for (const auto& [name, range] : image.symbols()) all.emplace(name, range.high);
  image::Cells cells(image.data().numbers);
  for (const SymbolValues& values : {all, symbols, SymbolValues{}}) {
    try {
      cells = cells_of(image.data(), values);
      cells.evaluate();
      break;
    } catch (const Error&) {  // no run has these values together
      cells.reset();
    }
  }
  return backend_of(device)->holdings(image.data(), implementations_of(ops, device), cells);
}

void detail::prepare_compiled(const Device& device, const Image& image, const OpSet& ops,
                              int64_t memory_budget, Receive<Program> done) {
  prepare_with(device, image, memory_budget, std::move(done),
               [&] { return implementations_of(ops, device); });
}

void prepare_async(const Device& device, const Image& image, const OpSet& ops,
                   int64_t memory_budget, Receive<Program> done) {
  // The image may be from a file: what was compiled here needs no checks.
  prepare_with(device, image, memory_budget, std::move(done), [&] {
    image::Implementations table = implementations_of(ops, device);
    table.merge(call_checks(ops));
    return table;
  });
}

Program prepare(const Device& device, const Image& image, const OpSet& ops, int64_t memory_budget) {
  return wait_for<Program>(*detail::backend_of(device), [&](Receive<Program> done) {
    prepare_async(device, image, ops, memory_budget, std::move(done));
  });
}

}  // namespace rlx
