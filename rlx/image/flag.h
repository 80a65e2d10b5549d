// The error flag of a device: 16 bytes that a kernel writes where it meets what it cannot compute
// with, before it goes on with something else. The first of a run stays, and the run fails.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rlx::image {

// Its words; all of them are 0 where nothing was raised.
struct Flag {
  uint32_t code = 0;    // among kFlagCodes
  uint32_t node = 0;    // that raised it, counted from 1
  int32_t number = 0;   // the index, label or the like, where the code has one
  uint32_t raised = 0;  // set by the first, who then writes the others
};

// What may be raised, by code: kernels say raise_flag(FLAG_INDEX, index). In the message # stands
// for the number.
struct FlagCode {
  const char* name;
  const char* message;
};
inline constexpr FlagCode kFlagCodes[] = {
    {"FLAG_NONE", ""},
    {"FLAG_INDEX", "index # is out of range (the device clamped it)"},
    {"FLAG_LABEL", "label # is out of range (the device clamped it)"},
    {"FLAG_LENGTH", "length # is out of range (the device clamped it)"},
    {"FLAG_EXPERT", "expert # is out of range (the device gave zeros)"},
    {"FLAG_PICTURE", "picture # is out of range (the device gave zeros)"},
    {"FLAG_VALUE", "a value is out of range for the integers that it is cast to"},
    {"FLAG_BLOCK", "the block lies outside of what it is written to, by # (the device moved it)"},
    {"FLAG_EMPTY", "a row without elements has no extreme"},
};
inline constexpr size_t kFlagCodeCount = sizeof kFlagCodes / sizeof kFlagCodes[0];

}  // namespace rlx::image
