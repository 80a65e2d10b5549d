// What two shapes that broadcast tell about each other's extents: where min(n, 64) meets n, a run
// that is accepted has n <= 64, so that min(n, 64) is n in every extent of both. And what is an
// extent is not below 0.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "rlx/tensor/type.h"

namespace rlx {

// Is `part` min(whole, c) for a number c of 2 or more? Both broadcast only where they are equal.
bool is_cut_of(const Dim& part, const Dim& whole);

// The simpler of two expressions that are equal as extents, which are not below 0: n and
// max(n, 0). None where they are not seen to be equal.
std::optional<Dim> same_extent(const Dim& a, const Dim& b);

// Those that an extent is the broadcast of; itself where it is none.
std::vector<Dim> broadcast_parts(const Dim& extent);
// Has a run that lets the two broadcast a limit for one of them?
bool tells_limit(const Dim& a, const Dim& b);

class ExtentFacts {
 public:
  ExtentFacts(const Dims& a, const Dims& b);  // aligned at their ends

  bool empty() const { return at_most_.empty(); }
  Dim operator()(const Dim& extent) const;

 private:
  std::vector<std::pair<Dim, Dim>> at_most_;  // the first is at most the second
  Dims extents_;
};

}  // namespace rlx
