// What an op may ask of two extents that only a run knows.
#pragma once

#include <cstdint>
#include <string>

namespace rlx {

enum class Relation : uint8_t {
  equal,
  at_most,
  multiple_of,    // of 0 only 0 is one
  broadcast,      // equal, or one of them is 1
  broadcasts_to,  // equal, or the first is 1
};

bool holds(Relation relation, int64_t a, int64_t b);
// The end of a sentence that begins with what the two are: " must be equal, and are 2 and 3".
std::string broken(Relation relation, int64_t a, int64_t b);

}  // namespace rlx
