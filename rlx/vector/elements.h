// The dtypes that rows are read and written in; they are f32 in registers.
#pragma once

#include <cstdint>

namespace rlx::vector {

enum class Element : uint8_t { f32, f16, bf16 };

struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

}  // namespace rlx::vector
