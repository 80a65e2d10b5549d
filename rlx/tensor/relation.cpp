#include "rlx/tensor/relation.h"

#include "rlx/base/text.h"
#include "rlx/tensor/interval.h"

namespace rlx {

bool holds(Relation relation, int64_t a, int64_t b) {
  switch (relation) {
    case Relation::equal:
      return a == b;
    case Relation::at_most:
      return a <= b;
    case Relation::multiple_of:
      return b == 0 ? a == 0 : mod_number(a, b) == 0;
    case Relation::broadcast:
      return a == b || a == 1 || b == 1;
    case Relation::broadcasts_to:
      break;
  }
  return a == b || a == 1;
}

std::string broken(Relation relation, int64_t a, int64_t b) {
  switch (relation) {
    case Relation::equal:
      return text(" must be equal, and are ", a, " and ", b);
    case Relation::at_most:
      return text(": ", a, " is more than ", b);
    case Relation::multiple_of:
      return text(": ", a, " is no multiple of ", b);
    case Relation::broadcast:
      return text(" must be equal or one of them 1, and are ", a, " and ", b);
    case Relation::broadcasts_to:
      break;
  }
  return text(" must be equal or the first 1, and are ", a, " and ", b);
}

}  // namespace rlx
