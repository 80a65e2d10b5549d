// Convolutions of bytes by Winograd's products.
#pragma once

#include "rlx/backend/cpu/packed_of.h"
#include "rlx/backend/cpu/scratch.h"
#include "rlx/backend/cpu/tile_program.h"

namespace rlx::detail {

class ByteWinogradSteps {
 public:
  explicit ByteWinogradSteps(const CpuEngine& engine) : scratch_(engine.team.threads()) {}

  // Where the result goes: through a tile, or to y [places, outputs]; places are counted from
  // `first`.
  struct Target {
    const TileProgram* tile = nullptr;
    int32_t* y = nullptr;
    int64_t first = 0;
  };
  // The weights are kept, have a sign and no zero points.
  void run(const CpuEngine& engine, const vector::BytePicture& picture, const Tensor& weights,
           int64_t outputs, const Target& target);

 private:
  std::vector<uint32_t> words_;
  Scratch scratch_;
  PackedOf packed_;
};

}  // namespace rlx::detail
