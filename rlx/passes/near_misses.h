// Where formulas were found in part, and what was in the way: for who asks why a pass left
// something as it is.
#pragma once

#include <string>
#include <vector>

#include "rlx/ir/graph.h"

namespace rlx {

struct NearMiss {
  int root = -1;         // the node that a formula would end in
  std::string op, node;  // of it
  size_t found = 0;      // nodes that fit, before one did not
  std::string reason = {};
};

class NearMisses {
 public:
  void begin_graph();  // what was noted so far stays
  void begin_sweep();  // what was noted of this graph does not: it is looked through again
  // Of several with one root, the one that came furthest stays.
  void note(NearMiss miss);
  void add(NearMiss miss);  // which is looked for once, and stays
  std::vector<NearMiss> take();

 private:
  std::vector<NearMiss> done_, sweep_;
};

std::string describe(const Node& node);  // 'name' (op)

}  // namespace rlx
