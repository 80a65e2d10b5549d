// Reads bytes as an image, whatever its checksums say: what can be read is written and read again
// as it was, and its memory planned.
#include <cstdlib>

#include "rlx/image/file.h"
#include "rlx/plan/memory_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rlx::image::Image image;
  try {
    image = rlx::image::from_bytes(std::as_bytes(std::span(data, size)), nullptr, "fuzz.rlxi",
                                   {.checksums = false});
  } catch (const rlx::Error& error) {
    if (error.kind() != rlx::ErrorKind::invalid_model) std::abort();
    return 0;
  }
  const std::vector<std::byte> written = to_bytes(image);
  const rlx::image::Image again = rlx::image::from_bytes(written, nullptr, "again.rlxi");
  if (!(again == image) || to_text(again) != to_text(image)) std::abort();
  try {  // sizes may be too large together
    const rlx::detail::MemoryPlan plan =
        rlx::detail::plan_memory(image, rlx::image::Cells(image.numbers));
    rlx::detail::check_plan(image, plan);
  } catch (const rlx::Error&) {
  }
  return 0;
}
