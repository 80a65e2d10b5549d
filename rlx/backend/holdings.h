// What the calls of a run will hold, before there is one.
#pragma once

#include <vector>

#include "rlx/backend/prepared_call.h"

namespace rlx::detail {

// By step: will every run come there? Not what a jump may pass over.
std::vector<bool> always_run(const image::Steps& steps);

// Tensors for operands of which only the types are looked at: their elements are nobody's.
class Blanks {
 public:
  Blanks(const image::Image& image, const image::Cells& cells) : image_(image), cells_(cells) {}
  Tensor of(image::ValueId value);

 private:
  const image::Image& image_;
  const image::Cells& cells_;
  Shared<Storage> storage_;  // of all of them: as large as the largest so far
};

// Of all calls of a run whose extents the cells know, on whichever way it takes.
image::Holdings holdings_of(const image::Image& image,
                            const image::Implementations& implementations,
                            const image::Cells& cells);

}  // namespace rlx::detail
