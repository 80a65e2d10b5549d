// What devices, images and programs are behind their handles: for the runtime itself, the command
// line and the tests. It is not installed.
#pragma once

#include <memory>

#include "rlx/backend/backend.h"
#include "rlx/plan/memory_plan.h"
#include "rlx/runtime/image.h"
#include "rlx/runtime/program.h"

namespace rlx::detail {

struct DeviceState {
  std::shared_ptr<Backend> backend;
};
struct ProgramState {
  Device device;
  std::shared_ptr<const image::Image> image;
  ExecutablePtr executable;
};
struct BoundState {
  std::shared_ptr<const image::Image> image;
  ExecutablePtr executable;
  RunRequest request;
};

Device device_of(std::shared_ptr<Backend> backend);
const std::shared_ptr<Backend>& backend_of(const Device& device);

// prepare_async of what was compiled here, whose calls need no checks.
void prepare_compiled(const Device& device, const Image& image, const OpSet& ops,
                      int64_t memory_budget, Receive<Program> done);

// What the calls of a run would hold with these values of symbols: those with bounds at their
// bounds.
image::Holdings holdings_of(const Device& device, const Image& image, const OpSet& ops,
                            const SymbolValues& symbols);

Image image_of(image::Image image);
const image::Image& image_of(const Program& program);

// Where values would lie with these values of symbols, before anything is allocated.
MemoryPlan memory_plan(const Program& program, const SymbolValues& symbols);
// The cells of an image with these symbols set, as far as they are known.
image::Cells cells_of(const image::Image& image, const SymbolValues& symbols);

}  // namespace rlx::detail
