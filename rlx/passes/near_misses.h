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

// While one lives, what this thread's matches find in part is noted in it. A pass is a function
// from graph to graph, and most callers want no more of it: so it is told here, not to every pass.
class NearMisses {
 public:
  NearMisses();
  ~NearMisses();
  NearMisses(const NearMisses&) = delete;
  NearMisses& operator=(const NearMisses&) = delete;

  static NearMisses* asked_for();  // null: nobody does

  void begin_graph();  // what was noted so far stays
  void begin_sweep();  // what was noted of this graph does not: it is looked through again
  // Of several with one root, the one that came furthest stays.
  void note(NearMiss miss);
  std::vector<NearMiss> take();

 private:
  NearMisses* around_;
  std::vector<NearMiss> done_, sweep_;
};

std::string describe(const Node& node);  // 'name' (op)

}  // namespace rlx
