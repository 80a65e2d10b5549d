// Reads bytes as a safetensors file; every byte of its tensors is there to read.
#include "rlx/import/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto tensors =
        rlx::parse_safetensors(std::as_bytes(std::span(data, size)), nullptr, "fuzz.safetensors");
    unsigned sum = 0;
    for (const auto& [name, tensor] : tensors)
      for (const std::byte b : tensor.bytes()) sum += std::to_integer<unsigned>(b);
    static volatile unsigned sink;
    sink = sum;
  } catch (const rlx::Error&) {
  }
  return 0;
}
