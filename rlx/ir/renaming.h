// What symbols become when a graph's nodes are made again in another.
#pragma once

#include "rlx/ir/graph.h"

namespace rlx {

// Symbols that are told by running a node are numbered by it, and those of a body are what its
// operands are. Where a node made again has others, attributes that speak of the old ones are to
// speak of these.
class Renaming {
 public:
  void note(const Node& from, const Values& to);
  Attrs operator()(const Attrs& attrs) const;
  bool empty() const { return renamed_.empty(); }

 private:
  void note(const Dim& was, const Dim& is);

  std::map<std::string, Dim> renamed_;
};

}  // namespace rlx
