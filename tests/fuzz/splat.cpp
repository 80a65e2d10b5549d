// Reads bytes as a file of Gaussians; the scene has no more of them than the file has bytes.
#include <cstdlib>

#include "examples/splat_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    const SplatFile scene = splats_of(bytes, "fuzz");
    if (size_t(scene.count) > size || scene.position.size() != size_t(3 * scene.count))
      std::abort();
  } catch (const rlx::Error&) {
  }
  return 0;
}
