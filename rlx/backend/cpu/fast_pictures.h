// Convolutions of f32 whose channels lie innermost in memory, of one or two spatial axes, with the
// tile of the call run over what is finished.
#pragma once

#include "rlx/backend/cpu/tile_program.h"

namespace rlx::detail {

struct PictureOptions {
  bool keeps_weights = false;  // they are the same from run to run
  bool has_bias = false;
  bool winograd = true;  // where it is expected to be the fastest
};
// Null where the window is not known yet. A tile may be null.
std::unique_ptr<image::CallKernel> picture_convolution_kernel(CpuEnginePtr engine,
                                                              const Attrs& attrs,
                                                              PictureOptions options,
                                                              std::unique_ptr<TileProgram> tile);

// The same of transposed ones whose windows meet each pixel of the result once: a product of the
// pixels with each tap.
std::unique_ptr<image::CallKernel> picture_transposed_kernel(CpuEnginePtr engine,
                                                             const Attrs& attrs,
                                                             PictureOptions options,
                                                             std::unique_ptr<TileProgram> tile);

}  // namespace rlx::detail
