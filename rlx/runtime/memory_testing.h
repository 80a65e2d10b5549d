// What the steps of an image write, for tests of what a program needs memory for.
#pragma once

#include <map>

#include "rlx/image/uses.h"
#include "rlx/runtime/internals.h"

namespace rlx {

// The bytes of each value that preparing the program or a run of it writes, but for the error flag.
inline std::map<image::ValueId, int64_t> written_bytes(const image::Image& image) {
  image::Cells cells = detail::cells_of(image, {});
  cells.evaluate();
  std::map<image::ValueId, int64_t> bytes;
  for (const image::Steps* steps : {&image.once, &image.run})
    for (const image::Step& step : *steps)
      for (const image::ValueId value : image::use_of(step, image.flag).writes)
        if (value >= 0 && value != image.flag)
          bytes[value] = cells.at(image.values[static_cast<size_t>(value)].bytes);
  return bytes;
}

}  // namespace rlx
