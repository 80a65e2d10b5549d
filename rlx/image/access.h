// How steps name values, and what they do with them.
#pragma once

#include <cstdint>

namespace rlx::image {

using ValueId = int32_t;
enum class Access : uint8_t { read, write, read_write };

}  // namespace rlx::image
