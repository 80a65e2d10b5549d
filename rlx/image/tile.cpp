#include "rlx/image/tile.h"

namespace rlx::image {

std::string description(const Tile& tile) {
  std::string names;
  for (const Tile::Instruction& each : tile.code)
    if (!Tile::is_source(each)) names += (names.empty() ? "" : " + ") + each.op;
  return names;
}

}  // namespace rlx::image
