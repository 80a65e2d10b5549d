// What indices name: gather and scatter by elements, by tuples and by rows.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

struct PlaceOptions {
  enum class Kind : uint8_t {
    elements,  // each index is that of its own element along the axis
    tuples,    // the last dim of the indices is coordinates of a block
    rows       // a list, of rows along the axis
  };
  Kind kind = Kind::elements;
  int64_t axis = 0;  // of tuples: how many dims go along
};
enum class Update : uint8_t { replace, add, multiply, highest, lowest };

// Operands are x and indices; scatter has updates too. What is out of range is handed on.
std::unique_ptr<image::CallKernel> gather_places_kernel(CpuEnginePtr engine, PlaceOptions options);
std::unique_ptr<image::CallKernel> scatter_kernel(CpuEnginePtr engine, PlaceOptions options,
                                                  Update update);

}  // namespace rlx::detail
