// Kernels that take a row to a workgroup, or to a lane: what suits the rows and the device.
#pragma once

#include <initializer_list>
#include <string_view>

#include "rlx/ops/kernel.h"

namespace rlx {

// From here on a row's terms are added up by blocks, for the sake of its last digits.
constexpr int64_t kLongRow = 4096;

enum RowVariant : int64_t { lane_per_row = 0, workgroup_per_row = 1, wide_workgroup_per_row = 2 };

// What to declare in the OpDef; one key serves every op whose kernel is taken by rows.
Variants row_variants();

// Rows that one dispatch takes, expressions over the shard.
struct RowShards {
  Dim first = 0, end = 0;
  Dim repeat = 1;

  Dim count() const { return end - first; }
};
// Cuts rows of x, with so many results for each in y, so that both can be bound, and gives them
// their windows. All at once where they fit, or where a single row does not.
RowShards cut_rows(const Rows& rows, Operand& x, Operand& y, const Dim& results,
                   const DeviceTraits& traits);

// The dispatch of a kernel over the rows of the first operand, of which the second has as many
// elements, with the choice made: kernel, constants, workgroups, first_row, row_count, row_length.
Dispatch row_dispatch(const LowerSite& site, std::string_view file,
                      std::initializer_list<std::string_view> includes, const Rows& rows,
                      std::vector<Operand> operands);

// How many lanes share one of `outputs` rows of `length` elements, powers of two, and how many
// lanes a workgroup has.
struct LaneShare {
  int64_t lanes = 1, workgroup = 64;
};
// Side by side: neighbours in memory belong to different rows.
LaneShare share_lanes(const Dim& outputs, const Dim& length, bool side_by_side,
                      const DeviceTraits& traits);

}  // namespace rlx
