// Parts of the table of fast implementations, by family: fast_ops.cpp joins them.
#pragma once

#include <span>

#include "rlx/backend/cpu/behind.h"

namespace rlx::detail {

struct VectorEntry {
  using Kernel = std::unique_ptr<image::CallKernel>;
  const char* op;
  Kernel (*make)(const image::Call& call, const image::Image& image, const CpuEnginePtr& engine);
  bool reads_views = true;
  CallTraits::ChannelsLast channels_last = CallTraits::ChannelsLast::never;
  int anywhere = -1;  // the input that it takes at any address; -1: none
  // Takes f16 and bf16 as they are; else its operands and results are made f32.
  bool halves = false;
  // Makes one that also runs the tile of the call. Null: there is none.
  Kernel (*make_with)(const image::Call& call, const CpuEnginePtr& engine, Behind behind) = nullptr;
};

// Of what makes a kernel with a tile behind it or with none.
template <VectorEntry::Kernel (*make)(const image::Call& call, const CpuEnginePtr& engine,
                                      Behind behind)>
constexpr VectorEntry finishing(
    const char* op, bool reads_views = true,
    CallTraits::ChannelsLast channels_last = CallTraits::ChannelsLast::never, int anywhere = -1,
    bool halves = false) {
  return {op,
          [](const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
            return make(call, engine, Behind());
          },
          reads_views,
          channels_last,
          anywhere,
          halves,
          make};
}

std::span<const VectorEntry> number_table();     // quantised numbers, products of bytes, casts
std::span<const VectorEntry> recurrent_table();  // along a sequence, with a state
std::span<const VectorEntry> index_table();      // by order, by indices, by place
std::span<const VectorEntry> plane_table();      // [B, C, ..] by channel or by plane

// What tiles are computed with. `others` has what users brought: functions of single elements.
TileOps tile_ops(const image::Implementations& others);
// Is it one of them that takes or gives other numbers than f32?
bool is_tile_op_of_numbers(std::string_view op);

}  // namespace rlx::detail
