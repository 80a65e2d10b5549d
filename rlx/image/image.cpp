#include "rlx/image/image.h"

#include <algorithm>

namespace rlx::image {

bool operator==(const Image& a, const Image& b) {
  return a.traits == b.traits && a.numbers == b.numbers && a.planned_by == b.planned_by &&
         a.values == b.values && a.kernels == b.kernels && a.nodes == b.nodes && a.bind == b.bind &&
         a.once == b.once && a.run == b.run && a.inputs == b.inputs && a.outputs == b.outputs &&
         a.weights == b.weights && a.states == b.states && a.flag == b.flag &&
         std::equal(a.sources.begin(), a.sources.end(), b.sources.begin(), b.sources.end(),
                    same_bytes);
}

}  // namespace rlx::image
