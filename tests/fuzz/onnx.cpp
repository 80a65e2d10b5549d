// Reads bytes as an ONNX model and makes a graph of it: a graph that holds, or an Error.
#include "rlx/import/onnx/import_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto bytes = std::as_bytes(std::span(data, size));
    const auto model = rlx::onnx::parse_model(bytes, nullptr, "fuzz.onnx", "");
    verify(rlx::onnx::import_model(model));
  } catch (const rlx::Error&) {
  }
  return 0;
}
