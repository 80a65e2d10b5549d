// What a workgroup of a WGSL module takes: its invocations, and the bytes of the memory it shares.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rlx {

// None where the module says it in a way that is not understood here: a type with attributes, a
// function of constants.
struct Workgroup {
  std::optional<int64_t> invocations;
  std::optional<int64_t> bytes;  // as WebGPU counts them; variables that nothing uses included
};
Workgroup workgroup_of(const std::string& wgsl);

}  // namespace rlx
