// Reads bytes as a graph's text, with every op there is: what can be read prints as it was read.
#include "rlx/ir/text.h"

#include <cstdlib>

#include "rlx/ops/catalog.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const rlx::OpSet ops = rlx::catalog();
  std::string printed;
  try {
    printed = print(rlx::parse(std::string(reinterpret_cast<const char*>(data), size), ops));
  } catch (const rlx::Error&) {
    return 0;
  }
  if (print(rlx::parse(printed, ops)) != printed) std::abort();
  return 0;
}
